package io.payrelay.relay;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.Socket;
import java.net.URI;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Set;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.message.ProduceRequestData;
import org.apache.kafka.common.message.ProduceRequestData.PartitionProduceData;
import org.apache.kafka.common.message.ProduceRequestData.TopicProduceData;
import org.apache.kafka.common.message.ProduceRequestData.TopicProduceDataCollection;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.SimpleRecord;
import org.apache.kafka.common.requests.AbstractResponse;
import org.apache.kafka.common.requests.ProduceRequest;
import org.apache.kafka.common.requests.RequestHeader;

/**
 * Writes a transactional record past the coordinator, in the old way, to a broker with {@code
 * transaction.partition.verification.enable=false}: nobody will ever end that transaction.
 */
final class RawProduce {

  private static final short VERSION = ProduceRequest.LAST_STABLE_VERSION_BEFORE_TRANSACTION_V2;
  private static final int TIMEOUT_MS = 10_000;

  private RawProduce() {}

  static void hang(
      String bootstrapServers,
      String transactionalId,
      long producerId,
      short epoch,
      TopicPartition partition)
      throws IOException {
    MemoryRecords records =
        MemoryRecords.withTransactionalRecords(
            Compression.NONE,
            producerId,
            epoch,
            0,
            new SimpleRecord(System.currentTimeMillis(), new byte[] {1}, new byte[] {2}));
    TopicProduceDataCollection topics = new TopicProduceDataCollection();
    topics.add(
        new TopicProduceData()
            .setName(partition.topic())
            .setPartitionData(
                List.of(
                    new PartitionProduceData()
                        .setIndex(partition.partition())
                        .setRecords(records))));
    ProduceRequest request =
        new ProduceRequest(
            new ProduceRequestData()
                .setAcks((short) -1)
                .setTimeoutMs(TIMEOUT_MS)
                .setTransactionalId(transactionalId)
                .setTopicData(topics),
            VERSION);
    AbstractResponse response =
        ask(bootstrapServers, request, new RequestHeader(ApiKeys.PRODUCE, VERSION, "raw", 1));
    if (!response.errorCounts().keySet().equals(Set.of(Errors.NONE))) {
      throw new IOException("refused: " + response);
    }
  }

  private static AbstractResponse ask(
      String bootstrapServers, ProduceRequest request, RequestHeader header) throws IOException {
    URI address = URI.create("kafka://" + bootstrapServers);
    try (Socket socket = new Socket(address.getHost(), address.getPort())) {
      socket.setSoTimeout(TIMEOUT_MS);
      ByteBuffer bytes = request.serializeWithHeader(header);
      DataOutputStream out = new DataOutputStream(socket.getOutputStream());
      out.writeInt(bytes.remaining());
      out.write(bytes.array(), bytes.arrayOffset() + bytes.position(), bytes.remaining());
      out.flush();
      DataInputStream in = new DataInputStream(socket.getInputStream());
      byte[] answer = new byte[in.readInt()];
      in.readFully(answer);
      return AbstractResponse.parseResponse(ByteBuffer.wrap(answer), header);
    }
  }
}

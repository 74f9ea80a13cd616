package io.payrelay.relay;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.nio.ByteBuffer;
import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Future;
import java.util.function.LongSupplier;
import org.apache.kafka.connect.runtime.WorkerConfig;
import org.apache.kafka.connect.storage.OffsetBackingStore;
import org.apache.kafka.connect.util.Callback;
import org.jspecify.annotations.Nullable;

/**
 * What Debezium takes for its offset store: it answers with the position that Kafka holds and
 * stores nothing. Debezium makes it by its class name, hence the registry. Safe for any thread.
 *
 * <p>The answer has no {@code lsn_proc}: with one, Debezium would search the WAL for the place
 * where it stopped, and that search can lose rows. Debezium confirms to the slot what it reads
 * here, so the slot is never ahead of Kafka.
 */
public final class SeededOffsetStore implements OffsetBackingStore {

  static final String SEED_PROPERTY = "payrelay.seed";

  private static final Map<String, LongSupplier> SEEDS = new ConcurrentHashMap<>();

  private @Nullable LongSupplier seed;

  /** Made by Debezium. */
  public SeededOffsetStore() {}

  /** Makes a session's stored commit LSN known under an id. */
  static void register(String id, LongSupplier storedCommitLsn) {
    SEEDS.put(id, storedCommitLsn);
  }

  static void forget(String id) {
    SEEDS.remove(id);
  }

  @Override
  public void configure(WorkerConfig config) {
    Object id = config.originals().get(SEED_PROPERTY);
    seed = id == null ? null : SEEDS.get(id.toString());
    if (seed == null) {
      throw new IllegalStateException("no position is registered under " + id);
    }
  }

  @Override
  public void start() {}

  @Override
  public void stop() {}

  @Override
  public Future<Map<ByteBuffer, ByteBuffer>> get(Collection<ByteBuffer> keys) {
    LongSupplier known = seed;
    if (known == null) {
      throw new IllegalStateException("not configured");
    }
    long lsn = known.getAsLong();
    byte[] value = "{\"lsn\":%d,\"lsn_commit\":%d}".formatted(lsn, lsn).getBytes(UTF_8);
    Map<ByteBuffer, ByteBuffer> answer = new HashMap<>();
    keys.forEach(key -> answer.put(key, ByteBuffer.wrap(value)));
    return CompletableFuture.completedFuture(answer);
  }

  @Override
  public Future<Void> set(Map<ByteBuffer, ByteBuffer> values, Callback<Void> callback) {
    if (callback != null) {
      callback.onCompletion(null, null);
    }
    return CompletableFuture.completedFuture(null);
  }

  @Override
  public Set<Map<String, Object>> connectorPartitions(String connectorName) {
    return Set.of();
  }
}

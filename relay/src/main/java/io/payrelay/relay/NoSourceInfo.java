package io.payrelay.relay;

import io.debezium.config.CommonConnectorConfig;
import io.debezium.connector.AbstractSourceInfo;
import io.debezium.connector.SourceInfoStructMaker;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.SchemaBuilder;
import org.apache.kafka.connect.data.Struct;

/**
 * What Debezium puts into the {@code source} block of each record: nothing. The relay reads
 * positions from a record's offset; to write them out a second time, as text, was a sixth of the
 * decoding thread's work. Debezium makes it by its class name. Immutable.
 */
public final class NoSourceInfo implements SourceInfoStructMaker<AbstractSourceInfo> {

  // Debezium's own meters ask for these and take null for an answer.
  private static final Schema SCHEMA =
      SchemaBuilder.struct()
          .name("io.payrelay.relay.NoSourceInfo")
          .field("ts_ms", Schema.OPTIONAL_INT64_SCHEMA)
          .field("txId", Schema.OPTIONAL_INT64_SCHEMA)
          .field("lsn", Schema.OPTIONAL_INT64_SCHEMA)
          .field("xmin", Schema.OPTIONAL_INT64_SCHEMA)
          .build();

  private static final Struct NOTHING = new Struct(SCHEMA);

  /** Made by Debezium. */
  public NoSourceInfo() {}

  @Override
  public void init(String connector, String version, CommonConnectorConfig config) {
    // There is nothing to be told apart.
  }

  @Override
  public Schema schema() {
    return SCHEMA;
  }

  @Override
  public Struct struct(AbstractSourceInfo sourceInfo) {
    return NOTHING;
  }
}

package io.payrelay.relay;

import io.payrelay.platform.errors.Category;
import io.payrelay.platform.errors.PayrelayException;
import java.util.Map;
import org.apache.kafka.connect.data.Struct;
import org.apache.kafka.connect.source.SourceRecord;
import org.jspecify.annotations.Nullable;

/** Reads what Debezium delivers: rows, messages and heartbeats with their offsets. Stateless. */
final class EngineRecord {

  private static final String HEARTBEAT_PREFIX = "__debezium-heartbeat.";

  private EngineRecord() {}

  /** What a record is. */
  enum Kind {
    ROW,
    MESSAGE,
    HEARTBEAT
  }

  static Kind kind(SourceRecord record) {
    String topic = record.topic();
    if (topic.equals(EngineSettings.ROW_TOPIC)) {
      return Kind.ROW;
    }
    if (topic.startsWith(HEARTBEAT_PREFIX)) {
      return Kind.HEARTBEAT;
    }
    if (topic.equals(EngineSettings.MESSAGE_TOPIC)) {
      return Kind.MESSAGE;
    }
    throw new PayrelayException(
        Category.FATAL, "The engine delivered a record of " + topic + ", which nobody asked for");
  }

  /** A number of the record's offset; 0 where it has none. */
  static long number(SourceRecord record, String name) {
    Map<String, ?> offset = record.sourceOffset();
    return offset.get(name) instanceof Number number ? number.longValue() : 0;
  }

  static @Nullable String messageType(SourceRecord record) {
    Object type = record.sourceOffset().get("messageType");
    return type == null ? null : type.toString();
  }

  /** The row an insert carries. */
  static OutboxRow row(SourceRecord record) {
    Struct envelope = (Struct) record.value();
    Struct after = envelope.getStruct("after");
    if (after == null || !"c".equals(envelope.getString("op"))) {
      throw new PayrelayException(
          Category.FATAL,
          "The engine delivered a change of the outbox that is no insert: check the publication");
    }
    return new OutboxRow(
        text(after, "event_id"),
        text(after, "aggregate_type"),
        text(after, "aggregate_id"),
        text(after, "event_type"),
        text(after, "payload"),
        after.getString("trace_id"),
        after.getString("traceparent"),
        number(record, "txId"),
        number(record, "lsn"),
        number(record, "ts_usec"));
  }

  private static String text(Struct after, String column) {
    String value = after.getString(column);
    // A column of the table that allows no NULL; an empty text ends as a dead letter.
    return value == null ? "" : value;
  }
}

package io.payrelay.workbench;

import java.io.IOException;
import java.io.StringReader;
import java.io.UncheckedIOException;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.List;
import java.util.UUID;
import org.postgresql.PGConnection;

/**
 * Writes outbox rows of one stream: the event id is the stream and a number that grows. Belongs to
 * one thread.
 */
final class OutboxWriter {

  /** Each writer has aggregates of its own: no other session's commit can come between. */
  static final int AGGREGATES = 5;

  /** The payment that all rows of a huge transaction name. */
  static final String HUGE_PAYMENT = "p";

  /** In the high half of an event id: the row is to become a dead letter. */
  private static final long POISON = 1L << 40;

  private final long stream;
  private final String aggregatePrefix;
  private long number;

  /** A row to be written. */
  record Row(UUID eventId, String aggregateId, String eventType, String payload) {}

  OutboxWriter(long stream, String aggregatePrefix) {
    this.stream = stream;
    this.aggregatePrefix = aggregatePrefix;
  }

  /** Goes to charge-requests. */
  Row charge(int aggregate, int padding) {
    return charge(stream, ++number, aggregateId(aggregate), padding);
  }

  static Row charge(long stream, long number, String aggregateId, int padding) {
    return new Row(
        new UUID(stream, number),
        aggregateId,
        "ChargeRequested",
        """
        {"payment_id":"%s","merchant":"m%s","merchant_order_id":"o","provider":"none",\
        "amount_minor":%d,"currency":"EUR"}"""
            .formatted(aggregateId, "x".repeat(padding), number));
  }

  /** Goes to payment-status. */
  Row status(int aggregate) {
    String aggregateId = aggregateId(aggregate);
    return new Row(
        new UUID(stream, ++number),
        aggregateId,
        "PaymentStatusChanged",
        """
        {"payment_id":"%s","merchant":"m","merchant_order_id":"o","status":"PENDING",\
        "previous_status":"CREATED","amount_minor":1,"currency":"EUR","provider":"none",\
        "occurred_at":0,"version":%d}"""
            .formatted(aggregateId, number));
  }

  /** Goes to the dead letters. */
  Row poison(int aggregate) {
    boolean unknown = number % 2 == 0;
    return new Row(
        new UUID(stream | POISON, ++number),
        aggregateId(aggregate),
        unknown ? "NobodyKnows" : "ChargeRequested",
        "{\"payment_id\":17}");
  }

  /** Whether the event's row was written to become a dead letter. */
  static boolean isPoison(UUID eventId) {
    return (eventId.getMostSignificantBits() & POISON) != 0;
  }

  /** Inserts in the running transaction, into the partition of a day so many days from now. */
  void insert(Connection connection, List<Row> rows, int days) throws SQLException {
    try (PreparedStatement statement =
        connection.prepareStatement(
            """
            INSERT INTO payrelay.outbox (event_id, aggregate_type, aggregate_id, event_type, payload, created_at)
            VALUES (?, 'payment', ?, ?, ?::json, now() + ? * interval '1 day')
            """)) {
      for (Row row : rows) {
        statement.setObject(1, row.eventId());
        statement.setString(2, row.aggregateId());
        statement.setString(3, row.eventType());
        statement.setString(4, row.payload());
        statement.setInt(5, days);
        statement.addBatch();
      }
      statement.executeBatch();
    }
  }

  /** COPY gives several rows one WAL position. */
  void copy(Connection connection, List<Row> rows) throws SQLException {
    StringBuilder lines = new StringBuilder();
    for (Row row : rows) {
      lines
          .append(row.eventId())
          .append("\tpayment\t")
          .append(row.aggregateId())
          .append('\t')
          .append(row.eventType())
          .append('\t')
          .append(row.payload())
          .append('\n');
    }
    try {
      connection
          .unwrap(PGConnection.class)
          .getCopyAPI()
          .copyIn(
              "COPY payrelay.outbox (event_id, aggregate_type, aggregate_id, event_type, payload) FROM STDIN",
              new StringReader(lines.toString()));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** One statement for many rows, numbered after {@code from}. */
  static String hugeInsert(long stream, String aggregatePrefix, long from, int rows) {
    return """
    INSERT INTO payrelay.outbox (event_id, aggregate_type, aggregate_id, event_type, payload)
    SELECT (lpad(to_hex(%d::bigint), 16, '0') || lpad(to_hex(n), 16, '0'))::uuid, 'payment', '%s-' || n %% 7,
      'ChargeRequested', json_build_object('payment_id', '%s', 'merchant', 'm', 'merchant_order_id', 'o',
        'provider', 'none', 'amount_minor', n, 'currency', 'EUR')
    FROM generate_series(%d::bigint, %d::bigint) n ORDER BY n
    """
        .formatted(stream, aggregatePrefix, HUGE_PAYMENT, from + 1, from + rows);
  }

  private String aggregateId(int aggregate) {
    return aggregatePrefix + "-" + Math.floorMod(aggregate, AGGREGATES);
  }
}

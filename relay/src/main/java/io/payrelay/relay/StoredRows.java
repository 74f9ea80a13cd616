package io.payrelay.relay;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;

/** Rows of the outbox as the table holds them, partitions taken out but not dropped included. */
final class StoredRows {

  private StoredRows() {}

  /** Those with that event id: one, unless an upstream used it on two days. */
  static List<OutboxRow> withEventId(Connection connection, UUID eventId) throws SQLException {
    try (PreparedStatement statement =
        connection.prepareStatement(
            """
            SELECT event_id, aggregate_type, aggregate_id, event_type, payload, trace_id, traceparent, %1$s
            FROM payrelay.outbox WHERE event_id = ?
            UNION ALL
            SELECT event_id, aggregate_type, aggregate_id, event_type, payload, trace_id, traceparent, %1$s
            FROM payrelay.detached_outbox_rows(?)
            """
                .formatted(CreatedAt.TOLD_USEC_SQL))) {
      statement.setObject(1, eventId);
      statement.setObject(2, eventId);
      List<OutboxRow> found = new ArrayList<>();
      try (ResultSet rows = statement.executeQuery()) {
        while (rows.next()) {
          found.add(
              new OutboxRow(
                  rows.getString(1),
                  rows.getString(2),
                  rows.getString(3),
                  rows.getString(4),
                  rows.getString(5),
                  rows.getString(6),
                  rows.getString(7),
                  0,
                  0,
                  rows.getLong(8)));
        }
      }
      return found;
    }
  }
}

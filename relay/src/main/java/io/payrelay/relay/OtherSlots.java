package io.payrelay.relay;

import io.payrelay.schemas.Topic;
import java.sql.Array;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import org.apache.kafka.clients.admin.Admin;
import org.jspecify.annotations.Nullable;

/**
 * Whether the outbox goes into this Kafka cluster by another slot too: each event would come twice,
 * and neither relay could know. Reads only. Stateless.
 */
final class OtherSlots {

  private OtherSlots() {}

  /** Refuses where there is another slot of this database with a position in this cluster. */
  static void refuse(Connection connection, Admin admin, String slotName) throws SQLException {
    String other =
        first(
            connection,
            """
            SELECT slot_name FROM pg_replication_slots
            WHERE slot_name = ANY (?) AND database = current_database() AND plugin = 'pgoutput'
            """,
            slotsWithPosition(admin, slotName));
    if (other != null) {
      throw StartupCheck.refused(
          "Slot %s of this database goes into this Kafka cluster already, and by slot %s each event would come twice: set PAYRELAY_RELAY_SLOT_NAME to %s; or, if that one is given up for good, run SELECT pg_drop_replication_slot('%s')"
              .formatted(other, slotName, other, other));
    }
  }

  /** Refuses where the relay of such a slot is at work. */
  static void refuseActive(Connection connection, Admin admin, String slotName)
      throws SQLException {
    String other =
        first(
            connection,
            """
            SELECT slot_name FROM payrelay.relay_owner
            WHERE slot_name = ANY (?) AND lease_until > clock_timestamp()
              AND EXISTS (SELECT FROM pg_replication_slots s
                WHERE s.slot_name = relay_owner.slot_name AND s.database = current_database())
            """,
            slotsWithPosition(admin, slotName));
    if (other != null) {
      throw StartupCheck.refused(
          "A relay of slot %s publishes this outbox into this Kafka cluster, and by slot %s each event would come twice: set PAYRELAY_RELAY_SLOT_NAME to %s, and give slot %s up with SELECT pg_drop_replication_slot('%s')"
              .formatted(other, slotName, other, slotName, slotName));
    }
  }

  private static String[] slotsWithPosition(Admin admin, String slotName) {
    return Topics.names(admin).stream()
        .filter(name -> name.startsWith(Topic.RELAY_POSITION_PREFIX))
        .map(name -> name.substring(Topic.RELAY_POSITION_PREFIX.length()))
        .filter(name -> !name.equals(slotName))
        .toArray(String[]::new);
  }

  private static @Nullable String first(Connection connection, String sql, String[] slots)
      throws SQLException {
    if (slots.length == 0) {
      return null;
    }
    try (PreparedStatement statement = connection.prepareStatement(sql)) {
      Array names = connection.createArrayOf("text", slots);
      statement.setArray(1, names);
      try (ResultSet rows = statement.executeQuery()) {
        return rows.next() ? rows.getString(1) : null;
      }
    }
  }
}

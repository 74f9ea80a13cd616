package io.payrelay.app;

import io.payrelay.platform.errors.PayrelayException;
import io.payrelay.platform.kafka.KafkaConfig;
import io.payrelay.relay.KafkaReport;
import io.payrelay.relay.RelayConfig;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.KafkaException;
import org.jdbi.v3.core.Handle;
import org.jspecify.annotations.Nullable;

/**
 * The relay's part of {@code status}: slot, owner and partitions from the database; Kafka's side.
 */
final class RelayStatus {

  private static final int PARTITIONS_AHEAD_MIN = 2;

  private RelayStatus() {}

  static void database(Handle handle, RelayConfig config, StatusReport report) {
    List<Map<String, Object>> slots =
        handle
            .createQuery(
                """
                SELECT slot_name, active, wal_status, confirmed_flush_lsn::text AS confirmed,
                  pg_wal_lsn_diff(pg_current_wal_lsn(), confirmed_flush_lsn)::bigint AS lag_bytes,
                  safe_wal_size AS safe_wal_bytes
                FROM pg_replication_slots
                WHERE database = current_database() AND plugin = 'pgoutput' ORDER BY slot_name
                """)
            .mapToMap()
            .list();
    report.section("replication slots", slots);
    List<Map<String, Object>> owners =
        handle
            .createQuery(
                """
                SELECT slot_name, owner, lease_until > clock_timestamp() AS alive,
                  -- The youngest of its backends is the walsender: since then it streams.
                  (SELECT max((b ->> 'backend_start')::timestamptz(0))::text
                   FROM jsonb_array_elements(backends) b) AS since
                FROM payrelay.relay_owner ORDER BY slot_name
                """)
            .mapToMap()
            .list();
    report.section("relay owners", owners);
    Map<String, Object> partitions =
        handle
            .createQuery(
                """
                SELECT count(*) FILTER (
                    WHERE to_date(substr(c.relname, 8), 'YYYYMMDD')
                      > (now() AT TIME ZONE 'UTC')::date) AS days_ahead,
                  max(substr(c.relname, 8)) AS last_day
                FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
                WHERE i.inhparent = 'payrelay.outbox'::regclass AND c.relname ~ '^outbox_[0-9]{8}$'
                """)
            .mapToMap()
            .one();
    report.section("outbox partitions", List.of(partitions));
    warn(slots, owners, partitions, config.slotName(), report);
  }

  /** Asks Kafka, within seconds. */
  static void kafka(KafkaConfig kafka, RelayConfig config, String groupId, StatusReport report) {
    KafkaReport found;
    try {
      found = KafkaReport.of(kafka, config, config.catalogue(), groupId);
    } catch (KafkaException | PayrelayException e) {
      report.failure(
          "Kafka does not answer at %s (%s): check PAYRELAY_KAFKA_BOOTSTRAP_SERVERS and that the broker runs"
              .formatted(kafka.bootstrapServers(), e.getMessage()),
          CommandLines.EXIT_RETRIABLE);
      return;
    }
    Map<String, Object> position = new LinkedHashMap<>();
    position.put("slot_name", config.slotName());
    position.put("position", found.position());
    position.put("committed_at", found.positionAt());
    position.put("cluster_id", found.clusterId());
    report.section("relay position", List.of(position));
    report.section("topics", found.topics().stream().map(RelayStatus::topic).toList());
    report.section("consumer groups", found.groups().stream().map(RelayStatus::group).toList());
    found.warnings().forEach(report::warning);
  }

  private static void warn(
      List<Map<String, Object>> slots,
      List<Map<String, Object>> owners,
      Map<String, Object> partitions,
      String slotName,
      StatusReport report) {
    Map<String, Object> slot = of(slots, slotName);
    if (slot == null) {
      report.warning("There is no replication slot " + slotName);
    } else if ("lost".equals(slot.get("wal_status"))) {
      report.warning("Slot " + slotName + " is lost: run `payrelay relay recover`");
    } else if ("unreserved".equals(slot.get("wal_status"))) {
      report.warning("Slot " + slotName + " is about to be lost: raise max_slot_wal_keep_size");
    }
    Map<String, Object> owner = of(owners, slotName);
    if (owner == null || !Boolean.TRUE.equals(owner.get("alive"))) {
      report.warning("No relay owns slot " + slotName);
    }
    if (!(partitions.get("days_ahead") instanceof Number days)
        || days.intValue() < PARTITIONS_AHEAD_MIN) {
      report.warning(
          "The outbox has partitions for less than %d days ahead: rows then go to the DEFAULT partition"
              .formatted(PARTITIONS_AHEAD_MIN));
    }
  }

  private static @Nullable Map<String, Object> of(List<Map<String, Object>> rows, String slotName) {
    return rows.stream()
        .filter(row -> slotName.equals(row.get("slot_name")))
        .findFirst()
        .orElse(null);
  }

  private static Map<String, Object> topic(KafkaReport.TopicEnds ends) {
    Map<String, Object> row = new LinkedHashMap<>();
    row.put("topic", ends.topic());
    row.put("partitions", ends.endOffsets().size());
    row.put("end_offsets_sum", ends.sum());
    row.put("end_offsets", ends.endOffsets());
    return row;
  }

  private static Map<String, Object> group(KafkaReport.GroupLag lag) {
    Map<String, Object> row = new LinkedHashMap<>();
    row.put("group", lag.groupId());
    row.put("topic", lag.topic());
    row.put("partitions_read", lag.partitionsRead());
    row.put("lag", lag.lag());
    return row;
  }
}

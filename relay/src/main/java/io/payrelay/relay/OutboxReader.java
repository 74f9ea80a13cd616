package io.payrelay.relay;

import java.sql.Array;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Instant;
import java.time.LocalDate;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * Reads the outbox in one snapshot, with what the upkeep has taken out and not dropped yet: first
 * all rows without their contents, then the contents of the few that are needed. Belongs to one
 * thread.
 */
final class OutboxReader {

  private static final int FETCH_ROWS = 5000;

  private static final String HEADS =
      """
      SELECT event_id, %1$s, age(xmin), ctid::text, event_type, aggregate_id, %2$s
      FROM payrelay.outbox
      WHERE created_at >= ? AND (created_at < ? OR ?) AND (? OR aggregate_id = ANY (?))
      UNION ALL
      SELECT event_id, %1$s, xid_age, place, event_type, aggregate_id, %2$s
      FROM payrelay.detached_outbox_heads(?, ?)
      WHERE ? OR aggregate_id = ANY (?)
      """
          .formatted(CreatedAt.USEC_SQL, CreatedAt.TRUE_SQL);

  private static final String ROWS =
      """
      SELECT event_id, %1$s, aggregate_type, aggregate_id, event_type, payload::text, trace_id,
        traceparent, %2$s
      FROM payrelay.outbox
      WHERE event_id = ANY (?) AND created_at BETWEEN ? AND ?
      UNION ALL
      SELECT d.event_id, %1$s, d.aggregate_type, d.aggregate_id, d.event_type, d.payload::text,
        d.trace_id, d.traceparent, %2$s
      FROM unnest(?) AS wanted (event_id), payrelay.detached_outbox_rows(wanted.event_id) d
      """
          .formatted(CreatedAt.USEC_SQL, CreatedAt.TOLD_USEC_SQL);

  private final Connection connection;

  /**
   * Which rows.
   *
   * @param from on created_at, inclusive; null: from the first
   * @param to exclusive; null: to the last, and all whose time cannot be true, whatever from says
   * @param aggregateIds empty: of all
   */
  record Filter(@Nullable Instant from, @Nullable Instant to, List<String> aggregateIds) {}

  /**
   * A row of the table, its payload left out.
   *
   * @param timeTrue false: the row cannot have been written at the time that it tells
   */
  record Head(RowRef ref, String eventType, String aggregateId, boolean timeTrue) {}

  /** Takes rows one after another. */
  interface HeadVisitor {
    void visit(Head head);
  }

  /** A partition of a day is expected for each day from the first on. */
  record Days(@Nullable LocalDate installed, TreeSet<LocalDate> partitions) {}

  /** The connection must be inside a REPEATABLE READ transaction. */
  OutboxReader(Connection connection) {
    this.connection = connection;
  }

  /** Begins the snapshot that all reading sees. */
  static void begin(Connection connection, @Nullable String exportedSnapshot) throws SQLException {
    connection.setAutoCommit(false);
    try (Statement statement = connection.createStatement()) {
      statement.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY");
      if (exportedSnapshot != null) {
        statement.execute("SET TRANSACTION SNAPSHOT '" + exportedSnapshot.replace("'", "''") + "'");
      } else {
        // A snapshot is taken by the first query only.
        statement.execute("SELECT 1");
      }
      // Locks it: what the upkeep takes out from now on would be seen in neither place.
      statement.execute("SELECT FROM payrelay.outbox LIMIT 0");
      // It waits while Kafka is read, and a scan of millions takes its time.
      statement.execute("SET LOCAL idle_in_transaction_session_timeout = 0");
      statement.execute("SET LOCAL statement_timeout = 0");
    }
  }

  /** Visits all rows of the filter, in no order. */
  void scan(Filter filter, HeadVisitor visitor) throws SQLException {
    scan(filter, time(filter.from(), OffsetDateTime.MIN), visitor);
    Instant from = filter.from();
    if (filter.to() == null && from != null) {
      // Nobody wrote them then, so they may be as young as any.
      Instant before = from.isBefore(CreatedAt.FIRST) ? from : CreatedAt.FIRST;
      Filter old = new Filter(null, before, filter.aggregateIds());
      scan(old, OffsetDateTime.MIN, visitor);
    }
  }

  private void scan(Filter filter, OffsetDateTime from, HeadVisitor visitor) throws SQLException {
    try (PreparedStatement statement = connection.prepareStatement(HEADS)) {
      statement.setFetchSize(FETCH_ROWS);
      Object to = time(filter.to(), OffsetDateTime.MAX);
      boolean all = filter.aggregateIds().isEmpty();
      Array ids = connection.createArrayOf("text", filter.aggregateIds().toArray());
      Object[] parameters = {from, to, filter.to() == null, all, ids, from, to, all, ids};
      for (int i = 0; i < parameters.length; i++) {
        statement.setObject(i + 1, parameters[i]);
      }
      try (ResultSet rows = statement.executeQuery()) {
        while (rows.next()) {
          RowRef ref =
              new RowRef(
                  rows.getObject(1, UUID.class),
                  rows.getLong(2),
                  rows.getInt(3),
                  place(rows.getString(4)));
          visitor.visit(new Head(ref, rows.getString(5), rows.getString(6), rows.getBoolean(7)));
        }
      }
    }
  }

  /** The whole rows, in the order of the list; a few at a time, since each may be large. */
  List<OutboxRow> rows(List<RowRef> refs, long lsn) throws SQLException {
    record Key(UUID eventId, long createdUsec) {}
    Map<Key, OutboxRow> found = new HashMap<>();
    long from = refs.stream().mapToLong(RowRef::createdUsec).min().orElse(0);
    long to = refs.stream().mapToLong(RowRef::createdUsec).max().orElse(0);
    try (PreparedStatement statement = connection.prepareStatement(ROWS)) {
      Array ids =
          connection.createArrayOf("uuid", refs.stream().map(RowRef::eventId).toArray(UUID[]::new));
      statement.setArray(1, ids);
      statement.setObject(2, CreatedAt.parameter(from));
      statement.setObject(3, CreatedAt.parameter(to));
      statement.setArray(4, ids);
      try (ResultSet rows = statement.executeQuery()) {
        while (rows.next()) {
          UUID id = rows.getObject(1, UUID.class);
          found.put(new Key(id, rows.getLong(2)), row(id, rows, lsn));
        }
      }
    }
    List<OutboxRow> inOrder = new ArrayList<>();
    for (RowRef ref : refs) {
      OutboxRow row = found.get(new Key(ref.eventId(), ref.createdUsec()));
      if (row == null) {
        throw new IllegalStateException("a row of the snapshot is gone: " + ref.eventId());
      }
      inOrder.add(row);
    }
    return inOrder;
  }

  /**
   * Which days have a partition, attached or taken out by the upkeep, and since when there is an
   * outbox at all.
   */
  Days days() throws SQLException {
    TreeSet<LocalDate> partitions = new TreeSet<>();
    try (Statement statement = connection.createStatement();
        ResultSet rows =
            statement.executeQuery(
                """
                SELECT substr(c.relname, 8) FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
                WHERE i.inhparent = 'payrelay.outbox'::regclass AND c.relname ~ '^outbox_[0-9]{8}$'
                UNION
                SELECT substr(partition_name, 8) FROM payrelay.outbox_detached
                WHERE dropped_at IS NULL AND partition_name ~ '^outbox_[0-9]{8}$'
                """)) {
      while (rows.next()) {
        partitions.add(LocalDate.parse(rows.getString(1), DateTimeFormatter.BASIC_ISO_DATE));
      }
    }
    try (Statement statement = connection.createStatement();
        ResultSet rows =
            statement.executeQuery(
                "SELECT min(installed_on)::date FROM payrelay.schema_history WHERE success")) {
      return new Days(rows.next() ? rows.getObject(1, LocalDate.class) : null, partitions);
    }
  }

  private static OutboxRow row(UUID id, ResultSet rows, long lsn) throws SQLException {
    // The time of the commit is not in the table: the transaction's start stands for it.
    return new OutboxRow(
        id.toString(),
        rows.getString(3),
        rows.getString(4),
        rows.getString(5),
        rows.getString(6),
        rows.getString(7),
        rows.getString(8),
        0,
        lsn,
        rows.getLong(9));
  }

  /** {@code (block,line)} as one number in the same order. */
  private static long place(String ctid) {
    int comma = ctid.indexOf(',');
    return (Long.parseLong(ctid.substring(1, comma)) << 16)
        | Long.parseLong(ctid.substring(comma + 1, ctid.length() - 1));
  }

  private static OffsetDateTime time(@Nullable Instant time, OffsetDateTime otherwise) {
    // The driver writes the two extremes as -infinity and infinity.
    return time == null ? otherwise : time.atOffset(ZoneOffset.UTC);
  }
}

package io.payrelay.payments.store;

import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jdbi.v3.core.Handle;

/**
 * Operations, of charges and of refunds, and their attempts. An operation in flight is due again
 * when its lease is over; all times are the database's. Stateless, safe for any thread.
 */
public final class OperationStore {

  private static final String FINISH =
      """
      WITH given AS MATERIALIZED (
        SELECT * FROM unnest(:operation_ids, :attempt_ids, :outcomes, :http_statuses, :bodies, :details, :references,
            :nexts, :delays_ms, :answered)
          AS one (operation_id, attempt_id, outcome, http_status, response_body, detail, reference, next, delay_ms, answered)),
      locked AS MATERIALIZED (
        SELECT operation_id, refund_id, hinted_at, ask_settled FROM payrelay.operation
        WHERE operation_id = ANY (:operation_ids)
        ORDER BY operation_id FOR UPDATE),
      done AS (
        UPDATE payrelay.attempt a
        SET finished_at = clock_timestamp(), outcome = given.outcome, http_status = given.http_status,
          response_body = given.response_body, detail = given.detail
        FROM given JOIN locked ON locked.operation_id = given.operation_id
        WHERE a.attempt_id = given.attempt_id AND a.finished_at IS NULL
        RETURNING a.operation_id, a.started_at, given.reference, given.next, given.delay_ms, given.answered),
      -- An end does not answer a hint that came after the question was asked.
      ended AS (
        SELECT done.*, done.next IS NULL AND coalesce(h.hinted_at > done.started_at, false)
          AND (h.refund_id IS NOT NULL OR h.ask_settled) AS asked_meanwhile
        FROM done JOIN locked h ON h.operation_id = done.operation_id)
      UPDATE payrelay.operation o
      SET next_action = CASE WHEN done.next IS NULL AND done.asked_meanwhile THEN 'QUERY'
          WHEN o.queries_only AND done.next = 'CALL' THEN 'QUERY' ELSE done.next END,
        updated_at = clock_timestamp(),
        provider_reference = coalesce(o.provider_reference, done.reference),
        ask_settled = o.ask_settled AND (done.asked_meanwhile OR NOT done.answered),
        late_body_at = CASE WHEN o.wiped_at IS NOT NULL THEN clock_timestamp() END,
        next_action_at = CASE WHEN done.asked_meanwhile THEN clock_timestamp()
          WHEN done.next IS NULL THEN NULL
          WHEN done.next = 'QUERY' AND o.hinted_at > done.started_at THEN clock_timestamp()
          ELSE clock_timestamp() + done.delay_ms * interval '1 millisecond' END
      FROM ended done WHERE o.operation_id = done.operation_id
      """;

  /** Each passes over as many as are wanted; more than that are held by nobody in earnest. */
  private static final int LOOKS_MAX = 64;

  private record Due(long operationId, boolean settled, boolean inFlight) {}

  /**
   * Claims, and what was found abandoned on the way to them. Immutable.
   *
   * @param abandonedCharges attempts whose lease was over and of which nobody had said how they
   *     ended; also those that no claim follows
   * @param abandonedRefunds the same of refunds
   */
  public record Claimed(List<Claim> claims, int abandonedCharges, int abandonedRefunds) {}

  private final EvidenceStore evidence = new EvidenceStore();

  /** Is there a charge operation of the payment? Then something may have been sent. */
  public boolean hasCharge(Handle tx, String paymentId) {
    return tx.createQuery(
            "SELECT EXISTS (SELECT FROM payrelay.operation WHERE payment_id = :id AND kind = 'CHARGE')")
        .bind("id", paymentId)
        .mapTo(Boolean.class)
        .one();
  }

  /** Keeps the provider's own ids of payments' charges, by payment id; the first one stays. */
  public void keepReferences(Handle tx, Map<String, String> references) {
    if (references.isEmpty()) {
      return;
    }
    tx.createUpdate(
            """
            WITH given AS (SELECT * FROM unnest(:payment_ids, :references) AS one (payment_id, reference)),
            locked AS MATERIALIZED (
              SELECT operation_id, payment_id FROM payrelay.operation
              WHERE payment_id = ANY (:payment_ids) AND kind = 'CHARGE' AND provider_reference IS NULL
              ORDER BY operation_id FOR UPDATE)
            UPDATE payrelay.operation o SET provider_reference = given.reference
            FROM locked JOIN given ON given.payment_id = locked.payment_id
            WHERE o.operation_id = locked.operation_id
            """)
        .bindArray("payment_ids", String.class, references.keySet())
        .bindArray("references", String.class, references.values())
        .execute();
  }

  /**
   * Makes the charges of unresolved payments ask the provider now instead of later; one that nobody
   * has called yet is left as it is. What was closed without a result, for a person, is opened
   * again for queries only: whatever they find, nothing is sent under it any more. Where a call or
   * a query is in flight, its answer may be older than the hint: another one follows it at once.
   */
  public void queryNow(Handle tx, Collection<String> paymentIds) {
    query(tx, paymentIds, false);
  }

  /**
   * The same for payments that have their end, which somebody contradicts: the provider is asked
   * until it has answered once. The end stays, the answer is evidence for a person.
   */
  public void queryThoughSettled(Handle tx, Collection<String> paymentIds) {
    query(tx, paymentIds, true);
  }

  private static void query(Handle tx, Collection<String> paymentIds, boolean though) {
    if (paymentIds.isEmpty()) {
      return;
    }
    // In the order in which finish() takes them.
    tx.createUpdate(
            """
            UPDATE payrelay.operation
            SET next_action = CASE WHEN next_action_at <= clock_timestamp() THEN next_action ELSE 'QUERY' END,
              next_action_at = least(next_action_at, clock_timestamp()),
              queries_only = queries_only OR next_action IS NULL,
              resolve_until = CASE WHEN next_action IS NULL THEN NULL ELSE resolve_until END,
              hinted_at = clock_timestamp(), ask_settled = ask_settled OR :though,
              updated_at = clock_timestamp()
            WHERE operation_id IN (
              SELECT operation_id FROM payrelay.operation
              WHERE payment_id = ANY (:payment_ids) AND kind = 'CHARGE' AND call_count + query_count > 0
              ORDER BY operation_id FOR UPDATE)
            """)
        .bindArray("payment_ids", String.class, paymentIds)
        .bind("though", though)
        .execute();
  }

  /**
   * Writes the charge operations of payments that have none, due at once.
   *
   * @return ids of the payments that got one; the others had one
   */
  public Set<String> accept(Handle tx, List<NewOperation> operations) {
    if (operations.isEmpty()) {
      return Set.of();
    }
    // In id order, as everybody who touches several payments: the foreign key locks them.
    List<NewOperation> sorted =
        operations.stream().sorted(Comparator.comparing(NewOperation::paymentId)).toList();
    return new HashSet<>(
        tx.createQuery(
                """
                INSERT INTO payrelay.operation (payment_id, kind, provider, idempotency_key, request_body,
                  request_digest, trace_id, next_action, next_action_at)
                SELECT payment_id, 'CHARGE', provider, key, body, digest, trace_id, action, clock_timestamp()
                FROM unnest(:payment_ids, :providers, :keys, :bodies, :digests, :trace_ids, :actions)
                  AS new (payment_id, provider, key, body, digest, trace_id, action)
                ON CONFLICT DO NOTHING
                RETURNING payment_id
                """)
            .bindArray("payment_ids", String.class, Columns.of(sorted, NewOperation::paymentId))
            .bindArray("providers", String.class, Columns.of(sorted, NewOperation::provider))
            .bindArray("keys", String.class, Columns.of(sorted, NewOperation::idempotencyKey))
            .bind("bodies", Columns.bytes(sorted, NewOperation::body))
            .bind("digests", Columns.bytes(sorted, one -> Columns.sha256(one.body())))
            .bindArray("trace_ids", String.class, Columns.of(sorted, NewOperation::traceId))
            .bindArray("actions", String.class, Columns.of(sorted, one -> one.first().name()))
            .mapTo(String.class)
            .list());
  }

  /**
   * Claims due operations of a provider, the longest due first. One whose payment has its end is
   * closed instead, or, where that end is contradicted, asked about and never called; an attempt
   * whose lease is over is finished as ABANDONED and followed by a new one; a call whose key is not
   * safe any more becomes a query. So does the first call for a payment that is older than a key is
   * safe: where a backup was restored, there may have been a call that nobody here knows of. Where
   * the provider cannot be asked, a key is safe from the request on, not from the first call that
   * is known: nothing else tells what such a call has done. No row is waited for: an operation
   * whose attempt somebody holds is left for later, and those behind it are looked at.
   */
  public Claimed take(Handle tx, String provider, int limit, ClaimTerms terms) {
    List<Due> due = List.of();
    Map<Long, Boolean> abandoned = Map.of();
    List<Long> passed = new ArrayList<>();
    // What somebody holds would be the first at every look, and leave no place for the others.
    for (int looks = 0; due.isEmpty() && looks < LOOKS_MAX; looks++) {
      List<Due> found = due(tx, provider, limit, passed);
      if (found.isEmpty()) {
        break;
      }
      List<Long> overdue = found.stream().filter(Due::inFlight).map(Due::operationId).toList();
      Map<Long, Boolean> ended = overdue.isEmpty() ? Map.of() : abandon(tx, overdue);
      due =
          found.stream()
              .filter(one -> !one.inFlight() || ended.containsKey(one.operationId()))
              .toList();
      abandoned = ended;
      passed.addAll(overdue);
    }
    List<Long> settled = due.stream().filter(Due::settled).map(Due::operationId).toList();
    if (!settled.isEmpty()) {
      tx.createUpdate(
              """
              UPDATE payrelay.operation
              SET next_action = NULL, next_action_at = NULL, updated_at = clock_timestamp()
              WHERE operation_id = ANY (:ids)
              """)
          .bindArray("ids", Long.class, settled)
          .execute();
    }
    List<Long> ids = due.stream().filter(one -> !one.settled()).map(Due::operationId).toList();
    int refunds = (int) abandoned.values().stream().filter(ofRefund -> ofRefund).count();
    return new Claimed(
        ids.isEmpty() ? List.of() : begin(tx, ids, terms), abandoned.size() - refunds, refunds);
  }

  /** Those that it ended, by operation: is it a refund's? */
  private static Map<Long, Boolean> abandon(Handle tx, List<Long> operationIds) {
    return tx.createQuery(
            """
            WITH free AS MATERIALIZED (
              SELECT attempt_id FROM payrelay.attempt
              WHERE operation_id = ANY (:ids) AND finished_at IS NULL AND lease_until <= clock_timestamp()
              FOR UPDATE SKIP LOCKED)
            UPDATE payrelay.attempt a SET finished_at = clock_timestamp(), outcome = 'ABANDONED'
            FROM free, payrelay.operation o
            WHERE a.attempt_id = free.attempt_id AND o.operation_id = a.operation_id
            RETURNING a.operation_id, o.kind = 'REFUND' AS of_refund
            """)
        .bindArray("ids", Long.class, operationIds)
        .reduceRows(
            new HashMap<>(),
            (all, row) -> {
              all.put(
                  row.getColumn("operation_id", Long.class),
                  row.getColumn("of_refund", Boolean.class));
              return all;
            });
  }

  /**
   * Writes how attempts ended and what is next. An attempt that was abandoned meanwhile stays so,
   * and its operation belongs to whoever abandoned it; but it gets what was answered, as evidence.
   *
   * @return how many were still ours
   */
  public int finish(Handle tx, List<FinishedAttempt> attempts) {
    if (attempts.isEmpty()) {
      return 0;
    }
    // All in one statement: statements are most of the work of a batch. First the operations are
    // locked, then their attempts, as claim does where it abandons one.
    List<FinishedAttempt> sorted =
        attempts.stream().sorted(Comparator.comparingLong(FinishedAttempt::operationId)).toList();
    int ours = finishOurs(tx, sorted);
    if (ours < sorted.size()) {
      // A statement of its own: it sees what was abandoned while we waited for the operations.
      evidence.keepLate(tx, sorted);
    }
    return ours;
  }

  private static int finishOurs(Handle tx, List<FinishedAttempt> sorted) {
    return tx.createUpdate(FINISH)
        .bindArray("operation_ids", Long.class, Columns.of(sorted, FinishedAttempt::operationId))
        .bindArray("attempt_ids", Long.class, Columns.of(sorted, FinishedAttempt::attemptId))
        .bindArray("outcomes", String.class, Columns.of(sorted, one -> one.outcome().name()))
        .bindArray(
            "http_statuses",
            Integer.class,
            Columns.of(sorted, one -> one.httpStatus() == 0 ? null : one.httpStatus()))
        .bind(
            "bodies",
            Columns.bytes(sorted, one -> one.httpStatus() == 0 ? null : one.responseBody()))
        .bindArray("details", String.class, Columns.of(sorted, FinishedAttempt::detail))
        .bindArray(
            "references", String.class, Columns.of(sorted, FinishedAttempt::providerReference))
        .bindArray(
            "nexts",
            String.class,
            Columns.of(sorted, one -> one.next() == null ? null : one.next().name()))
        .bindArray(
            "answered",
            Boolean.class,
            Columns.of(sorted, one -> one.outcome().answered() || one.next() == null))
        .bindArray("delays_ms", Long.class, Columns.of(sorted, one -> one.delay().toMillis()))
        .execute();
  }

  /**
   * Locks those of the operations that nobody else has locked, and waits for none.
   *
   * @return ids of the operations that somebody else holds
   */
  public Set<Long> lockedByOthers(Handle tx, Collection<Long> operationIds) {
    return new HashSet<>(
        tx.createQuery(
                """
                WITH ours AS MATERIALIZED (SELECT operation_id FROM payrelay.operation
                  WHERE operation_id = ANY (:ids) ORDER BY operation_id FOR UPDATE SKIP LOCKED)
                SELECT operation_id FROM payrelay.operation
                WHERE operation_id = ANY (:ids) AND operation_id NOT IN (SELECT operation_id FROM ours)
                """)
            .bindArray("ids", Long.class, operationIds)
            .mapTo(Long.class)
            .list());
  }

  /** Has attempts that are still ours stay so for the length of a lease from now. */
  public void renew(Handle tx, Collection<Long> attemptIds, Duration lease) {
    tx.createUpdate(
            """
            UPDATE payrelay.attempt SET lease_until = clock_timestamp() + :lease::interval
            WHERE attempt_id IN (SELECT attempt_id FROM payrelay.attempt
              WHERE attempt_id = ANY (:ids) AND finished_at IS NULL FOR UPDATE SKIP LOCKED)
            """)
        .bind("lease", interval(lease))
        .bindArray("ids", Long.class, attemptIds)
        .execute();
  }

  private static List<Due> due(Handle tx, String provider, int limit, List<Long> passed) {
    return tx.createQuery(
            """
            SELECT o.operation_id,
              -- A refund that had SUCCEEDED is asked about again where somebody reports that it failed.
              CASE WHEN r.refund_id IS NULL THEN p.status IN ('SUCCEEDED', 'FAILED') AND NOT o.ask_settled
                ELSE r.status IN ('FAILED', 'RETURNED') OR (r.status = 'SUCCEEDED' AND o.next_action <> 'QUERY')
              END AS settled,
              EXISTS (SELECT FROM payrelay.attempt a
                WHERE a.operation_id = o.operation_id AND a.finished_at IS NULL) AS in_flight
            FROM payrelay.operation o JOIN payrelay.payment p ON p.payment_id = o.payment_id
              LEFT JOIN payrelay.refund r ON r.refund_id = o.refund_id
            WHERE o.provider = :provider AND o.next_action IS NOT NULL
              AND o.next_action_at <= clock_timestamp()
              AND o.operation_id <> ALL (:passed)
              AND NOT EXISTS (SELECT FROM payrelay.attempt a
                WHERE a.operation_id = o.operation_id AND a.finished_at IS NULL
                  AND a.lease_until > clock_timestamp())
            ORDER BY o.next_action_at LIMIT :limit
            FOR UPDATE OF o SKIP LOCKED
            """)
        .bind("provider", provider)
        .bindArray("passed", Long.class, passed)
        .bind("limit", limit)
        .map(
            (row, context) ->
                new Due(
                    row.getLong("operation_id"),
                    row.getBoolean("settled"),
                    row.getBoolean("in_flight")))
        .list();
  }

  private static List<Claim> begin(Handle tx, List<Long> ids, ClaimTerms terms) {
    return tx.createQuery(
            """
            WITH clock AS MATERIALIZED (SELECT clock_timestamp() AS now),
            chosen AS (
              SELECT o.operation_id, coalesce(r.created_at, p.created_at) AS requested_at,
                o.call_count + o.query_count + 1 AS attempt_number,
                CASE WHEN coalesce(r.status, p.status) IN ('SUCCEEDED', 'FAILED', 'RETURNED') THEN 'QUERY'
                  WHEN o.next_action = 'CALL' AND (coalesce(o.key_safe_until <= clock.now, false)
                    OR (o.key_safe_until IS NULL AND o.call_count + o.query_count = 0
                      AND coalesce(r.created_at, p.created_at) + :key_safe::interval <= clock.now))
                  THEN 'QUERY' ELSE o.next_action END AS kind,
                CASE WHEN :asks THEN clock.now ELSE coalesce(r.created_at, p.created_at) END
                  + :key_safe::interval AS key_safe_until
              FROM payrelay.operation o JOIN payrelay.payment p ON p.payment_id = o.payment_id
                LEFT JOIN payrelay.refund r ON r.refund_id = o.refund_id CROSS JOIN clock
              WHERE o.operation_id = ANY (:ids) AND o.next_action IS NOT NULL),
            begun AS (
              INSERT INTO payrelay.attempt (operation_id, attempt_number, kind, lease_owner, lease_until)
              SELECT operation_id, attempt_number, kind, :owner, clock.now + :lease::interval
              FROM chosen CROSS JOIN clock
              ON CONFLICT DO NOTHING
              RETURNING operation_id, attempt_id, attempt_number, kind, lease_until)
            UPDATE payrelay.operation o
            SET key_safe_until = CASE WHEN begun.kind = 'CALL'
                THEN coalesce(o.key_safe_until, chosen.key_safe_until) ELSE o.key_safe_until END,
              call_count = o.call_count + CASE WHEN begun.kind = 'CALL' THEN 1 ELSE 0 END,
              query_count = o.query_count + CASE WHEN begun.kind = 'CALL' THEN 0 ELSE 1 END,
              next_action = begun.kind,
              next_action_at = begun.lease_until,
              resolve_until = coalesce(o.resolve_until, clock.now + :horizon::interval),
              updated_at = clock.now
            FROM begun JOIN chosen ON chosen.operation_id = begun.operation_id CROSS JOIN clock
            WHERE o.operation_id = begun.operation_id
            RETURNING o.operation_id, begun.attempt_id, begun.attempt_number, begun.kind, o.payment_id,
              o.provider, chosen.requested_at, o.idempotency_key, o.request_body, o.trace_id, o.call_count, o.query_count,
              o.provider_reference, o.queries_only,
              extract(epoch FROM begun.lease_until - clock.now) * 1000 AS lease_left_ms,
              extract(epoch FROM coalesce(o.key_safe_until, chosen.key_safe_until) - clock.now) * 1000
                AS key_safe_left_ms,
              extract(epoch FROM o.resolve_until - clock.now) * 1000 AS resolve_left_ms,
              (SELECT extract(epoch FROM clock.now - max(a.started_at)) * 1000 FROM payrelay.attempt a
                WHERE a.operation_id = o.operation_id AND a.kind = 'CALL') AS since_last_call_ms,
              EXISTS (SELECT FROM payrelay.attempt a
                WHERE a.operation_id = o.operation_id AND a.kind = 'CALL'
                  AND a.outcome NOT IN ('NOT_PROCESSED', 'RETURNED_UNSENT')) AS doubtful,
              CASE WHEN begun.attempt_number > 1 THEN (SELECT a.detail FROM payrelay.attempt a
                WHERE a.operation_id = o.operation_id AND a.outcome = 'DECLINED'
                ORDER BY a.attempt_number LIMIT 1) END AS declined_with
            """)
        .bindArray("ids", Long.class, ids)
        .bind("owner", terms.owner())
        .bind("lease", interval(terms.lease()))
        .bind("key_safe", interval(terms.keySafe()))
        .bind("asks", terms.asks())
        .bind("horizon", interval(terms.resolveHorizon()))
        .map((row, context) -> claim(row))
        .list();
  }

  private static Claim claim(ResultSet row) throws SQLException {
    long sinceLastCallMs = (long) row.getDouble("since_last_call_ms");
    Duration sinceLastCall = row.wasNull() ? null : Duration.ofMillis(sinceLastCallMs);
    return new Claim(
        row.getLong("operation_id"),
        row.getLong("attempt_id"),
        row.getInt("attempt_number"),
        OperationAction.valueOf(row.getString("kind")),
        row.getString("payment_id"),
        row.getString("provider"),
        row.getObject("requested_at", OffsetDateTime.class).toInstant(),
        row.getString("idempotency_key"),
        row.getBytes("request_body"),
        row.getString("trace_id"),
        row.getInt("call_count"),
        row.getInt("query_count"),
        millis(row, "lease_left_ms"),
        millis(row, "key_safe_left_ms"),
        millis(row, "resolve_left_ms"),
        sinceLastCall,
        row.getBoolean("doubtful"),
        row.getString("provider_reference"),
        row.getString("declined_with"),
        row.getBoolean("queries_only"));
  }

  /** Rounded down: a deadline must not come later than it is. */
  private static Duration millis(ResultSet row, String column) throws SQLException {
    return Duration.ofMillis((long) Math.floor(row.getDouble(column)));
  }

  private static String interval(Duration duration) {
    return duration.toMillis() + " milliseconds";
  }
}

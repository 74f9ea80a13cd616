package io.payrelay.payments.store;

import java.util.Comparator;
import java.util.List;
import org.jdbi.v3.core.Handle;

/**
 * Keeps with an attempt what was answered to it although its end is not written: it can be the only
 * trace of money that moved. Nothing is overwritten and nothing is decided: the outcome stays as it
 * is, and the detail tells what it was. The body is wiped as all others are. Stateless, safe for
 * any thread.
 */
public final class EvidenceStore {

  /** Operations first, then their attempts, as everybody who locks both. */
  private static final String KEEP =
      """
      WITH given AS MATERIALIZED (
        SELECT * FROM unnest(:operation_ids, :attempt_ids, :http_statuses, :bodies, :said, :references)
          AS one (operation_id, attempt_id, http_status, response_body, said, reference)),
      free AS MATERIALIZED (
        SELECT operation_id FROM payrelay.operation WHERE operation_id = ANY (:operation_ids)
        ORDER BY operation_id FOR UPDATE %1$s),
      ours AS MATERIALIZED (
        SELECT attempt_id FROM payrelay.attempt
        WHERE attempt_id = ANY (:attempt_ids) AND operation_id IN (SELECT operation_id FROM free)
        ORDER BY attempt_id FOR UPDATE %1$s),
      kept AS (
        UPDATE payrelay.attempt a
        SET http_status = given.http_status, response_body = given.response_body,
          detail = CASE WHEN a.outcome IS NULL THEN 'answered, not written yet: '
            ELSE 'answered after its lease was over: ' END || given.said
        FROM given JOIN ours ON ours.attempt_id = given.attempt_id
        WHERE a.attempt_id = given.attempt_id AND coalesce(a.outcome, 'ABANDONED') = 'ABANDONED'
          AND a.http_status IS NULL AND a.response_body IS NULL AND a.detail IS NULL
        RETURNING a.operation_id, given.reference),
      told AS (
        UPDATE payrelay.operation o
        SET provider_reference = coalesce(o.provider_reference, kept.reference),
          late_body_at = CASE WHEN o.wiped_at IS NOT NULL THEN clock_timestamp() END
        FROM kept WHERE o.operation_id = kept.operation_id
          AND (o.wiped_at IS NOT NULL OR (o.provider_reference IS NULL AND kept.reference IS NOT NULL)))
      SELECT attempt_id FROM given WHERE attempt_id NOT IN (SELECT attempt_id FROM ours)
      """;

  private static final String KEEP_AT_ONCE = KEEP.formatted("SKIP LOCKED");
  private static final String KEEP_PATIENTLY = KEEP.formatted("");

  /**
   * Keeps what was answered to attempts that are in flight, or abandoned, and waits for nobody.
   * What is next is not looked at.
   *
   * @return ids of the attempts of which somebody holds them or their operations
   */
  public List<Long> keep(Handle tx, List<FinishedAttempt> answered) {
    return keep(tx, answered, KEEP_AT_ONCE);
  }

  /** For those of the attempts that were abandoned; their operations are locked already. */
  void keepLate(Handle tx, List<FinishedAttempt> answered) {
    keep(tx, answered, KEEP_PATIENTLY);
  }

  private static List<Long> keep(Handle tx, List<FinishedAttempt> answered, String sql) {
    List<FinishedAttempt> sorted =
        answered.stream().sorted(Comparator.comparingLong(FinishedAttempt::operationId)).toList();
    return tx.createQuery(sql)
        .bindArray("operation_ids", Long.class, Columns.of(sorted, FinishedAttempt::operationId))
        .bindArray("attempt_ids", Long.class, Columns.of(sorted, FinishedAttempt::attemptId))
        .bindArray(
            "http_statuses",
            Integer.class,
            Columns.of(sorted, one -> one.httpStatus() == 0 ? null : one.httpStatus()))
        .bind(
            "bodies",
            Columns.bytes(sorted, one -> one.httpStatus() == 0 ? null : one.responseBody()))
        .bindArray("said", String.class, Columns.of(sorted, EvidenceStore::said))
        .bindArray(
            "references", String.class, Columns.of(sorted, FinishedAttempt::providerReference))
        .mapTo(Long.class)
        .list();
  }

  /** With the reference: the operation may have another one. */
  private static String said(FinishedAttempt one) {
    return one.outcome()
        + (one.detail() == null ? "" : ": " + one.detail())
        + (one.providerReference() == null ? "" : "; reference " + one.providerReference());
  }
}

package io.payrelay.app;

import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jdbi.v3.core.Handle;
import org.jdbi.v3.core.JdbiException;

/**
 * All that is known of one payment, in the order in which it was written down. Customer, provider
 * data and bodies are left out unless asked for, and then masked. Immutable.
 *
 * @param payment the row
 * @param entries each with {@code at} and {@code what} first
 * @param gaps what could not be read, a sentence each
 */
record PaymentStory(
    Map<String, Object> payment, List<Map<String, Object>> entries, List<String> gaps) {

  private static final String AT = "at";

  /** A question whose rows are told under that name; each row has its time in {@code at}. */
  private record Source(String what, String table, String sql) {}

  static Optional<PaymentStory> read(Handle tx, String paymentId, boolean bodies) {
    Optional<Map<String, Object>> payment =
        tx.createQuery(
                """
                SELECT payment_id, status, version, amount_minor, currency, provider, merchant,
                  merchant_order_id, payee_account, provider_transaction_id, failure_code, trace_id,
                  created_at, updated_at
                  %s
                FROM payrelay.payment WHERE payment_id = :id
                """
                    .formatted(
                        bodies
                            ? ", convert_to(business_refs::text, 'UTF8') AS business_refs,"
                                + " convert_to(provider_data::text, 'UTF8') AS provider_data"
                            : ""))
            .bind("id", paymentId)
            .map(Rows::read)
            .findOne();
    if (payment.isEmpty()) {
      return Optional.empty();
    }
    List<Map<String, Object>> entries = new ArrayList<>();
    List<String> gaps = new ArrayList<>();
    for (Source source : sources(bodies)) {
      if (WebhookRows.exists(tx, source.table())) {
        add(tx, source, paymentId, entries);
      }
    }
    try {
      add(tx, statusEvents(), paymentId, entries);
    } catch (JdbiException e) {
      // The outbox is large and has no index by payment: the rest is worth seeing without it.
      gaps.add("the outbox could not be read in time");
    }
    // Not as texts: they show no more digits of a second than they have.
    entries.sort(Comparator.comparing(entry -> Instant.parse(String.valueOf(entry.get(AT)))));
    return Optional.of(new PaymentStory(payment.get(), entries, gaps));
  }

  private static void add(
      Handle tx, Source source, String paymentId, List<Map<String, Object>> entries) {
    tx.createQuery(source.sql())
        .bind("id", paymentId)
        .map(Rows::read)
        .forEach(
            row -> {
              Map<String, Object> entry = new LinkedHashMap<>();
              entry.put(AT, String.valueOf(row.remove(AT)));
              entry.put("what", source.what());
              entry.putAll(row);
              entries.add(entry);
            });
  }

  private static List<Source> sources(boolean bodies) {
    List<Source> sources = new ArrayList<>();
    sources.add(
        new Source(
            "event",
            "payment_event",
            """
            SELECT created_at AS at, event_type, previous_status, status, version, fact_source, evidence,
              event_at
            FROM payrelay.payment_event WHERE payment_id = :id ORDER BY payment_event_id
            """));
    sources.add(
        new Source(
            "operation",
            "operation",
            """
            SELECT created_at AS at, operation_id, kind, idempotency_key, encode(request_digest, 'hex') AS digest,
              call_count, query_count, key_safe_until, next_action, next_action_at, resolve_until
              %s
            FROM payrelay.operation WHERE payment_id = :id ORDER BY operation_id
            """
                .formatted(bodies ? ", request_body" : "")));
    sources.add(
        new Source(
            "attempt",
            "attempt",
            """
            SELECT a.started_at AS at, a.operation_id, a.attempt_number AS number, a.kind, a.outcome,
              a.http_status, a.detail,
              (extract(epoch FROM a.finished_at - a.started_at) * 1000)::bigint AS took_ms, a.lease_owner,
              CASE WHEN a.finished_at IS NULL THEN a.lease_until END AS in_flight_until
              %s
            FROM payrelay.attempt a JOIN payrelay.operation o USING (operation_id)
            WHERE o.payment_id = :id ORDER BY a.attempt_id
            """
                .formatted(bodies ? ", a.response_body" : "")));
    sources.add(
        new Source(
            "webhook",
            "provider_event",
            """
            SELECT received_at AS at, provider, event_id, event_type, disposition, disposition_reason,
              disposition_at, delivery_count, match_count, next_match_at, wiped_at
              %s
            FROM payrelay.provider_event WHERE payment_id = :id ORDER BY received_at
            """
                .formatted(bodies ? ", CASE WHEN wiped_at IS NULL THEN body END AS body" : "")));
    sources.addAll(moneyAndPeople());
    sources.addAll(refunds());
    return sources;
  }

  private static List<Source> moneyAndPeople() {
    return List.of(
        new Source(
            "posting",
            "ledger_posting",
            """
            SELECT p.created_at AS at, p.kind, p.business_key, p.event_at, p.reverses_posting_id AS reverses,
              (SELECT array_agg(e.side || ' ' || e.account_id || ' ' || e.amount_minor
                ORDER BY e.entry_number) FROM payrelay.ledger_entry e WHERE e.posting_id = p.posting_id) AS entries
            FROM payrelay.ledger_posting p WHERE p.payment_id = :id ORDER BY p.posting_id
            """),
        new Source(
            "case opened",
            "exception_case",
            """
            SELECT opened_at AS at, exception_case_id AS id, kind, status, provider_transaction_id,
              expected_amount_minor, expected_currency, observed_amount_minor, observed_currency, evidence,
              event_at
            FROM payrelay.exception_case WHERE payment_id = :id ORDER BY exception_case_id
            """),
        new Source(
            "case resolved",
            "exception_case",
            """
            SELECT resolved_at AS at, exception_case_id AS id, kind, resolved_by, resolution
            FROM payrelay.exception_case WHERE payment_id = :id AND resolved_at IS NOT NULL
            ORDER BY exception_case_id
            """),
        new Source(
            "operator",
            "operator_action",
            """
            SELECT acted_at AS at, action, acted_by, database_user, reason, a.evidence, exception_case_id,
              event_id, arguments, result
            FROM payrelay.operator_action a WHERE payment_id = :id
              OR exception_case_id IN (SELECT c.exception_case_id FROM payrelay.exception_case c
                WHERE c.payment_id = :id)
            ORDER BY operator_action_id
            """),
        new Source(
            "adoption",
            "payment_adoption",
            """
            SELECT adopted_at AS at, exception_case_id, provider, provider_transaction_id, named_payment_id,
              adopted_by, database_user
            FROM payrelay.payment_adoption WHERE payment_id = :id
            """));
  }

  private static List<Source> refunds() {
    return List.of(
        new Source(
            "refund",
            "refund",
            """
            SELECT created_at AS at, refund_id, status, version, provider, provider_transaction_id, amount_minor,
              currency, provider_refund_id, failure_code, updated_at
            FROM payrelay.refund WHERE payment_id = :id ORDER BY refund_number
            """),
        new Source(
            "refund event",
            "refund_event",
            """
            SELECT e.created_at AS at, e.refund_id, e.event_type, e.previous_status, e.status, e.version,
              e.fact_source, e.evidence, e.event_at
            FROM payrelay.refund_event e JOIN payrelay.refund r USING (refund_id)
            WHERE r.payment_id = :id ORDER BY e.refund_event_id
            """));
  }

  /** Of the days in which the payment lived: the outbox has a partition a day. */
  private static Source statusEvents() {
    return new Source(
        "published",
        "outbox",
        """
        SELECT o.created_at AS at, o.event_id, o.event_type, o.payload ->> 'status' AS status,
          o.payload ->> 'version' AS version
        FROM payrelay.outbox o
        WHERE o.aggregate_id = :id AND o.aggregate_type = 'payment'
          AND o.created_at >= (SELECT p.created_at - interval '1 hour' FROM payrelay.payment p
            WHERE p.payment_id = :id)
          AND o.created_at <= (SELECT greatest(p.updated_at, p.created_at) + interval '1 hour'
            FROM payrelay.payment p WHERE p.payment_id = :id)
        ORDER BY o.created_at
        """);
  }
}

package io.payrelay.payments.store;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.payrelay.payments.ledger.Entry;
import io.payrelay.payments.ledger.Posting;
import io.payrelay.payments.ledger.Postings;
import io.payrelay.payments.lifecycle.Decision;
import io.payrelay.payments.lifecycle.Decision.Note;
import io.payrelay.payments.lifecycle.ExceptionCase;
import io.payrelay.payments.lifecycle.ExceptionKind;
import io.payrelay.payments.lifecycle.Fact;
import io.payrelay.payments.lifecycle.Observation;
import io.payrelay.payments.lifecycle.Payment;
import io.payrelay.payments.lifecycle.PaymentLifecycle;
import io.payrelay.payments.lifecycle.PaymentStatus;
import io.payrelay.payments.lifecycle.ProviderRefunds;
import io.payrelay.payments.lifecycle.RefundDecision;
import io.payrelay.payments.money.Money;
import io.payrelay.payments.store.LedgerStore.Difference;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import org.jdbi.v3.core.Handle;
import org.jdbi.v3.core.statement.PreparedBatch;
import org.jspecify.annotations.Nullable;

/**
 * Applies facts: locks the payments, then their refunds, decides on what was locked, and writes
 * everything that follows (rows, events, postings, cases, outbox rows) into the caller's
 * transaction. Two payments that race for one provider transaction make one transaction fail with
 * SQLSTATE 23505: done again, it sees the other's claim and raises the case. A fact that says again
 * what is known leaves no trace, however often it comes. Stateless, safe for any thread.
 */
public final class FactStore {

  private static final ObjectMapper JSON = new ObjectMapper();

  private final PaymentStore payments = new PaymentStore();
  private final LedgerStore ledger = new LedgerStore();
  private final ExceptionStore exceptions = new ExceptionStore();

  /**
   * A fact and what became of it.
   *
   * @param before null where there is no such payment: nothing was written
   * @param decision what of it concerns the payment
   * @param refund what became of our refund that the fact is about, or null
   */
  public record Applied(
      Fact fact,
      @Nullable Payment before,
      @Nullable Decision decision,
      @Nullable RefundDecision refund) {

    /** Was there a payment to apply it to? */
    public boolean matched() {
      return decision != null;
    }
  }

  /** The fact says which refund of ours it is about, also where its source did not name it. */
  private record Posted(Fact fact, Payment before, Decision decision) {

    static Posted of(
        Fact fact, @Nullable RefundDecision ofRefund, Payment before, Decision decision) {
      Fact about = ofRefund == null ? fact : fact.aboutRefund(ofRefund.result().refundId());
      return new Posted(about, before, decision);
    }
  }

  private record Change(Fact fact, Payment before, Payment after) {}

  /** A note is written with the first of its cases, or, where it has none, once a kind of fact. */
  private record NoteRow(Fact fact, Payment payment, Decision decision) {

    boolean isNew(Set<String> openedCases) {
      return decision.exceptions().isEmpty()
          || decision.exceptions().stream()
              .anyMatch(one -> openedCases.contains(one.businessKey()));
    }
  }

  /**
   * Applies the facts in the order given.
   *
   * @param now the instant of the decision
   * @return what became of each, in the same order
   */
  public List<Applied> apply(Handle tx, List<Fact> facts, Instant now) {
    TreeSet<String> ids = new TreeSet<>();
    facts.forEach(fact -> ids.add(fact.paymentId()));
    Map<String, Payment> current = payments.lock(tx, ids);
    Map<String, String> claims = claims(tx, facts);
    Set<String> captured = ledger.withMoney(tx, ids);
    RefundChanges refunds = RefundChanges.lock(tx, ledger, facts, current.keySet());

    List<Applied> applied = new ArrayList<>(facts.size());
    List<Change> changes = new ArrayList<>();
    List<NoteRow> notes = new ArrayList<>();
    Map<Posting, Posted> postings = new LinkedHashMap<>();
    Map<String, ExceptionCase> cases = new LinkedHashMap<>();
    Map<String, Payment> changed = new HashMap<>();
    Map<String, Long> lockedVersions = new HashMap<>();
    current.forEach((id, payment) -> lockedVersions.put(id, payment.version()));
    for (Fact fact : facts) {
      Payment before = current.get(fact.paymentId());
      if (before == null) {
        applied.add(new Applied(fact, null, null, null));
        continue;
      }
      RefundDecision ofRefund = refunds.decide(fact);
      Decision decision =
          fact.isAboutRefund()
              ? ofRefund(refunds, before, fact, ofRefund, claims)
              : decide(before, fact, claims, captured);
      Payment previous = before;
      for (Payment state : decision.states()) {
        changes.add(new Change(fact, previous, state));
        previous = state;
        changed.put(state.paymentId(), state);
      }
      // A case that an earlier fact of this batch opens has its note already.
      if (ofRefund == null
          && decision.note() != Note.NONE
          && decision.exceptions().stream()
              .noneMatch(one -> cases.containsKey(one.businessKey()))) {
        notes.add(new NoteRow(fact, before, decision));
      }
      for (Posting posting : decision.postings()) {
        postings.putIfAbsent(posting, Posted.of(fact, ofRefund, before, decision));
      }
      decision.exceptions().forEach(one -> cases.putIfAbsent(one.businessKey(), one));
      current.put(before.paymentId(), decision.result(before));
      applied.add(new Applied(fact, before, decision, ofRefund));
    }
    updatePayments(tx, changed, lockedVersions, now);
    refunds.update(tx, now);
    List<Difference> differences = ledger.append(tx, List.copyOf(postings.keySet()));
    Set<String> openedCases = exceptions.open(tx, List.copyOf(cases.values()));
    for (Difference difference : differences) {
      raise(tx, difference, Objects.requireNonNull(postings.get(difference.posting())));
    }
    insertEvents(tx, changes);
    insertNotes(tx, notes.stream().filter(note -> note.isNew(openedCases)).toList());
    insertStatusEvents(tx, changes, now);
    refunds.insertEvents(tx, openedCases, current, now);
    return applied;
  }

  private static Decision ofRefund(
      RefundChanges refunds,
      Payment payment,
      Fact fact,
      @Nullable RefundDecision ofRefund,
      Map<String, String> claims) {
    String holder = claims.get(claimKey(fact));
    return ofRefund != null || holder == null || holder.equals(payment.paymentId())
        ? refunds.ofPayment(payment, fact, ofRefund)
        : ProviderRefunds.ofMoneyOfAnother(payment, fact);
  }

  /** The payment that holds a provider transaction, as its own or in suspense; locks nothing. */
  public Optional<String> holderOf(Handle tx, String provider, String transactionId) {
    return tx.createQuery(
            """
            SELECT payment_id FROM payrelay.payment
            WHERE provider = :provider AND provider_transaction_id = :transaction_id
            UNION ALL
            SELECT payment_id FROM payrelay.ledger_posting
            WHERE business_key = :business_key AND payment_id IS NOT NULL
            LIMIT 1
            """)
        .bind("provider", provider)
        .bind("transaction_id", transactionId)
        .bind("business_key", Postings.captureKey(provider, transactionId))
        .mapTo(String.class)
        .findFirst();
  }

  /** Decides, and remembers for the rest of the batch whose money came in. */
  private static Decision decide(
      Payment payment, Fact fact, Map<String, String> claims, Set<String> captured) {
    String id = payment.paymentId();
    String claimedBy = claims.get(claimKey(fact));
    Decision decision =
        PaymentLifecycle.decide(
            payment,
            fact,
            new PaymentLifecycle.Context(
                id.equals(claimedBy) ? null : claimedBy, captured.contains(id)));
    if (fact.observation() == Observation.SUCCEEDED && !decision.postings().isEmpty()) {
      claims.putIfAbsent(claimKey(fact), id);
      captured.add(id);
    }
    return decision;
  }

  /** Opens a case for money that was not booked, unless the decision's own case tells of it. */
  private void raise(Handle tx, Difference difference, Posted posted) {
    Posting posting = difference.posting();
    Fact fact = posted.fact();
    Entry money = posting.entries().get(0);
    Money observed = new Money(money.amountMinor(), money.account().currency());
    List<String> toldBy =
        posted.decision().exceptions().stream().map(ExceptionCase::businessKey).toList();
    if (exceptions.tellOf(tx, toldBy, observed)) {
      return;
    }
    ExceptionKind kind =
        switch (posting.kind()) {
          case DISPUTE -> ExceptionKind.DISPUTED;
          case DISPUTE_WON -> ExceptionKind.DISPUTE_WON;
          case DISPUTE_LOST -> ExceptionKind.DISPUTE_LOST;
          case PROVIDER_REFUND -> ExceptionKind.PROVIDER_REFUND;
          case REFUND_RETURNED -> ExceptionKind.REFUND_RETURNED;
          case CAPTURE, SUSPENSE_CAPTURE, REFUND, ADJUSTMENT -> ExceptionKind.AMOUNT_MISMATCH;
        };
    Map<String, String> evidence = new HashMap<>(fact.evidence());
    evidence.put("source", fact.source().name());
    evidence.put("observation", fact.observation().name());
    evidence.put("payment_status", posted.before().status().name());
    evidence.put("not_booked", posting.kind() + " " + posting.businessKey());
    evidence.put("booked_as", difference.bookedAs());
    putIfPresent(evidence, "refund_id", fact.refundId());
    exceptions.open(
        tx,
        List.of(
            new ExceptionCase(
                "%s:posting:%s:%d:%s"
                    .formatted(
                        kind, posting.businessKey(), observed.amountMinor(), observed.currency()),
                kind,
                posting.paymentId(),
                fact.provider(),
                fact.providerTransactionId(),
                posted.before().amount(),
                observed,
                posted.before().traceId(),
                evidence,
                fact.observedAt())));
  }

  private static String claimKey(Fact fact) {
    return Postings.captureKey(fact.provider(), String.valueOf(fact.providerTransactionId()));
  }

  /** Which payment holds which of the facts' provider transactions, as its own or in suspense. */
  private Map<String, String> claims(Handle tx, List<Fact> facts) {
    TreeSet<String> transactionIds = new TreeSet<>();
    TreeSet<String> keys = new TreeSet<>();
    for (Fact fact : facts) {
      if (fact.observation() == Observation.SUCCEEDED && !fact.isAboutRefund()) {
        transactionIds.add(Objects.requireNonNull(fact.providerTransactionId()));
        keys.add(claimKey(fact));
      }
    }
    Map<String, String> claims = ledger.capturedFor(tx, keys);
    if (!transactionIds.isEmpty()) {
      tx.createQuery(
              """
              SELECT provider, provider_transaction_id, payment_id FROM payrelay.payment
              WHERE provider_transaction_id = ANY (:ids) AND provider = ANY (:providers)
              """)
          .bindArray("ids", String.class, transactionIds)
          .bindArray(
              "providers", String.class, new TreeSet<>(facts.stream().map(Fact::provider).toList()))
          .map(
              (row, context) ->
                  Map.entry(
                      Postings.captureKey(row.getString(1), row.getString(2)), row.getString(3)))
          .forEach(entry -> claims.put(entry.getKey(), entry.getValue()));
    }
    return claims;
  }

  private static void updatePayments(
      Handle tx, Map<String, Payment> changed, Map<String, Long> lockedVersions, Instant now) {
    if (changed.isEmpty()) {
      return;
    }
    List<Payment> payments = List.copyOf(changed.values());
    // One statement for all of them: statements are most of the work of a batch.
    int updated =
        tx.createUpdate(
                """
                UPDATE payrelay.payment p
                SET status = given.status, version = given.version,
                  provider_transaction_id = given.provider_transaction_id,
                  failure_code = given.failure_code, updated_at = :now
                FROM unnest(:ids, :locked_versions, :statuses, :versions, :transaction_ids, :failure_codes)
                  AS given (payment_id, locked_version, status, version, provider_transaction_id, failure_code)
                WHERE p.payment_id = given.payment_id AND p.version = given.locked_version
                """)
            .bind("now", OffsetDateTime.ofInstant(now, ZoneOffset.UTC))
            .bindArray("ids", String.class, Columns.of(payments, Payment::paymentId))
            .bindArray(
                "locked_versions",
                Long.class,
                Columns.of(payments, payment -> lockedVersions.get(payment.paymentId())))
            .bindArray("statuses", String.class, Columns.of(payments, one -> one.status().name()))
            .bindArray("versions", Long.class, Columns.of(payments, Payment::version))
            .bindArray(
                "transaction_ids",
                String.class,
                Columns.of(payments, Payment::providerTransactionId))
            .bindArray("failure_codes", String.class, Columns.of(payments, Payment::failureCode))
            .execute();
    if (updated != payments.size()) {
      // The rows were locked: another version now means that somebody writes without the lock.
      throw new IllegalStateException("a locked payment changed its version");
    }
  }

  private static void insertEvents(Handle tx, List<Change> changes) {
    if (changes.isEmpty()) {
      return;
    }
    tx.createUpdate(
            """
            INSERT INTO payrelay.payment_event
              (payment_id, version, event_type, previous_status, status, fact_source, evidence, event_at)
            SELECT payment_id, version, event_type, previous_status, status, fact_source, evidence::jsonb,
              event_at::timestamptz
            FROM unnest(:payment_ids, :versions, :event_types, :previous_statuses, :statuses, :fact_sources,
                :evidence, :events_at) WITH ORDINALITY
              AS given (payment_id, version, event_type, previous_status, status, fact_source, evidence,
                event_at, position)
            ORDER BY position
            """)
        .bindArray("payment_ids", String.class, Columns.of(changes, one -> one.after().paymentId()))
        .bindArray("versions", Long.class, Columns.of(changes, one -> one.after().version()))
        .bindArray(
            "event_types",
            String.class,
            Columns.of(changes, one -> eventType(one.after().status())))
        .bindArray(
            "previous_statuses",
            String.class,
            Columns.of(changes, one -> one.before().status().name()))
        .bindArray(
            "statuses", String.class, Columns.of(changes, one -> one.after().status().name()))
        .bindArray(
            "fact_sources", String.class, Columns.of(changes, one -> one.fact().source().name()))
        .bindArray("evidence", String.class, Columns.of(changes, one -> evidence(one.fact())))
        .bindArray(
            "events_at",
            String.class,
            Columns.of(changes, one -> one.fact().observedAt().toString()))
        .execute();
  }

  private static void insertNotes(Handle tx, List<NoteRow> notes) {
    if (notes.isEmpty()) {
      return;
    }
    // A provider may say the same for ever: what was ignored is remembered once a source and a
    // refund. The payment is locked, so nobody writes the same note beside us.
    PreparedBatch batch =
        tx.prepareBatch(
            """
            INSERT INTO payrelay.payment_event
              (payment_id, event_type, previous_status, fact_source, evidence, event_at)
            SELECT :payment_id, :event_type, :previous_status, :fact_source, :evidence::jsonb, :event_at
            WHERE NOT :once OR NOT EXISTS (SELECT FROM payrelay.payment_event
              WHERE payment_id = :payment_id AND event_type = :event_type
                AND fact_source = :fact_source AND evidence ->> 'observation' = :observation
                AND evidence ->> 'reference' IS NOT DISTINCT FROM :reference)
            """);
    for (NoteRow note : notes) {
      bindEvent(batch, note.fact(), note.payment().paymentId())
          .bind("event_type", eventType(note.decision().note()))
          .bind("previous_status", note.payment().status().name())
          .bind("once", note.decision().exceptions().isEmpty())
          .bind("observation", note.fact().observation().name())
          .bind("reference", note.fact().reference())
          .add();
    }
    batch.execute();
  }

  private static PreparedBatch bindEvent(PreparedBatch batch, Fact fact, String paymentId) {
    return batch
        .bind("payment_id", paymentId)
        .bind("fact_source", fact.source().name())
        .bind("evidence", evidence(fact))
        .bind("event_at", OffsetDateTime.ofInstant(fact.observedAt(), ZoneOffset.UTC));
  }

  /** What an event keeps of the fact, as JSON. */
  static String evidence(Fact fact) {
    Map<String, String> evidence = new HashMap<>(fact.evidence());
    evidence.put("observation", fact.observation().name());
    putIfPresent(evidence, "provider_transaction_id", fact.providerTransactionId());
    putIfPresent(evidence, "code", fact.code());
    putIfPresent(evidence, "reference", fact.reference());
    putIfPresent(evidence, "refund_id", fact.refundId());
    Money amount = fact.amount();
    if (amount != null) {
      evidence.put("amount_minor", Long.toString(amount.amountMinor()));
      evidence.put("currency", amount.currency());
    }
    return ExceptionStore.json(evidence);
  }

  private static void putIfPresent(
      Map<String, String> evidence, String key, @Nullable String value) {
    if (value != null) {
      evidence.put(key, value);
    }
  }

  private static String eventType(PaymentStatus status) {
    return switch (status) {
      case CREATED -> "PaymentRequested";
      case PENDING -> "PaymentPending";
      case SUCCEEDED -> "PaymentConfirmed";
      case FAILED -> "PaymentFailed";
      case UNKNOWN -> "PaymentUnknown";
    };
  }

  static String eventType(Note note) {
    return switch (note) {
      case IGNORED -> "FactIgnored";
      case CONFLICTING -> "FactConflicting";
      case MONEY_REVERSED -> "MoneyReversed";
      case NONE -> throw new IllegalArgumentException("nothing to remember");
    };
  }

  private static void insertStatusEvents(Handle tx, List<Change> changes, Instant now) {
    if (changes.isEmpty()) {
      return;
    }
    tx.createUpdate(
            """
            INSERT INTO payrelay.outbox (aggregate_type, aggregate_id, event_type, payload, trace_id)
            SELECT 'payment', payment_id, 'PaymentStatusChanged', payload::json, trace_id
            FROM unnest(:payment_ids, :payloads, :trace_ids) WITH ORDINALITY
              AS given (payment_id, payload, trace_id, position)
            ORDER BY position
            """)
        .bindArray("payment_ids", String.class, Columns.of(changes, one -> one.after().paymentId()))
        .bindArray("payloads", String.class, Columns.of(changes, one -> statusChanged(one, now)))
        .bindArray("trace_ids", String.class, Columns.of(changes, one -> one.after().traceId()))
        .execute();
  }

  private static String statusChanged(Change change, Instant now) {
    Payment payment = change.after();
    ObjectNode json = JSON.createObjectNode();
    json.put("payment_id", payment.paymentId());
    json.put("merchant", payment.merchant());
    json.put("merchant_order_id", payment.merchantOrderId());
    json.put("status", payment.status().name());
    json.put("previous_status", change.before().status().name());
    json.put("amount_minor", payment.amount().amountMinor());
    json.put("currency", payment.amount().currency());
    json.put("provider", payment.provider());
    json.put("provider_transaction_id", payment.providerTransactionId());
    json.put("failure_code", payment.failureCode());
    json.put("trace_id", payment.traceId());
    json.put("occurred_at", now.toString());
    json.put("version", payment.version());
    return json.toString();
  }
}

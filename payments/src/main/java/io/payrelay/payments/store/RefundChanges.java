package io.payrelay.payments.store;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.payrelay.payments.ledger.Entry;
import io.payrelay.payments.ledger.Posting;
import io.payrelay.payments.ledger.PostingKind;
import io.payrelay.payments.ledger.Postings;
import io.payrelay.payments.lifecycle.Decision;
import io.payrelay.payments.lifecycle.Decision.Note;
import io.payrelay.payments.lifecycle.Fact;
import io.payrelay.payments.lifecycle.FactSource;
import io.payrelay.payments.lifecycle.Observation;
import io.payrelay.payments.lifecycle.Payment;
import io.payrelay.payments.lifecycle.ProviderRefunds;
import io.payrelay.payments.lifecycle.Refund;
import io.payrelay.payments.lifecycle.RefundDecision;
import io.payrelay.payments.lifecycle.RefundFailure;
import io.payrelay.payments.lifecycle.RefundLifecycle;
import io.payrelay.payments.lifecycle.RefundLifecycle.Booked;
import io.payrelay.payments.lifecycle.RefundStatus;
import io.payrelay.payments.money.Money;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import org.jdbi.v3.core.Handle;
import org.jdbi.v3.core.statement.PreparedBatch;
import org.jspecify.annotations.Nullable;

/**
 * What becomes of refunds in one batch of facts: which refund a fact is about, whether it names
 * ours or only the provider's id of it, and everything that is written of it. Belongs to one
 * transaction.
 */
final class RefundChanges {

  private static final ObjectMapper JSON = new ObjectMapper();

  private final Map<String, Refund> locked = new HashMap<>();
  private final Map<String, Refund> current = new LinkedHashMap<>();

  /** Ids of refunds by what the provider calls them. */
  private final Map<String, String> holders = new HashMap<>();

  private final Map<String, Booked> booked = new HashMap<>();

  /** Business keys of refunds whose money came back. */
  private final Set<String> returned = new HashSet<>();

  /** Which refunds at the provider are said to have failed. */
  private final Map<String, RefundFailure> failures = new HashMap<>();

  private final Set<String> inSuspense = new HashSet<>();
  private final List<Change> changes = new ArrayList<>();
  private final List<NoteRow> notes = new ArrayList<>();
  private final Set<String> raised = new HashSet<>();

  private record Change(Fact fact, Refund before, Refund after) {}

  private record NoteRow(Fact fact, Refund refund, RefundDecision decision) {}

  private RefundChanges() {}

  /** Locks the refunds of locked payments that the facts are about. */
  static RefundChanges lock(
      Handle tx, LedgerStore ledger, List<Fact> facts, Collection<String> lockedPaymentIds) {
    RefundChanges refunds = new RefundChanges();
    List<Fact> about = facts.stream().filter(Fact::isAboutRefund).toList();
    if (!about.isEmpty()) {
      refunds.read(tx, ledger, about, lockedPaymentIds);
    }
    return refunds;
  }

  private void read(
      Handle tx, LedgerStore ledger, List<Fact> about, Collection<String> lockedPaymentIds) {
    TreeSet<String> references = new TreeSet<>();
    TreeSet<String> wanted = new TreeSet<>();
    for (Fact fact : about) {
      addIfPresent(references, fact.reference());
      addIfPresent(wanted, fact.refundId());
    }
    tx.createQuery(
            """
            SELECT provider, provider_refund_id, refund_id FROM payrelay.refund
            WHERE provider = ANY (:providers) AND provider_refund_id = ANY (:references)
            """)
        .bindArray(
            "providers", String.class, new TreeSet<>(about.stream().map(Fact::provider).toList()))
        .bindArray("references", String.class, references)
        .map(
            (row, context) -> Map.entry(name(row.getString(1), row.getString(2)), row.getString(3)))
        .forEach(entry -> holders.put(entry.getKey(), entry.getValue()));
    wanted.addAll(holders.values());
    locked.putAll(new RefundStore().lock(tx, wanted, lockedPaymentIds));
    current.putAll(locked);

    TreeSet<String> refundKeys = new TreeSet<>();
    TreeSet<String> captureKeys = new TreeSet<>();
    for (Fact fact : about) {
      Refund refund = of(fact);
      if (refund == null) {
        refundKeys.add(key(fact));
        continue;
      }
      captureKeys.add(Postings.captureKey(refund.provider(), refund.providerTransactionId()));
      addIfPresent(refundKeys, key(refund, fact.reference()));
      addIfPresent(refundKeys, key(refund, refund.providerRefundId()));
      addIfPresent(refundKeys, key(refund, refund.refundId()));
    }
    booked.putAll(ledger.refunds(tx, refundKeys));
    returned.addAll(ledger.returned(tx, refundKeys));
    inSuspense.addAll(ledger.inSuspense(tx, captureKeys));
    readFailures(tx, about);
  }

  /** Only where a success may come behind them. */
  private void readFailures(Handle tx, List<Fact> about) {
    TreeSet<String> paymentIds = new TreeSet<>();
    TreeSet<String> references = new TreeSet<>();
    for (Fact fact : about) {
      if (saysThatItLeft(fact) && fact.reference() != null) {
        paymentIds.add(fact.paymentId());
        references.add(fact.reference());
      }
    }
    if (paymentIds.isEmpty()) {
      return;
    }
    tx.createQuery(
            """
            SELECT said.payment_id, said.evidence ->> 'reference', said.event_at, said.fact_source,
              said.evidence ->> 'code'
            FROM (
              SELECT r.payment_id, e.evidence, e.event_at, e.fact_source
              FROM payrelay.refund r JOIN payrelay.refund_event e USING (refund_id)
              WHERE r.payment_id = ANY (:payment_ids)
                -- What is only reported of ours is asked about.
                AND e.evidence ->> 'observation' = 'FAILED'
                -- It spoke of this refund, and not of another one of ours or of other money.
                AND coalesce(e.evidence ->> 'provider_transaction_id', r.provider_transaction_id)
                  = r.provider_transaction_id
                AND NOT EXISTS (SELECT FROM payrelay.refund other
                  WHERE other.provider = r.provider AND other.refund_id <> r.refund_id
                    AND other.provider_refund_id = e.evidence ->> 'reference')
              UNION ALL
              SELECT e.payment_id, e.evidence, e.event_at, e.fact_source
              FROM payrelay.payment_event e
              WHERE e.payment_id = ANY (:payment_ids) AND e.event_type <> 'FactConflicting'
                AND e.evidence ->> 'observation' IN ('FAILED', 'FAILURE_REPORTED')) said
            WHERE said.evidence ->> 'reference' = ANY (:references)
            """)
        .bindArray("payment_ids", String.class, paymentIds)
        .bindArray("references", String.class, references)
        .map(
            (row, context) ->
                Map.entry(
                    name(row.getString(1), row.getString(2)),
                    new RefundFailure(
                        row.getObject(3, OffsetDateTime.class).toInstant(),
                        RefundFailure.isByProvider(FactSource.valueOf(row.getString(4))),
                        row.getString(5))))
        .forEach(entry -> failures.merge(entry.getKey(), entry.getValue(), RefundFailure::later));
  }

  private static boolean saysThatItLeft(Fact fact) {
    return fact.observation() == Observation.SUCCEEDED
        || fact.observation() == Observation.PROVIDER_REFUND;
  }

  /** What follows for our refund that the fact is about; null where it is about none of ours. */
  @Nullable RefundDecision decide(Fact fact) {
    Refund refund = fact.isAboutRefund() ? of(fact) : null;
    if (refund == null) {
      return null;
    }
    String named = fact.reference() == null ? null : name(fact.provider(), fact.reference());
    String holder = named == null ? null : holders.get(named);
    Fact about = fact.aboutRefund(refund.refundId());
    String reference = RefundLifecycle.reference(refund, about);
    RefundDecision decision =
        RefundLifecycle.decide(
            refund,
            about,
            new RefundLifecycle.Context(
                refund.refundId().equals(holder) ? null : holder,
                inSuspense.contains(
                    Postings.captureKey(refund.provider(), refund.providerTransactionId())),
                booked.get(key(refund, reference)),
                failure(about),
                returned.contains(key(refund, reference))));
    Refund previous = refund;
    for (Refund state : decision.states()) {
      changes.add(new Change(about, previous, state));
      previous = state;
    }
    if (decision.note() != Note.NONE
        && decision.exceptions().stream().noneMatch(one -> raised.contains(one.businessKey()))) {
      notes.add(new NoteRow(about, refund, decision));
    }
    decision.exceptions().forEach(one -> raised.add(one.businessKey()));
    Refund result = decision.result();
    current.put(result.refundId(), result);
    if (result.providerRefundId() != null) {
      holders.putIfAbsent(name(result.provider(), result.providerRefundId()), result.refundId());
    }
    remember(decision.postings());
    // What is only reported of ours is asked about.
    boolean ofThis =
        (holder == null || holder.equals(refund.refundId()))
            && about.provider().equals(refund.provider())
            && (about.providerTransactionId() == null
                || about.providerTransactionId().equals(refund.providerTransactionId()));
    if (about.observation() == Observation.FAILED && ofThis) {
      rememberFailure(about);
    }
    return decision;
  }

  /**
   * What follows for the payment.
   *
   * @param ofRefund what was decided on our refund; null: the provider made the refund
   */
  Decision ofPayment(Payment payment, Fact fact, @Nullable RefundDecision ofRefund) {
    if (ofRefund != null) {
      return ofRefund.ofPayment();
    }
    Decision decision = ProviderRefunds.decide(payment, fact, booked.get(key(fact)), failure(fact));
    remember(decision.postings());
    if (fact.observation() == Observation.FAILED
        || fact.observation() == Observation.FAILURE_REPORTED) {
      rememberFailure(fact);
    }
    return decision;
  }

  private @Nullable RefundFailure failure(Fact fact) {
    return fact.reference() == null ? null : failures.get(name(fact.paymentId(), fact.reference()));
  }

  private void rememberFailure(Fact fact) {
    if (fact.reference() != null) {
      failures.merge(
          name(fact.paymentId(), fact.reference()), RefundFailure.of(fact), RefundFailure::later);
    }
  }

  /** For the facts behind it in the batch. */
  private void remember(List<Posting> postings) {
    for (Posting posting : postings) {
      if (posting.kind() == PostingKind.REFUND_RETURNED) {
        booked.remove(Objects.requireNonNull(posting.reverses()));
        returned.add(posting.reverses());
      } else {
        Entry debit = posting.entries().get(0);
        booked.putIfAbsent(
            posting.businessKey(),
            new Booked(
                debit.account().kind(),
                new Money(debit.amountMinor(), debit.account().currency())));
      }
    }
  }

  /** By our id, where the fact names it and means its own payment, else by the provider's. */
  private @Nullable Refund of(Fact fact) {
    Refund refund = fact.refundId() == null ? null : current.get(fact.refundId());
    if (refund == null && fact.reference() != null) {
      String holder = holders.get(name(fact.provider(), fact.reference()));
      refund = holder == null ? null : current.get(holder);
    }
    return refund != null && refund.paymentId().equals(fact.paymentId()) ? refund : null;
  }

  void update(Handle tx, Instant now) {
    List<Refund> changed =
        current.values().stream()
            .filter(refund -> !refund.equals(locked.get(refund.refundId())))
            .toList();
    if (changed.isEmpty()) {
      return;
    }
    PreparedBatch batch =
        tx.prepareBatch(
            """
            UPDATE payrelay.refund
            SET status = :status, version = :version, provider_refund_id = :provider_refund_id,
              failure_code = :failure_code, updated_at = :now
            WHERE refund_id = :refund_id AND version = :locked_version
            """);
    for (Refund refund : changed) {
      batch
          .bind("status", refund.status().name())
          .bind("version", refund.version())
          .bind("provider_refund_id", refund.providerRefundId())
          .bind("failure_code", refund.failureCode())
          .bind("now", utc(now))
          .bind("refund_id", refund.refundId())
          .bind("locked_version", Objects.requireNonNull(locked.get(refund.refundId())).version())
          .add();
    }
    for (int count : batch.execute()) {
      if (count != 1) {
        throw new IllegalStateException("a locked refund changed its version");
      }
    }
  }

  /** Writes the events and, of each change, what the topic is told. */
  void insertEvents(
      Handle tx, Set<String> openedCases, Map<String, Payment> payments, Instant now) {
    if (!changes.isEmpty()) {
      insertChanges(tx);
      insertStatusEvents(tx, payments, now);
    }
    List<NoteRow> written = notes.stream().filter(note -> isNew(note, openedCases)).toList();
    if (!written.isEmpty()) {
      insertNotes(tx, written);
    }
  }

  private static boolean isNew(NoteRow note, Set<String> openedCases) {
    return note.decision().exceptions().isEmpty()
        || note.decision().exceptions().stream()
            .anyMatch(one -> openedCases.contains(one.businessKey()));
  }

  private void insertChanges(Handle tx) {
    PreparedBatch batch =
        tx.prepareBatch(
            """
            INSERT INTO payrelay.refund_event
              (refund_id, version, event_type, previous_status, status, fact_source, evidence, event_at)
            VALUES (:refund_id, :version, :event_type, :previous_status, :status, :fact_source,
              :evidence::jsonb, :event_at)
            """);
    for (Change change : changes) {
      bind(batch, change.fact(), change.before())
          .bind("version", change.after().version())
          .bind("event_type", eventType(change.after().status()))
          .bind("status", change.after().status().name())
          .add();
    }
    batch.execute();
  }

  private static void insertNotes(Handle tx, List<NoteRow> notes) {
    // As of payments: what was ignored is remembered once a source and a refund at the provider.
    PreparedBatch batch =
        tx.prepareBatch(
            """
            INSERT INTO payrelay.refund_event
              (refund_id, event_type, previous_status, fact_source, evidence, event_at)
            SELECT :refund_id, :event_type, :previous_status, :fact_source, :evidence::jsonb, :event_at
            WHERE NOT :once OR NOT EXISTS (SELECT FROM payrelay.refund_event
              WHERE refund_id = :refund_id AND event_type = :event_type
                AND fact_source = :fact_source AND evidence ->> 'observation' = :observation
                AND evidence ->> 'reference' IS NOT DISTINCT FROM :reference)
            """);
    for (NoteRow note : notes) {
      bind(batch, note.fact(), note.refund())
          .bind("event_type", FactStore.eventType(note.decision().note()))
          .bind("once", note.decision().exceptions().isEmpty())
          .bind("observation", note.fact().observation().name())
          .bind("reference", note.fact().reference())
          .add();
    }
    batch.execute();
  }

  private static PreparedBatch bind(PreparedBatch batch, Fact fact, Refund before) {
    return batch
        .bind("refund_id", before.refundId())
        .bind("previous_status", before.status().name())
        .bind("fact_source", fact.source().name())
        .bind("evidence", FactStore.evidence(fact))
        .bind("event_at", utc(fact.observedAt()));
  }

  private void insertStatusEvents(Handle tx, Map<String, Payment> payments, Instant now) {
    PreparedBatch batch =
        tx.prepareBatch(
            """
            INSERT INTO payrelay.outbox (aggregate_type, aggregate_id, event_type, payload, trace_id)
            VALUES ('payment', :payment_id, 'RefundStatusChanged', :payload::json, :trace_id)
            """);
    for (Change change : changes) {
      Refund refund = change.after();
      Payment payment = Objects.requireNonNull(payments.get(refund.paymentId()));
      batch
          .bind("payment_id", refund.paymentId())
          .bind("payload", statusChanged(change, payment, now))
          .bind("trace_id", refund.traceId())
          .add();
    }
    batch.execute();
  }

  private static String statusChanged(Change change, Payment payment, Instant now) {
    Refund refund = change.after();
    ObjectNode json = JSON.createObjectNode();
    json.put("refund_id", refund.refundId());
    json.put("payment_id", refund.paymentId());
    json.put("merchant", payment.merchant());
    json.put("merchant_order_id", payment.merchantOrderId());
    json.put("status", refund.status().name());
    json.put("previous_status", change.before().status().name());
    json.put("amount_minor", refund.amount().amountMinor());
    json.put("currency", refund.amount().currency());
    json.put("provider", refund.provider());
    json.put("provider_transaction_id", refund.providerTransactionId());
    json.put("provider_refund_id", refund.providerRefundId());
    json.put("failure_code", refund.failureCode());
    json.put("trace_id", refund.traceId());
    json.put("occurred_at", now.toString());
    json.put("version", refund.version());
    return json.toString();
  }

  private static String eventType(RefundStatus status) {
    return switch (status) {
      case REQUESTED -> "RefundRequested";
      case PENDING -> "RefundPending";
      case SUCCEEDED -> "RefundConfirmed";
      case FAILED -> "RefundFailed";
      case UNKNOWN -> "RefundUnknown";
      case RETURNED -> "RefundReturned";
    };
  }

  /** Neither names of providers nor ids of payments hold a colon. */
  private static String name(String provider, String reference) {
    return provider + ":" + reference;
  }

  private static String key(Fact fact) {
    return Postings.refundKey(
        fact.provider(),
        String.valueOf(fact.providerTransactionId()),
        String.valueOf(fact.reference()));
  }

  private static @Nullable String key(Refund refund, @Nullable String reference) {
    return reference == null
        ? null
        : Postings.refundKey(refund.provider(), refund.providerTransactionId(), reference);
  }

  private static void addIfPresent(Set<String> set, @Nullable String value) {
    if (value != null) {
      set.add(value);
    }
  }

  private static OffsetDateTime utc(Instant instant) {
    return OffsetDateTime.ofInstant(instant, ZoneOffset.UTC);
  }
}

package io.payrelay.chargeworker;

import io.payrelay.payments.lifecycle.ExceptionCase;
import io.payrelay.payments.lifecycle.ExceptionKind;
import io.payrelay.payments.lifecycle.Fact;
import io.payrelay.payments.lifecycle.FactSource;
import io.payrelay.payments.lifecycle.Observation;
import io.payrelay.payments.lifecycle.Payment;
import io.payrelay.payments.lifecycle.PaymentStatus;
import io.payrelay.payments.store.ExceptionStore;
import io.payrelay.payments.store.FactStore;
import io.payrelay.payments.store.NewOperation;
import io.payrelay.payments.store.OperationAction;
import io.payrelay.payments.store.OperationStore;
import io.payrelay.payments.store.PaymentStore;
import io.payrelay.platform.errors.Category;
import io.payrelay.platform.errors.PayrelayException;
import io.payrelay.platform.telemetry.LogContext;
import io.payrelay.providers.PaymentProvider;
import io.payrelay.providers.Prepared;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.jdbi.v3.core.Handle;
import org.jdbi.v3.core.Jdbi;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Makes operations of triggers, from the payment rows, in one transaction and without any network
 * call. A trigger that comes again changes nothing. Safe for any thread.
 */
final class Acceptance {

  private static final Logger log = LoggerFactory.getLogger(Acceptance.class);

  private final Jdbi jdbi;
  private final Map<String, PaymentProvider> providers;
  private final InstantSource clock;
  private final ChargeFaults faults;
  private final PaymentStore payments = new PaymentStore();
  private final OperationStore operations = new OperationStore();
  private final FactStore facts = new FactStore();
  private final ExceptionStore exceptions = new ExceptionStore();

  /** What became of a trigger. */
  enum Verdict {
    /** There is an operation now, or there was one, or none is needed. */
    DONE,
    /** A case or a failed payment says why there is none. */
    REFUSED,
    /** There is no such payment, as far as we can see now. */
    NOT_VISIBLE,
    /** The adapter or the database fails on what it leads to, and will again. */
    REJECTED
  }

  private record Outcome(
      Verdict verdict,
      @Nullable NewOperation operation,
      @Nullable Fact fact,
      @Nullable ExceptionCase exception) {

    static Outcome of(Verdict verdict) {
      return new Outcome(verdict, null, null, null);
    }
  }

  Acceptance(Jdbi jdbi, List<PaymentProvider> providers, InstantSource clock, ChargeFaults faults) {
    this.jdbi = jdbi;
    this.clock = clock;
    this.faults = faults;
    this.providers = new LinkedHashMap<>();
    providers.forEach(provider -> this.providers.put(provider.name(), provider));
  }

  /**
   * The key under which a payment is charged, always the same one: 32 characters of id make 48, and
   * providers take at least 64.
   */
  static String idempotencyKey(String paymentId) {
    return "payrelay-charge-" + paymentId;
  }

  /** Accepts the triggers and says what became of each, in the same order. */
  List<Verdict> accept(List<Trigger> triggers) {
    try {
      List<Verdict> verdicts = jdbi.inTransaction(tx -> accept(tx, triggers));
      faults.reached(ChargeFaults.Point.AFTER_ACCEPT);
      return verdicts;
    } catch (RuntimeException e) {
      if (!Refusals.concernsOne(e)) {
        throw e;
      }
      // One of them is wrong; the others are not to suffer for it.
      List<Verdict> verdicts = new ArrayList<>(triggers.size());
      triggers.forEach(trigger -> verdicts.add(acceptOne(trigger)));
      return verdicts;
    }
  }

  private Verdict acceptOne(Trigger trigger) {
    List<Verdict> verdicts = new ArrayList<>(1);
    RuntimeException refusal =
        Refusals.refusal(
            () -> verdicts.addAll(jdbi.inTransaction(tx -> accept(tx, List.of(trigger)))));
    if (refusal == null) {
      return verdicts.get(0);
    }
    log.error("charge request refused payment_id={}", trigger.paymentId(), refusal);
    RuntimeException again =
        Refusals.refusal(() -> jdbi.useTransaction(tx -> openCase(tx, trigger, refusal)));
    if (again != null) {
      log.error("no case can be opened for it payment_id={}", trigger.paymentId(), again);
    }
    return Verdict.REJECTED;
  }

  /** While it is open, the sweep leaves the payment alone: it would be refused again and again. */
  private void openCase(Handle tx, Trigger trigger, RuntimeException refusal) {
    Optional<Payment> payment = payments.find(tx, trigger.paymentId());
    if (payment.isPresent() && !payment.get().status().terminal()) {
      exceptions.open(tx, List.of(notAccepted(payment.get(), trigger, refusal)));
    }
  }

  private List<Verdict> accept(Handle tx, List<Trigger> triggers) {
    Map<String, Payment> rows =
        payments.findAll(tx, triggers.stream().map(Trigger::paymentId).toList());
    List<Verdict> verdicts = new ArrayList<>(triggers.size());
    List<NewOperation> wanted = new ArrayList<>();
    List<Fact> observed = new ArrayList<>();
    List<ExceptionCase> cases = new ArrayList<>();
    for (Trigger trigger : triggers) {
      Payment payment = rows.get(trigger.paymentId());
      Outcome outcome =
          payment == null ? Outcome.of(Verdict.NOT_VISIBLE) : outcome(tx, trigger, payment);
      verdicts.add(outcome.verdict());
      addIfPresent(wanted, outcome.operation());
      addIfPresent(observed, outcome.fact());
      addIfPresent(cases, outcome.exception());
    }
    if (!observed.isEmpty()) {
      facts.apply(tx, observed, clock.instant());
    }
    exceptions.open(tx, cases);
    Set<String> accepted = operations.accept(tx, wanted);
    List<String> asked = new ArrayList<>();
    for (NewOperation operation : wanted) {
      Payment payment = rows.get(operation.paymentId());
      boolean unknown = payment != null && payment.status() == PaymentStatus.UNKNOWN;
      if (unknown && !accepted.contains(operation.paymentId())) {
        asked.add(operation.paymentId());
      }
    }
    operations.queryNow(tx, asked);
    return verdicts;
  }

  private Outcome outcome(Handle tx, Trigger trigger, Payment payment) {
    if (payment.status().terminal()) {
      return Outcome.of(Verdict.DONE);
    }
    Trigger.Terms terms = trigger.terms();
    if (terms != null && differ(terms, payment)) {
      warn(payment, "the event names other terms than the payment");
      Map<String, String> evidence =
          Map.of(
              "event_provider", terms.provider(),
              "event_amount_minor", Long.toString(terms.amountMinor()),
              "event_currency", terms.currency());
      return new Outcome(
          Verdict.REFUSED, null, fact(payment, Observation.PAYLOAD_DIFFERS, null, evidence), null);
    }
    PaymentProvider provider = providers.get(payment.provider());
    if (provider == null) {
      warn(payment, "no adapter for the payment's provider");
      return new Outcome(Verdict.REFUSED, null, null, unknownProvider(payment));
    }
    Prepared prepared = prepare(provider, payment);
    if (prepared instanceof Prepared.Ready ready) {
      return new Outcome(Verdict.DONE, operation(payment, ready.body()), null, null);
    }
    // Only where nothing can have been sent: an adapter that was set up otherwise may have taken
    // it.
    if (!payments.lock(tx, List.of(payment.paymentId())).isEmpty()
        && operations.hasCharge(tx, payment.paymentId())) {
      return Outcome.of(Verdict.DONE);
    }
    Prepared.Refused refused = (Prepared.Refused) prepared;
    return new Outcome(
        Verdict.REFUSED,
        null,
        fact(payment, Observation.REFUSED, refused.code(), Map.of("reason", refused.reason())),
        null);
  }

  /** A fault of an adapter is one payment's trouble, not that of all behind it. */
  private static Prepared prepare(PaymentProvider provider, Payment payment) {
    try {
      return provider.prepareCharge(payment);
    } catch (RuntimeException e) {
      throw new PayrelayException(
          Category.REJECTED, "The adapter of " + provider.name() + " fails on a payment", e);
    }
  }

  private static NewOperation operation(Payment payment, byte[] body) {
    return new NewOperation(
        payment.paymentId(),
        payment.provider(),
        idempotencyKey(payment.paymentId()),
        body,
        payment.traceId(),
        // Somebody has seen it at the provider, and our record of the call is gone: ask first.
        payment.status() == PaymentStatus.CREATED ? OperationAction.CALL : OperationAction.QUERY);
  }

  private Fact fact(
      Payment payment,
      Observation observation,
      @Nullable String code,
      Map<String, String> evidence) {
    return Fact.plain(
        FactSource.WORKER,
        payment.provider(),
        payment.paymentId(),
        observation,
        code,
        clock.instant(),
        evidence);
  }

  private ExceptionCase unknownProvider(Payment payment) {
    Instant now = clock.instant();
    return new ExceptionCase(
        ExceptionKind.UNKNOWN_PROVIDER + ":" + payment.paymentId(),
        ExceptionKind.UNKNOWN_PROVIDER,
        payment.paymentId(),
        payment.provider(),
        null,
        payment.amount(),
        null,
        payment.traceId(),
        Map.of("known_providers", String.join(",", providers.keySet())),
        now);
  }

  private ExceptionCase notAccepted(Payment payment, Trigger trigger, RuntimeException refusal) {
    return new ExceptionCase(
        ExceptionKind.MISSING_EVENT + ":" + payment.paymentId() + ":not-accepted",
        ExceptionKind.MISSING_EVENT,
        payment.paymentId(),
        payment.provider(),
        null,
        payment.amount(),
        null,
        payment.traceId(),
        Map.of(
            "reason", "adapter or database refuse to accept the charge request",
            "refused_with", Refusals.reason(refusal),
            "event_seen", Boolean.toString(trigger.terms() != null)),
        clock.instant());
  }

  private static boolean differ(Trigger.Terms terms, Payment payment) {
    return terms.amountMinor() != payment.amount().amountMinor()
        || !terms.currency().equals(payment.amount().currency())
        || !terms.provider().equals(payment.provider());
  }

  private static void warn(Payment payment, String what) {
    try (LogContext context = LogContext.ofPayment(payment.paymentId(), payment.traceId())) {
      context.with("provider", payment.provider());
      log.warn("charge not made: {}", what);
    }
  }

  private static <T> void addIfPresent(List<T> list, @Nullable T value) {
    if (value != null) {
      list.add(value);
    }
  }
}

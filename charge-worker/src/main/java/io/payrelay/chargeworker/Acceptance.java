package io.payrelay.chargeworker;

import io.payrelay.chargeworker.Acceptor.Finding;
import io.payrelay.payments.lifecycle.ExceptionCase;
import io.payrelay.payments.lifecycle.ExceptionKind;
import io.payrelay.payments.lifecycle.Fact;
import io.payrelay.payments.lifecycle.FactSource;
import io.payrelay.payments.lifecycle.Observation;
import io.payrelay.payments.lifecycle.Payment;
import io.payrelay.payments.lifecycle.PaymentStatus;
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
final class Acceptance implements Acceptor.Subject<Trigger, Payment, NewOperation> {

  private static final Logger log = LoggerFactory.getLogger(Acceptance.class);

  private final Map<String, PaymentProvider> providers;
  private final InstantSource clock;
  private final Acceptor<Trigger, Payment, NewOperation> acceptor;
  private final PaymentStore payments = new PaymentStore();
  private final OperationStore operations = new OperationStore();

  Acceptance(Jdbi jdbi, List<PaymentProvider> providers, InstantSource clock, ChargeFaults faults) {
    this.clock = clock;
    this.providers = new LinkedHashMap<>();
    providers.forEach(provider -> this.providers.put(provider.name(), provider));
    this.acceptor = new Acceptor<>(jdbi, clock, faults, this);
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
    return acceptor.accept(triggers);
  }

  @Override
  public String name() {
    return "charge";
  }

  @Override
  public ChargeFaults.Point accepted() {
    return ChargeFaults.Point.AFTER_ACCEPT;
  }

  @Override
  public String id(Trigger trigger) {
    return trigger.paymentId();
  }

  @Override
  public Map<String, Payment> rows(Handle tx, List<String> ids) {
    return payments.findAll(tx, ids);
  }

  @Override
  public String paymentId(Payment payment) {
    return payment.paymentId();
  }

  @Override
  public boolean hasOperation(Handle tx, String paymentId) {
    return operations.hasCharge(tx, paymentId);
  }

  /** An unknown payment that has its operation is asked about. */
  @Override
  public void write(Handle tx, List<NewOperation> wanted, Map<String, Payment> rows) {
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
  }

  @Override
  public @Nullable ExceptionCase notAccepted(Handle tx, Trigger trigger, RuntimeException refusal) {
    return payments
        .find(tx, trigger.paymentId())
        .filter(payment -> !payment.status().terminal())
        .map(payment -> notAccepted(payment, trigger, refusal))
        .orElse(null);
  }

  @Override
  public Finding<NewOperation> look(Handle tx, Trigger trigger, Payment payment) {
    if (payment.status().terminal()) {
      return Finding.of(Verdict.DONE);
    }
    Trigger.Terms terms = trigger.terms();
    if (terms != null && differ(terms, payment)) {
      warn(payment, "the event names other terms than the payment");
      Map<String, String> evidence =
          Map.of(
              "event_provider", terms.provider(),
              "event_amount_minor", Long.toString(terms.amountMinor()),
              "event_currency", terms.currency());
      return Finding.refused(fact(payment, Observation.PAYLOAD_DIFFERS, null, evidence));
    }
    PaymentProvider provider = providers.get(payment.provider());
    if (provider == null) {
      warn(payment, "no adapter for the payment's provider");
      return Finding.refused(unknownProvider(payment));
    }
    Prepared prepared = prepare(provider, payment);
    if (prepared instanceof Prepared.Ready ready) {
      return Finding.accepted(operation(payment, ready.body()));
    }
    Prepared.Refused refused = (Prepared.Refused) prepared;
    return Finding.refusedIfUnsent(
        fact(payment, Observation.REFUSED, refused.code(), Map.of("reason", refused.reason())));
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
}

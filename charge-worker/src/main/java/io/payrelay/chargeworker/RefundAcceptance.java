package io.payrelay.chargeworker;

import io.payrelay.chargeworker.Acceptor.Finding;
import io.payrelay.payments.lifecycle.ExceptionCase;
import io.payrelay.payments.lifecycle.ExceptionKind;
import io.payrelay.payments.lifecycle.Fact;
import io.payrelay.payments.lifecycle.FactSource;
import io.payrelay.payments.lifecycle.Observation;
import io.payrelay.payments.lifecycle.Refund;
import io.payrelay.payments.lifecycle.RefundStatus;
import io.payrelay.payments.store.OperationAction;
import io.payrelay.payments.store.RefundOperationStore;
import io.payrelay.payments.store.RefundOperationStore.NewRefundOperation;
import io.payrelay.payments.store.RefundStore;
import io.payrelay.platform.errors.Category;
import io.payrelay.platform.errors.PayrelayException;
import io.payrelay.platform.telemetry.LogContext;
import io.payrelay.providers.PaymentProvider;
import io.payrelay.providers.Prepared;
import io.payrelay.providers.RefundOrder;
import io.payrelay.providers.RefundSupport;
import java.time.InstantSource;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jdbi.v3.core.Handle;
import org.jdbi.v3.core.Jdbi;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Makes operations of refund triggers, from the refund rows, in one transaction and without any
 * network call. A trigger that comes again changes nothing. Safe for any thread.
 */
final class RefundAcceptance
    implements Acceptor.Subject<RefundTrigger, Refund, NewRefundOperation> {

  private static final Logger log = LoggerFactory.getLogger(RefundAcceptance.class);

  /** With 32 characters of id it makes 48, and providers take at least 64. */
  private static final String KEY_PREFIX = "payrelay-refund-";

  private static final String NOT_SUPPORTED = "refund_not_supported";
  private static final String PARTIAL_NOT_SUPPORTED = "partial_refund_not_supported";

  private final Map<String, PaymentProvider> providers;
  private final InstantSource clock;
  private final Acceptor<RefundTrigger, Refund, NewRefundOperation> acceptor;
  private final RefundStore refunds = new RefundStore();
  private final RefundOperationStore operations = new RefundOperationStore();

  RefundAcceptance(
      Jdbi jdbi, List<PaymentProvider> providers, InstantSource clock, ChargeFaults faults) {
    this.clock = clock;
    this.providers = new LinkedHashMap<>();
    providers.forEach(provider -> this.providers.put(provider.name(), provider));
    this.acceptor = new Acceptor<>(jdbi, clock, faults, this);
  }

  /** The key under which a refund is asked for, always the same one and never a charge's. */
  static String idempotencyKey(String refundId) {
    return KEY_PREFIX + refundId;
  }

  /** Is it the key of a refund? */
  static boolean isRefundKey(String idempotencyKey) {
    return idempotencyKey.startsWith(KEY_PREFIX);
  }

  /** Accepts the triggers and says what became of each, in the same order. */
  List<Verdict> accept(List<RefundTrigger> triggers) {
    return acceptor.accept(triggers);
  }

  @Override
  public String name() {
    return "refund";
  }

  @Override
  public ChargeFaults.Point accepted() {
    return ChargeFaults.Point.AFTER_REFUND_ACCEPT;
  }

  @Override
  public String id(RefundTrigger trigger) {
    return trigger.refundId();
  }

  @Override
  public Map<String, Refund> rows(Handle tx, List<String> ids) {
    return refunds.findAll(tx, ids);
  }

  @Override
  public String paymentId(Refund refund) {
    return refund.paymentId();
  }

  @Override
  public boolean hasOperation(Handle tx, String refundId) {
    return operations.exists(tx, refundId);
  }

  /** An unknown refund that has its operation is asked about. */
  @Override
  public void write(Handle tx, List<NewRefundOperation> wanted, Map<String, Refund> rows) {
    operations.accept(tx, wanted);
    for (NewRefundOperation operation : wanted) {
      if (operation.refund().status() == RefundStatus.UNKNOWN) {
        operations.queryNow(tx, operation.refund().refundId());
      }
    }
  }

  @Override
  public @Nullable ExceptionCase notAccepted(
      Handle tx, RefundTrigger trigger, RuntimeException refusal) {
    Map<String, String> evidence =
        Map.of(
            "reason", "adapter or database refuse to accept the refund request",
            "refused_with", Refusals.reason(refusal),
            "event_seen", Boolean.toString(trigger.terms() != null));
    return refunds
        .find(tx, trigger.refundId())
        .filter(refund -> !refund.status().ended())
        .map(refund -> raised(refund, ExceptionKind.MISSING_EVENT, evidence))
        .orElse(null);
  }

  @Override
  public Finding<NewRefundOperation> look(Handle tx, RefundTrigger trigger, Refund refund) {
    if (refund.status().ended()) {
      return Finding.of(Verdict.DONE);
    }
    RefundTrigger.Terms terms = trigger.terms();
    if (terms != null && differ(terms, refund)) {
      warn(refund, "the event names other terms than the refund");
      Map<String, String> evidence =
          Map.of(
              "event_payment_id", terms.paymentId(),
              "event_provider", String.valueOf(terms.provider()),
              "event_provider_transaction_id", String.valueOf(terms.providerTransactionId()),
              "event_amount_minor", Long.toString(terms.amountMinor()),
              "event_currency", terms.currency());
      return Finding.refused(fact(refund, Observation.PAYLOAD_DIFFERS, null, evidence));
    }
    PaymentProvider provider = providers.get(refund.provider());
    if (provider == null) {
      warn(refund, "no adapter for the refund's provider");
      return Finding.refused(
          raised(
              refund,
              ExceptionKind.UNKNOWN_PROVIDER,
              Map.of("known_providers", String.join(",", providers.keySet()))));
    }
    String unsupported = unsupported(tx, provider.capabilities().refunds(), refund);
    if (unsupported != null) {
      return refused(refund, unsupported, unsupported);
    }
    Prepared prepared = prepare(provider, refund);
    if (prepared instanceof Prepared.Ready ready) {
      return Finding.accepted(operation(refund, ready.body()));
    }
    Prepared.Refused refused = (Prepared.Refused) prepared;
    return refused(refund, refused.code(), refused.reason());
  }

  private Finding<NewRefundOperation> refused(Refund refund, String code, String reason) {
    return Finding.refusedIfUnsent(
        fact(refund, Observation.REFUSED, code, Map.of("reason", reason)));
  }

  private @Nullable String unsupported(Handle tx, RefundSupport support, Refund refund) {
    return switch (support) {
      case NONE -> NOT_SUPPORTED;
      case PARTIAL -> null;
      case FULL ->
          refunds.capturedMinor(tx, refund) == refund.amount().amountMinor()
              ? null
              : PARTIAL_NOT_SUPPORTED;
    };
  }

  /** A fault of an adapter is one refund's trouble, not that of all behind it. */
  private static Prepared prepare(PaymentProvider provider, Refund refund) {
    try {
      return provider.prepareRefund(
          new RefundOrder(
              refund.refundId(),
              refund.paymentId(),
              refund.providerTransactionId(),
              refund.amount(),
              refund.reason()));
    } catch (RuntimeException e) {
      throw new PayrelayException(
          Category.REJECTED, "The adapter of " + provider.name() + " fails on a refund", e);
    }
  }

  private static NewRefundOperation operation(Refund refund, byte[] body) {
    return new NewRefundOperation(
        refund,
        idempotencyKey(refund.refundId()),
        body,
        // Somebody has seen it at the provider, and our record of the call is gone: ask first.
        refund.status() == RefundStatus.REQUESTED ? OperationAction.CALL : OperationAction.QUERY);
  }

  private Fact fact(
      Refund refund, Observation observation, @Nullable String code, Map<String, String> evidence) {
    return Fact.plain(
            FactSource.WORKER,
            refund.provider(),
            refund.paymentId(),
            observation,
            code,
            clock.instant(),
            evidence)
        .aboutRefund(refund.refundId());
  }

  private ExceptionCase raised(Refund refund, ExceptionKind kind, Map<String, String> evidence) {
    Map<String, String> all = new LinkedHashMap<>(evidence);
    all.put("refund_id", refund.refundId());
    return new ExceptionCase(
        kind + ":refund:" + refund.refundId(),
        kind,
        refund.paymentId(),
        refund.provider(),
        refund.providerTransactionId(),
        refund.amount(),
        null,
        refund.traceId(),
        all,
        clock.instant());
  }

  private static boolean differ(RefundTrigger.Terms terms, Refund refund) {
    return !terms.paymentId().equals(refund.paymentId())
        || terms.amountMinor() != refund.amount().amountMinor()
        || !terms.currency().equals(refund.amount().currency())
        || (terms.provider() != null && !terms.provider().equals(refund.provider()))
        || (terms.providerTransactionId() != null
            && !terms.providerTransactionId().equals(refund.providerTransactionId()));
  }

  private static void warn(Refund refund, String what) {
    try (LogContext context = LogContext.ofPayment(refund.paymentId(), refund.traceId())) {
      context.with("provider", refund.provider());
      log.warn("refund not made refund_id={}: {}", refund.refundId(), what);
    }
  }
}

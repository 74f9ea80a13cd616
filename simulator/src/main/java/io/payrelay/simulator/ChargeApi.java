package io.payrelay.simulator;

import io.javalin.http.Context;
import java.io.IOException;
import org.jspecify.annotations.Nullable;

/**
 * {@code POST /v1/charges}: the call that moves money, and everything that can go wrong around it.
 * Thread-safe.
 */
final class ChargeApi {
  private static final String INSUFFICIENT_FUNDS = "insufficient_funds";

  private final SimulatorConfig config;
  private final FaultPlan plan;
  private final Scripts<Fault> scripts;
  private final Ledger ledger;
  private final MoneyCalls calls;
  private final WebhookSender webhooks;
  private final DelayedTasks tasks;
  private final Counters counters;

  /** Who decided what happens to a call. */
  private enum Origin {
    SCRIPT,
    PAYMENT_METHOD,
    SEED
  }

  /** A valid call, with what is going to happen to it. */
  private record Call(
      String key,
      ChargeRequest request,
      Ledger.MerchantTransaction transaction,
      Fault fault,
      Origin origin) {}

  ChargeApi(
      SimulatorConfig config,
      FaultPlan plan,
      Scripts<Fault> scripts,
      Ledger ledger,
      MoneyCalls calls,
      WebhookSender webhooks,
      DelayedTasks tasks,
      Counters counters) {
    this.config = config;
    this.plan = plan;
    this.scripts = scripts;
    this.ledger = ledger;
    this.calls = calls;
    this.webhooks = webhooks;
    this.tasks = tasks;
    this.counters = counters;
  }

  void create(Context ctx) throws IOException {
    String key = Requests.key(ctx);
    byte[] body = Requests.body(ctx);
    Call call = call(key, ChargeRequest.parse(body));
    counters.chargeCalls.increment();
    // A special payment method spoils the execution, not the replay of it: pm_timeout_after answers
    // the second call.
    boolean spoilsReplay = call.origin() != Origin.PAYMENT_METHOD;
    calls.run(new MoneyCalls.Call(ctx, key, body, call.fault(), spoilsReplay, () -> execute(call)));
  }

  /** A script goes before a special payment method, that before the seeded plan. */
  private Call call(String key, ChargeRequest request) {
    String id = request.merchantTransactionId();
    Ledger.MerchantTransaction transaction = ledger.transaction(id);
    int number = transaction.numbers().nextCall();
    Fault scripted = scripts.next(id);
    if (scripted != null) {
      return new Call(key, request, transaction, scripted, Origin.SCRIPT);
    }
    Fault special = special(request.paymentMethod(), number, config);
    if (special != null) {
      return new Call(key, request, transaction, special, Origin.PAYMENT_METHOD);
    }
    return new Call(key, request, transaction, plan.call(id, number), Origin.SEED);
  }

  /** Has the payment method a meaning of its own? */
  static boolean isSpecial(String paymentMethod) {
    return switch (paymentMethod) {
      case "pm_decline",
          "pm_pending",
          "pm_pending_fail",
          "pm_slow",
          "pm_wrong_amount",
          "pm_500_after",
          "pm_timeout_after",
          "pm_503" ->
          true;
      default -> false;
    };
  }

  /** What happens to a call with a special payment method; null for the others. */
  static @Nullable Fault special(
      @Nullable String paymentMethod, int callNumber, SimulatorConfig config) {
    if (paymentMethod == null) {
      return null;
    }
    return switch (paymentMethod) {
      case "pm_decline" -> Fault.DECLINE;
      case "pm_pending" -> Fault.PENDING;
      case "pm_pending_fail" -> Fault.PENDING_THEN_FAILED;
      case "pm_slow" -> Fault.SLOW;
      case "pm_wrong_amount" -> Fault.WRONG_AMOUNT;
      case "pm_500_after" -> Fault.ERROR_500_AFTER;
      case "pm_timeout_after" -> Fault.TIMEOUT_AFTER;
      case "pm_503" -> callNumber <= config.notProcessedTimes() ? Fault.NOT_PROCESSED : Fault.NONE;
      default -> null;
    };
  }

  private Answer execute(Call call) {
    Fault fault = call.fault();
    Outcome outcome = outcome(call);
    ChargeRequest request = call.request();
    Ledger.Entry entry =
        ledger.create(
            "ch_",
            request,
            fault == Fault.WRONG_AMOUNT ? request.amountMinor() + 1 : request.amountMinor(),
            firstStatus(outcome),
            outcome == Outcome.DECLINED ? INSUFFICIENT_FUNDS : null,
            call.key(),
            config.clock().instant());
    Charge charge = entry.charge();
    webhooks.publish(entry, charge);
    if (charge.status() == ChargeStatus.PENDING) {
      tasks.after(config.pendingSettleDelay(), () -> settle(entry, outcome));
    }
    return outcome == Outcome.DECLINED
        ? Answer.declined(charge, INSUFFICIENT_FUNDS)
        : Answer.ok(charge);
  }

  private Outcome outcome(Call call) {
    return switch (call.fault()) {
      case DECLINE -> Outcome.DECLINED;
      case PENDING -> Outcome.PENDING_THEN_SUCCEEDED;
      case PENDING_THEN_FAILED -> Outcome.PENDING_THEN_FAILED;
      default ->
          call.origin() == Origin.SEED
              ? plan.outcome(
                  call.request().merchantTransactionId(), call.transaction().charges().size() + 1)
              : Outcome.SUCCEEDED;
    };
  }

  private static ChargeStatus firstStatus(Outcome outcome) {
    return switch (outcome) {
      case SUCCEEDED -> ChargeStatus.SUCCEEDED;
      case DECLINED -> ChargeStatus.FAILED;
      case PENDING_THEN_SUCCEEDED, PENDING_THEN_FAILED -> ChargeStatus.PENDING;
    };
  }

  private void settle(Ledger.Entry entry, Outcome outcome) {
    Charge settled =
        outcome == Outcome.PENDING_THEN_SUCCEEDED
            ? entry.settle(ChargeStatus.SUCCEEDED, null)
            : entry.settle(ChargeStatus.FAILED, INSUFFICIENT_FUNDS);
    if (settled != null) {
      webhooks.publish(entry, settled);
    }
  }
}

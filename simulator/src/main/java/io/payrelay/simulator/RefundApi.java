package io.payrelay.simulator;

import io.javalin.http.Context;
import java.io.IOException;
import java.util.List;

/** {@code /v1/refunds} of the generic face: giving money back, and queries of it. Thread-safe. */
final class RefundApi {
  private static final String REFUSED_BY_BANK = "account_closed";

  private final SimulatorConfig config;
  private final FaultPlan plan;
  private final Scripts<Fault> scripts;
  private final Ledger ledger;
  private final Refunds refunds;
  private final MoneyCalls calls;
  private final QueryApi queries;
  private final WebhookSender webhooks;
  private final DelayedTasks tasks;
  private final Replies replies;
  private final Counters counters;

  RefundApi(
      SimulatorConfig config,
      FaultPlan plan,
      Scripts<Fault> scripts,
      Ledger ledger,
      Refunds refunds,
      MoneyCalls calls,
      QueryApi queries,
      WebhookSender webhooks,
      DelayedTasks tasks,
      Replies replies,
      Counters counters) {
    this.config = config;
    this.plan = plan;
    this.scripts = scripts;
    this.ledger = ledger;
    this.refunds = refunds;
    this.calls = calls;
    this.queries = queries;
    this.webhooks = webhooks;
    this.tasks = tasks;
    this.replies = replies;
    this.counters = counters;
  }

  /** {@code POST /v1/refunds}. */
  void create(Context ctx) throws IOException {
    String key = Requests.key(ctx);
    byte[] body = Requests.body(ctx);
    RefundRequest request = RefundRequest.parse(body);
    String id = request.merchantRefundId();
    int number = refunds.numbers(id).nextCall();
    Fault scripted = scripts.next(id);
    Fault fault = scripted == null ? plan.call(id, number) : scripted;
    counters.refundCalls.increment();
    calls.run(
        new MoneyCalls.Call(
            ctx, key, body, fault, true, () -> execute(request, key, fault, scripted != null)));
  }

  /** {@code GET /v1/refunds?merchant_refund_id=X}. */
  void list(Context ctx) {
    String id = ctx.queryParam("merchant_refund_id");
    if (id == null || id.isEmpty()) {
      throw InvalidRequestException.badRequest(
          "parameter_missing", "merchant_refund_id is missing");
    }
    QueryFault fault = queries.fault(id, refunds.numbers(id));
    replies.later(
        ctx,
        () ->
            queries.answer(
                ctx,
                fault,
                () -> {
                  List<Refund> found =
                      refunds.ofMerchantRefund(id).stream()
                          .map(Refunds.Entry::refund)
                          .filter(refund -> queries.isVisible(refund.createdAt()))
                          .toList();
                  Replies.send(ctx, 200, SimulatorJson.refunds(found));
                }));
  }

  private Answer execute(RefundRequest request, String key, Fault fault, boolean scripted) {
    Ledger.Entry charged = ledger.find(request.chargeId());
    if (charged == null) {
      return refused("charge_missing", "there is no such charge");
    }
    int number = refunds.ofMerchantRefund(request.merchantRefundId()).size() + 1;
    RefundOutcome outcome =
        RefundOutcome.of(
            fault,
            scripted
                ? RefundOutcome.SUCCEEDED
                : plan.refundOutcome(request.merchantRefundId(), number));
    Refunds.Result result =
        refunds.create(
            charged,
            request.merchantRefundId(),
            fault == Fault.WRONG_AMOUNT ? request.amountMinor() + 1 : request.amountMinor(),
            request.currency(),
            outcome.first(),
            outcome == RefundOutcome.FAILED ? REFUSED_BY_BANK : null,
            key,
            config.clock().instant());
    Refunds.Entry entry = result.entry();
    if (entry == null) {
      return refused(result);
    }
    Refund refund = entry.refund();
    webhooks.publish(entry, refund);
    if (outcome.first() != outcome.last()) {
      tasks.after(config.pendingSettleDelay(), () -> settle(entry, outcome));
    }
    return Answer.ok(refund);
  }

  private static Answer refused(Refunds.Result result) {
    Refunds.Refusal refusal = result.refusal();
    if (refusal == null) {
      throw new IllegalStateException("neither a refund nor why there is none");
    }
    return switch (refusal) {
      case CHARGE_NOT_PAID -> refused("charge_not_paid", "the charge has not succeeded");
      case CURRENCY_DIFFERS -> refused("currency_differs", "the charge has another currency");
      case EXCEEDS_CHARGE ->
          refused("refund_exceeds_charge", "the charge has less left than is to be given back");
    };
  }

  private static Answer refused(String code, String message) {
    return Answer.error(400, "invalid_request", code, message);
  }

  private void settle(Refunds.Entry entry, RefundOutcome outcome) {
    RefundStatus last = outcome.last();
    Refund settled =
        refunds.move(
            entry, outcome.first(), last, last == RefundStatus.FAILED ? REFUSED_BY_BANK : null);
    if (settled != null) {
      webhooks.publish(entry, settled);
    }
  }
}

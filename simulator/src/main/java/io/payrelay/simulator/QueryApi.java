package io.payrelay.simulator;

import io.javalin.http.Context;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** Queries and cancellation of charges. Thread-safe. */
final class QueryApi {
  /** That many refunds of one charge are shown: a client bounds what it reads. */
  private static final int REFUNDS_MAX = 50;

  private final SimulatorConfig config;
  private final FaultPlan plan;
  private final Scripts<QueryFault> scripts;
  private final Ledger ledger;
  private final Refunds refunds;
  private final WebhookSender webhooks;
  private final Connections connections;
  private final Replies replies;
  private final Counters counters;

  QueryApi(
      SimulatorConfig config,
      FaultPlan plan,
      Scripts<QueryFault> scripts,
      Ledger ledger,
      Refunds refunds,
      WebhookSender webhooks,
      Connections connections,
      Replies replies,
      Counters counters) {
    this.config = config;
    this.plan = plan;
    this.scripts = scripts;
    this.ledger = ledger;
    this.refunds = refunds;
    this.webhooks = webhooks;
    this.connections = connections;
    this.replies = replies;
    this.counters = counters;
  }

  /** {@code GET /v1/charges?merchant_transaction_id=X}. */
  void list(Context ctx) {
    String id = ctx.queryParam("merchant_transaction_id");
    if (id == null || id.isEmpty()) {
      throw InvalidRequestException.badRequest(
          "parameter_missing", "merchant_transaction_id is missing");
    }
    Ledger.MerchantTransaction transaction = ledger.transaction(id);
    QueryFault fault = fault(id, transaction);
    replies.later(
        ctx,
        () ->
            answer(
                ctx,
                fault,
                () -> {
                  List<Charge> charges =
                      transaction.charges().stream()
                          .map(Ledger.Entry::charge)
                          .filter(this::isVisible)
                          .toList();
                  Replies.send(ctx, 200, SimulatorJson.list(charges, this::given));
                }));
  }

  /** {@code GET /v1/charges/{id}}. */
  void get(Context ctx) {
    Ledger.Entry entry = ledger.find(ctx.pathParam("id"));
    QueryFault fault =
        entry == null
            ? QueryFault.NONE
            : fault(entry.charge().merchantTransactionId(), entry.transaction());
    replies.later(
        ctx,
        () ->
            answer(
                ctx,
                fault,
                () ->
                    Replies.send(
                        ctx,
                        entry == null || !isVisible(entry.charge())
                            ? Answer.error(404, "not_found")
                            : Answer.ok(entry.charge()))));
  }

  /** {@code POST /v1/charges/{id}/cancel}. */
  void cancel(Context ctx) {
    Ledger.Entry entry = ledger.find(ctx.pathParam("id"));
    replies.later(
        ctx,
        () -> {
          Replies.send(ctx, cancelled(entry));
          return Replies.done();
        });
  }

  private Answer cancelled(Ledger.@Nullable Entry entry) {
    if (entry == null) {
      return Answer.error(404, "not_found");
    }
    Charge canceled = entry.settle(ChargeStatus.CANCELED, null);
    if (canceled != null) {
      webhooks.publish(entry, canceled);
    }
    Charge charge = entry.charge();
    return charge.status() == ChargeStatus.SUCCEEDED
        ? Answer.error(409, "already_succeeded", charge)
        : Answer.ok(charge);
  }

  private QueryFault fault(String id, Ledger.MerchantTransaction transaction) {
    return fault(id, transaction.numbers());
  }

  /** What happens to the next query of one of the client's ids. */
  QueryFault fault(String id, CallNumbers numbers) {
    counters.queries.increment();
    int number = numbers.nextQuery();
    QueryFault scripted = scripts.next(id);
    QueryFault fault = scripted == null ? plan.query(id, number) : scripted;
    counters.count(fault);
    return fault;
  }

  CompletableFuture<Void> answer(Context ctx, QueryFault fault, Runnable honest) {
    switch (fault) {
      case NONE -> honest.run();
      case UNAVAILABLE -> Replies.send(ctx, Answer.error(503, "unavailable"));
      case TIMEOUT -> {
        return connections.hang(ctx.req());
      }
    }
    return Replies.done();
  }

  /** What was given back of a charge, the newest first. */
  private List<Refund> given(Charge charge) {
    List<Refund> given =
        new ArrayList<>(
            refunds.ofCharge(charge.id()).stream()
                .map(Refunds.Entry::refund)
                .filter(refund -> isVisible(refund.createdAt()))
                .toList());
    Collections.reverse(given);
    return given.subList(0, Math.min(given.size(), REFUNDS_MAX));
  }

  private boolean isVisible(Charge charge) {
    return isVisible(charge.createdAt());
  }

  boolean isVisible(Instant createdAt) {
    return !config.clock().instant().isBefore(createdAt.plus(config.queryLag()));
  }
}

package io.payrelay.simulator;

import io.javalin.http.Context;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;

/**
 * {@code /_sim}: what tests ask the provider behind the client's back. Without authentication.
 * Thread-safe.
 */
final class OracleApi {
  private static final Pattern LIMIT = Pattern.compile("[0-9]{1,9}");

  private final Ledger ledger;
  private final Refunds refunds;
  private final WebhookSender webhooks;
  private final Counters counters;

  OracleApi(Ledger ledger, Refunds refunds, WebhookSender webhooks, Counters counters) {
    this.ledger = ledger;
    this.refunds = refunds;
    this.webhooks = webhooks;
    this.counters = counters;
  }

  /** {@code GET /_sim/charges?after=&limit=}; everything without them. */
  void charges(Context ctx) throws IOException {
    String limit = ctx.queryParam("limit");
    if (limit != null && !limit.isEmpty() && !LIMIT.matcher(limit).matches()) {
      throw InvalidRequestException.badRequest("parameter_invalid", "limit has to be a number");
    }
    String after = ctx.queryParam("after");
    List<SimulatedCharge> charges =
        ledger.charges(
            after == null || after.isEmpty() ? null : after,
            limit == null || limit.isEmpty() ? Integer.MAX_VALUE : Integer.parseInt(limit));
    ctx.contentType("application/json");
    SimulatorJson.oracle(charges, ctx.outputStream());
  }

  /** {@code GET /_sim/refunds}: everything. */
  void refunds(Context ctx) throws IOException {
    ctx.contentType("application/json");
    SimulatorJson.oracleRefunds(refunds.refunds(), ctx.outputStream());
  }

  /** {@code GET /_sim/stats}. */
  void stats(Context ctx) {
    Replies.send(ctx, 200, SimulatorJson.stats(counters.snapshot(ledger, refunds)));
  }

  /** {@code GET /_sim/health}. */
  void health(Context ctx) {
    ctx.contentType("application/json").result("{\"status\":\"up\"}");
  }

  /**
   * {@code POST /_sim/webhooks/redeliver?merchant_transaction_id=X}: all events of its charges and
   * their refunds once more.
   */
  void redeliver(Context ctx) {
    String id = ctx.queryParam("merchant_transaction_id");
    if (id == null || id.isEmpty()) {
      throw InvalidRequestException.badRequest(
          "parameter_missing", "merchant_transaction_id is missing");
    }
    List<WebhookEvent> events = new ArrayList<>();
    for (Ledger.Entry charge : ledger.transaction(id).charges()) {
      events.addAll(charge.events());
      refunds.ofCharge(charge.charge().id()).forEach(refund -> events.addAll(refund.events()));
    }
    webhooks.redeliver(events);
    ctx.contentType("application/json").result("{\"events\":" + events.size() + "}");
  }
}

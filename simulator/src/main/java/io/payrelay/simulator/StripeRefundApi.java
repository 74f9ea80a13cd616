package io.payrelay.simulator;

import io.javalin.http.Context;
import io.payrelay.simulator.stripe.StripeError;
import io.payrelay.simulator.stripe.StripeIntent;
import io.payrelay.simulator.stripe.StripeJson;
import io.payrelay.simulator.stripe.StripeParameters;
import io.payrelay.simulator.stripe.StripeRefund;
import io.payrelay.simulator.stripe.StripeUnits;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/** {@code /stripe/v1/refunds}. Thread-safe. */
final class StripeRefundApi {
  /** Our client's refund id on a refund: what the ledger and the faults know it by. */
  private static final String REFUND_ID = "payrelay_refund_id";

  private static final String REFUSED_BY_BANK = "expired_or_canceled_card";
  private static final Set<String> CREATE =
      Set.of("amount", "charge", "expand", "metadata", "payment_intent", "reason");
  private static final Set<String> LIST =
      Set.of(
          "charge",
          "created",
          "ending_before",
          "expand",
          "limit",
          "payment_intent",
          "starting_after");
  private static final Set<String> REASONS =
      Set.of("duplicate", "fraudulent", "requested_by_customer");

  private final SimulatorConfig config;
  private final FaultPlan plan;
  private final Scripts<Fault> scripts;
  private final StripeIntents intents;
  private final StripeApi charges;
  private final Refunds refunds;
  private final MoneyCalls calls;
  private final StripeQueries queries;
  private final WebhookSender webhooks;
  private final DelayedTasks tasks;
  private final Counters counters;
  private final Map<String, Terms> termsById = new ConcurrentHashMap<>();
  private final AtomicInteger unnamed = new AtomicInteger();

  /** What the ledger does not know of a refund. */
  private record Terms(
      StripeIntents.Held held, @Nullable String reason, Map<String, String> metadata) {}

  StripeRefundApi(
      SimulatorConfig config,
      FaultPlan plan,
      Scripts<Fault> scripts,
      StripeIntents intents,
      StripeApi charges,
      Refunds refunds,
      MoneyCalls calls,
      StripeQueries queries,
      WebhookSender webhooks,
      DelayedTasks tasks,
      Counters counters) {
    this.config = config;
    this.plan = plan;
    this.scripts = scripts;
    this.intents = intents;
    this.charges = charges;
    this.refunds = refunds;
    this.calls = calls;
    this.queries = queries;
    this.webhooks = webhooks;
    this.tasks = tasks;
    this.counters = counters;
  }

  /** {@code POST /v1/refunds}. */
  void create(Context ctx) throws IOException {
    StripeParameters parameters = StripeQueries.body(ctx);
    parameters.onlyOf(CREATE);
    Long amount = parameters.number("amount");
    if (amount != null && amount < 1) {
      throw StripeError.invalid("parameter_invalid_integer", "amount", "Invalid positive integer");
    }
    String reason = parameters.text("reason");
    if (reason != null && !REASONS.contains(reason)) {
      throw StripeError.invalid(null, "reason", "Invalid reason");
    }
    StripeIntents.Held held = refunded(parameters, StripeQueries.account(ctx));
    String key = StripeQueries.key(ctx);
    String named = parameters.map("metadata").get(REFUND_ID);
    String subject =
        named == null || named.isEmpty() ? "unnamed_re_" + unnamed.incrementAndGet() : named;
    int number = refunds.numbers(subject).nextCall();
    Fault scripted = scripts.next(subject);
    Fault fault = scripted == null ? plan.call(subject, number) : scripted;
    counters.refundCalls.increment();
    Terms terms = new Terms(held, reason, parameters.map("metadata"));
    calls.run(
        new MoneyCalls.Call(
            ctx,
            key,
            StripeQueries.fingerprint(parameters),
            fault,
            true,
            () ->
                StripeQueries.answered(
                    () -> execute(terms, subject, amount, key, fault, scripted != null))));
  }

  /** {@code GET /v1/refunds/{id}}. */
  void get(Context ctx) {
    String id = ctx.pathParam("id");
    Refunds.Entry entry = refunds.find(id);
    Terms terms = termsById.get(id);
    if (entry == null || terms == null) {
      throw StripeError.missing("refund", id);
    }
    queries.answer(
        ctx,
        entry.refund().merchantRefundId(),
        entry.numbers(),
        () -> StripeJson.refund(shown(entry.refund(), terms)));
  }

  /** {@code GET /v1/refunds}. */
  void list(Context ctx) {
    StripeParameters parameters = StripeQueries.query(ctx);
    parameters.onlyOf(LIST);
    String intent = parameters.text("payment_intent");
    String charge = parameters.text("charge");
    queries.list(
        ctx,
        "/v1/refunds",
        parameters,
        () ->
            newestFirst().stream()
                .filter(refund -> queries.isVisible(refund.created()))
                .filter(refund -> StripeQueries.within(parameters, refund.created()))
                .filter(refund -> intent == null || intent.equals(refund.intent()))
                .filter(refund -> charge == null || charge.equals(refund.charge()))
                .map(StripeJson::refund)
                .toList());
  }

  private List<StripeRefund> newestFirst() {
    List<StripeRefund> found = new ArrayList<>();
    for (Refunds.Entry entry : refunds.entries()) {
      Refund refund = entry.refund();
      Terms terms = termsById.get(refund.id());
      if (terms != null) {
        found.add(shown(refund, terms));
      }
    }
    Collections.reverse(found);
    return found;
  }

  private Response execute(
      Terms terms,
      String subject,
      @Nullable Long asked,
      String key,
      Fault fault,
      boolean scripted) {
    StripeIntent intent = terms.held().intent();
    long left =
        intent.received() - StripeUnits.amount(refunds.given(intent.id()), intent.currency());
    if (intent.received() > 0 && left == 0) {
      throw StripeError.invalid(
          "charge_already_refunded", null, "Charge has already been refunded.");
    }
    long amount = asked == null ? left : asked;
    int number = refunds.ofMerchantRefund(subject).size() + 1;
    RefundOutcome outcome =
        RefundOutcome.of(
            fault, scripted ? RefundOutcome.SUCCEEDED : plan.refundOutcome(subject, number));
    Refunds.Result result =
        refunds.create(
            terms.held().entry(),
            subject,
            StripeUnits.minor(amount, intent.currency()),
            StripeUnits.upper(intent.currency()),
            outcome.first(),
            outcome == RefundOutcome.FAILED ? REFUSED_BY_BANK : null,
            key,
            config.clock().instant());
    Refunds.Entry entry = result.entry();
    if (entry == null) {
      throw result.refusal() == Refunds.Refusal.EXCEEDS_CHARGE
          ? StripeError.invalid(
              null, "amount", "Refund amount is greater than unrefunded amount on charge.")
          : StripeError.unexpectedState(intent);
    }
    Refund refund = entry.refund();
    termsById.put(refund.id(), terms);
    publish(entry, refund, terms, "refund.created");
    if (refund.status() == RefundStatus.FAILED) {
      publish(entry, refund, terms, "refund.failed");
    } else {
      intents.publish(terms.held(), "charge.refunded", charges.chargeOf(terms.held()));
    }
    if (outcome.first() != outcome.last()) {
      tasks.after(config.pendingSettleDelay(), () -> settle(entry, terms, outcome));
    }
    return StripeResponse.ok(StripeJson.refund(shown(refund, terms)));
  }

  private void settle(Refunds.Entry entry, Terms terms, RefundOutcome outcome) {
    RefundStatus last = outcome.last();
    Refund settled =
        refunds.move(
            entry, outcome.first(), last, last == RefundStatus.FAILED ? REFUSED_BY_BANK : null);
    if (settled != null) {
      publish(
          entry, settled, terms, last == RefundStatus.FAILED ? "refund.failed" : "refund.updated");
    }
  }

  private void publish(Refunds.Entry entry, Refund refund, Terms terms, String type) {
    WebhookEvent event =
        entry.addEvent(
            id ->
                intents.event(
                    id,
                    type,
                    terms.held().intent().account(),
                    StripeJson.refund(shown(refund, terms))));
    webhooks.publish(refund.merchantRefundId(), entry.numbers(), event);
  }

  private StripeIntents.Held refunded(StripeParameters parameters, @Nullable String account) {
    String intent = parameters.text("payment_intent");
    if (intent != null) {
      return intents.find(intent, account);
    }
    String charge = parameters.text("charge");
    int end = charge == null ? -1 : charge.lastIndexOf('_');
    if (charge == null || end < 0 || !charge.startsWith("ch_")) {
      throw StripeError.invalid(
          "parameter_missing", null, "One of payment_intent and charge is required.");
    }
    return intents.find("pi_" + charge.substring("ch_".length(), end), account);
  }

  private static StripeRefund shown(Refund refund, Terms terms) {
    StripeIntent intent = terms.held().intent();
    return new StripeRefund(
        refund.id(),
        refund.status().wireName(),
        StripeUnits.amount(refund.amountMinor(), intent.currency()),
        intent.currency(),
        intent.id(),
        intent.latestCharge(),
        terms.reason(),
        refund.failureCode(),
        terms.metadata(),
        refund.createdAt());
  }
}

package io.payrelay.simulator;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.javalin.http.Context;
import io.payrelay.simulator.stripe.StripeError;
import io.payrelay.simulator.stripe.StripeFailure;
import io.payrelay.simulator.stripe.StripeIntent;
import io.payrelay.simulator.stripe.StripeJson;
import io.payrelay.simulator.stripe.StripeParameters;
import io.payrelay.simulator.stripe.StripeUnits;
import java.io.IOException;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** {@code /stripe/v1/payment_intents} and what hangs on them. Thread-safe. */
final class StripeApi {
  private static final Set<String> CREATE =
      Set.of(
          "amount",
          "automatic_payment_methods",
          "capture_method",
          "confirm",
          "confirmation_method",
          "currency",
          "customer",
          "description",
          "error_on_requires_action",
          "expand",
          "metadata",
          "off_session",
          "on_behalf_of",
          "payment_method",
          "payment_method_options",
          "payment_method_types",
          "receipt_email",
          "return_url",
          "setup_future_usage",
          "shipping",
          "statement_descriptor",
          "statement_descriptor_suffix",
          "transfer_data");
  private static final Set<String> CONFIRM =
      Set.of(
          "error_on_requires_action",
          "expand",
          "off_session",
          "payment_method",
          "return_url",
          "use_stripe_sdk");
  private static final Set<String> LIST =
      Set.of("created", "customer", "ending_before", "expand", "limit", "starting_after");
  private static final Set<String> REASONS =
      Set.of("abandoned", "duplicate", "fraudulent", "requested_by_customer");

  private final SimulatorConfig config;
  private final FaultPlan plan;
  private final Scripts<Fault> scripts;
  private final Ledger ledger;
  private final StripeIntents intents;
  private final Refunds refunds;
  private final MoneyCalls calls;
  private final StripeQueries queries;
  private final Counters counters;

  StripeApi(
      SimulatorConfig config,
      FaultPlan plan,
      Scripts<Fault> scripts,
      Ledger ledger,
      StripeIntents intents,
      Refunds refunds,
      MoneyCalls calls,
      StripeQueries queries,
      Counters counters) {
    this.config = config;
    this.plan = plan;
    this.scripts = scripts;
    this.ledger = ledger;
    this.intents = intents;
    this.refunds = refunds;
    this.calls = calls;
    this.queries = queries;
    this.counters = counters;
  }

  /** {@code POST /v1/payment_intents}. */
  void create(Context ctx) throws IOException {
    StripeParameters parameters = StripeQueries.body(ctx);
    parameters.onlyOf(CREATE);
    long amount = amount(parameters);
    boolean confirm = parameters.flag("confirm");
    String method = parameters.text("payment_method");
    if (confirm && method == null) {
      throw StripeError.invalid(
          "parameter_missing",
          "payment_method",
          "You cannot confirm this PaymentIntent because it's missing a payment method.");
    }
    onlyWithConfirm(parameters, confirm);
    String subject = intents.subject(parameters);
    String account = StripeQueries.account(ctx);
    String key = StripeQueries.key(ctx);
    Fault fault = fault(subject, method);
    counters.chargeCalls.increment();
    run(
        ctx,
        key,
        parameters,
        fault,
        scripted(method),
        () -> {
          long charged = fault == Fault.WRONG_AMOUNT ? amount + 1 : amount;
          StripeIntents.Held held = intents.create(parameters, subject, charged, key, account);
          StripeIntent intent =
              confirm && method != null
                  ? confirmed(held, method, parameters, subject, fault)
                  : held.intent();
          return StripeResponse.ok(StripeJson.intent(intent));
        });
  }

  /** {@code POST /v1/payment_intents/{id}/confirm}. */
  void confirm(Context ctx) throws IOException {
    StripeParameters parameters = StripeQueries.body(ctx);
    parameters.onlyOf(CONFIRM);
    StripeIntents.Held held = intents.find(ctx.pathParam("id"), StripeQueries.account(ctx));
    String subject = held.entry().charge().merchantTransactionId();
    String method =
        Objects.requireNonNullElse(
            parameters.text("payment_method"),
            Objects.requireNonNullElse(held.intent().paymentMethod(), ""));
    if (method.isEmpty()) {
      throw StripeError.invalid(
          "parameter_missing", "payment_method", "There is no payment method to confirm with.");
    }
    Fault fault = fault(subject, method);
    counters.chargeCalls.increment();
    run(
        ctx,
        StripeQueries.key(ctx),
        parameters,
        fault,
        scripted(method),
        () ->
            StripeResponse.ok(
                StripeJson.intent(confirmed(held, method, parameters, subject, fault))));
  }

  /** {@code POST /v1/payment_intents/{id}/cancel}. */
  void cancel(Context ctx) throws IOException {
    StripeParameters parameters = StripeQueries.body(ctx);
    parameters.onlyOf(Set.of("cancellation_reason", "expand"));
    String reason = parameters.text("cancellation_reason");
    if (reason != null && !REASONS.contains(reason)) {
      throw StripeError.invalid(null, "cancellation_reason", "Invalid cancellation_reason");
    }
    StripeIntents.Held held = intents.find(ctx.pathParam("id"), StripeQueries.account(ctx));
    run(
        ctx,
        StripeQueries.key(ctx),
        parameters,
        Fault.NONE,
        false,
        () -> StripeResponse.ok(StripeJson.intent(intents.cancel(held, reason))));
  }

  /** {@code GET /v1/payment_intents/{id}}. */
  void get(Context ctx) {
    StripeQueries.query(ctx).onlyOf(Set.of("expand", "client_secret"));
    StripeIntents.Held held = intents.find(ctx.pathParam("id"), StripeQueries.account(ctx));
    queries.answer(
        ctx,
        held.entry().charge().merchantTransactionId(),
        held.entry().transaction().numbers(),
        () -> StripeJson.intent(held.intent()));
  }

  /** {@code GET /v1/payment_intents}. */
  void list(Context ctx) {
    StripeParameters parameters = StripeQueries.query(ctx);
    parameters.onlyOf(LIST);
    String customer = parameters.text("customer");
    queries.list(
        ctx,
        "/v1/payment_intents",
        parameters,
        () ->
            intents.newestFirst(StripeQueries.account(ctx)).stream()
                .filter(held -> queries.isVisible(held.intent().created()))
                .filter(held -> StripeQueries.within(parameters, held.intent().created()))
                .filter(held -> customer == null || customer.equals(held.intent().customer()))
                .map(held -> StripeJson.intent(held.intent()))
                .toList());
  }

  /** {@code GET /v1/charges/{id}}. */
  void charge(Context ctx) {
    String id = ctx.pathParam("id");
    int end = id.lastIndexOf('_');
    StripeIntents.Held held =
        end < 0 || !id.startsWith("ch_") ? null : intents.find("pi_" + id.substring(3, end));
    if (held == null || !id.equals(held.intent().latestCharge())) {
      throw StripeError.missing("charge", id);
    }
    queries.answer(
        ctx,
        held.entry().charge().merchantTransactionId(),
        held.entry().transaction().numbers(),
        () -> chargeOf(held));
  }

  /** {@code GET /v1/payment_methods/{id}}. */
  void method(Context ctx) {
    String id = ctx.pathParam("id");
    if (!id.startsWith("pm_")) {
      throw StripeError.missing("payment_method", id);
    }
    Replies.send(ctx, StripeResponse.ok(StripeJson.card(id, config.clock().instant())));
  }

  /** The charge of an intent, with what was given back of it. */
  ObjectNode chargeOf(StripeIntents.Held held) {
    StripeIntent intent = held.intent();
    return StripeJson.charge(
        intent, StripeUnits.amount(refunds.given(intent.id()), intent.currency()));
  }

  private static long amount(StripeParameters parameters) {
    Long amount = parameters.number("amount");
    String currency = parameters.text("currency");
    if (amount == null || currency == null) {
      String missing = amount == null ? "amount" : "currency";
      throw StripeError.invalid(
          "parameter_missing", missing, "Missing required param: " + missing + ".");
    }
    StripeUnits.check(amount, StripeUnits.lower(currency));
    return amount;
  }

  private static void onlyWithConfirm(StripeParameters parameters, boolean confirm) {
    for (String name : List.of("off_session", "error_on_requires_action")) {
      if (parameters.flag(name) && !confirm) {
        throw StripeError.invalid(
            null, name, "The parameter `" + name + "` can only be used with confirm=true.");
      }
    }
  }

  private StripeIntent confirmed(
      StripeIntents.Held held,
      String method,
      StripeParameters parameters,
      String subject,
      Fault fault) {
    if (method.equals("pm_card_authenticationRequired")) {
      if (!parameters.flag("off_session") && !parameters.flag("error_on_requires_action")) {
        return intents.requireAction(held, method);
      }
      return intents.confirm(
          held, method, Outcome.DECLINED, StripeFailure.authenticationRequired());
    }
    StripeFailure failure = failure(method);
    return intents.confirm(
        held,
        method,
        outcome(method, subject, fault),
        failure == null ? StripeFailure.declined("insufficient_funds") : failure);
  }

  private Outcome outcome(String method, String subject, Fault fault) {
    return switch (fault) {
      case DECLINE -> Outcome.DECLINED;
      case PENDING -> Outcome.PENDING_THEN_SUCCEEDED;
      case PENDING_THEN_FAILED -> Outcome.PENDING_THEN_FAILED;
      default -> {
        if (failure(method) != null) {
          yield Outcome.DECLINED;
        }
        yield switch (method) {
          case "pm_usBankAccount_success", "pm_usBankAccount_processing" ->
              Outcome.PENDING_THEN_SUCCEEDED;
          case "pm_usBankAccount_insufficientFunds" -> Outcome.PENDING_THEN_FAILED;
          default ->
              scripted(method)
                  ? Outcome.SUCCEEDED
                  : plan.outcome(subject, ledger.transaction(subject).charges().size());
        };
      }
    };
  }

  /** Stripe's payment methods for tests that are declined. */
  private static @Nullable StripeFailure failure(String method) {
    return switch (method) {
      case "pm_card_visa_chargeDeclined", "pm_card_chargeDeclined" ->
          StripeFailure.declined("generic_decline");
      case "pm_card_visa_chargeDeclinedInsufficientFunds",
          "pm_card_chargeDeclinedInsufficientFunds" ->
          StripeFailure.declined("insufficient_funds");
      case "pm_card_visa_chargeDeclinedLostCard", "pm_card_chargeDeclinedLostCard" ->
          StripeFailure.declined("lost_card");
      case "pm_card_chargeDeclinedExpiredCard" ->
          new StripeFailure("expired_card", null, "Your card has expired.");
      default -> null;
    };
  }

  /** Is it one that means something here, whatever the seed says? */
  private static boolean scripted(@Nullable String method) {
    return method != null && ChargeApi.isSpecial(method);
  }

  private Fault fault(String subject, @Nullable String method) {
    if (method != null && (!method.startsWith("pm_") || method.equals("pm_missing"))) {
      throw StripeError.invalid(
          "resource_missing", "payment_method", "No such PaymentMethod: '" + method + "'");
    }
    int number = ledger.transaction(subject).numbers().nextCall();
    Fault scripted = scripts.next(subject);
    if (scripted != null) {
      return scripted;
    }
    Fault special = ChargeApi.special(method, number, config);
    return special == null ? plan.call(subject, number) : special;
  }

  private void run(
      Context ctx,
      String key,
      StripeParameters parameters,
      Fault fault,
      boolean ofMethod,
      Supplier<Response> work) {
    calls.run(
        new MoneyCalls.Call(
            ctx,
            key,
            StripeQueries.fingerprint(parameters),
            fault,
            !ofMethod,
            () -> StripeQueries.answered(work)));
  }
}

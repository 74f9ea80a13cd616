package io.payrelay.simulator;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.payrelay.simulator.stripe.StripeError;
import io.payrelay.simulator.stripe.StripeFailure;
import io.payrelay.simulator.stripe.StripeIntent;
import io.payrelay.simulator.stripe.StripeJson;
import io.payrelay.simulator.stripe.StripeParameters;
import io.payrelay.simulator.stripe.StripeUnits;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * Payment intents and what becomes of them. Their money is in the common ledger: there an intent
 * that can still be paid is pending. Thread-safe: each intent is guarded by itself.
 */
final class StripeIntents {
  /** Our client's payment id on an intent: what the ledger and the faults know it by. */
  static final String PAYMENT_ID = "payrelay_payment_id";

  private static final Set<String> CANCELABLE =
      Set.of(
          StripeIntent.REQUIRES_PAYMENT_METHOD,
          StripeIntent.REQUIRES_CONFIRMATION,
          StripeIntent.REQUIRES_ACTION);

  private final SimulatorConfig config;
  private final Ledger ledger;
  private final WebhookSender webhooks;
  private final DelayedTasks tasks;
  private final Map<String, Held> byId = new ConcurrentHashMap<>();
  private final List<Held> inOrder = new ArrayList<>();
  private final AtomicInteger unnamed = new AtomicInteger();

  /** An intent and its place in the ledger. */
  static final class Held {
    private final Ledger.Entry entry;
    private volatile StripeIntent intent;

    private Held(Ledger.Entry entry, StripeIntent intent) {
      this.entry = entry;
      this.intent = intent;
    }

    Ledger.Entry entry() {
      return entry;
    }

    StripeIntent intent() {
      return intent;
    }
  }

  StripeIntents(SimulatorConfig config, Ledger ledger, WebhookSender webhooks, DelayedTasks tasks) {
    this.config = config;
    this.ledger = ledger;
    this.webhooks = webhooks;
    this.tasks = tasks;
  }

  /** The client's own id of what the parameters order; one of ours where they name none. */
  String subject(StripeParameters parameters) {
    String named = parameters.map("metadata").get(PAYMENT_ID);
    return named == null || named.isEmpty() ? "unnamed_" + unnamed.incrementAndGet() : named;
  }

  /** Makes an intent that waits to be confirmed. */
  Held create(
      StripeParameters parameters,
      String subject,
      long amount,
      String key,
      @Nullable String account) {
    String currency = StripeUnits.lower(Objects.requireNonNull(parameters.text("currency")));
    String destination = parameters.text("transfer_data[destination]");
    Ledger.Entry entry =
        ledger.create(
            "pi_",
            new ChargeRequest(
                subject,
                StripeUnits.minor(amount, currency),
                StripeUnits.upper(currency),
                destination == null ? account : destination,
                null),
            StripeUnits.minor(amount, currency),
            ChargeStatus.PENDING,
            null,
            key,
            config.clock().instant());
    Charge charge = entry.charge();
    String method = parameters.text("payment_method");
    Held held =
        new Held(
            entry,
            new StripeIntent(
                charge.id(),
                method == null
                    ? StripeIntent.REQUIRES_PAYMENT_METHOD
                    : StripeIntent.REQUIRES_CONFIRMATION,
                amount,
                0,
                currency,
                parameters.text("customer"),
                method,
                parameters.text("description"),
                parameters.map("metadata"),
                0,
                null,
                null,
                null,
                account,
                destination,
                charge.createdAt()));
    byId.put(charge.id(), held);
    synchronized (inOrder) {
      inOrder.add(held);
    }
    return held;
  }

  /** The account's intent with that id. */
  Held find(String id, @Nullable String account) {
    Held held = byId.get(id);
    if (held == null || !Objects.equals(held.intent().account(), account)) {
      throw StripeError.missing("payment_intent", id);
    }
    return held;
  }

  @Nullable Held find(String id) {
    return byId.get(id);
  }

  /** All of an account, the newest first. */
  List<Held> newestFirst(@Nullable String account) {
    List<Held> found = new ArrayList<>();
    synchronized (inOrder) {
      for (int i = inOrder.size() - 1; i >= 0; i--) {
        Held held = inOrder.get(i);
        if (Objects.equals(held.intent().account(), account)) {
          found.add(held);
        }
      }
    }
    return found;
  }

  /**
   * Tries to get the money.
   *
   * @param failure why a declined try fails
   * @throws StripeError where it is declined, or cannot be tried
   */
  StripeIntent confirm(Held held, String method, Outcome outcome, StripeFailure failure) {
    synchronized (held) {
      if (!CANCELABLE.contains(held.intent().status())) {
        throw StripeError.unexpectedState(held.intent());
      }
      StripeIntent tried = held.intent().tried(method);
      switch (outcome) {
        case SUCCEEDED -> succeed(held, tried);
        case DECLINED -> {
          fail(held, tried, failure);
          throw StripeError.declined(failure, held.intent());
        }
        case PENDING_THEN_SUCCEEDED, PENDING_THEN_FAILED -> {
          held.intent = tried.in(StripeIntent.PROCESSING, 0, null);
          publish(held, "payment_intent.processing");
          tasks.after(config.pendingSettleDelay(), () -> settle(held, outcome, failure));
        }
      }
      return held.intent();
    }
  }

  /** Waits for the customer. */
  StripeIntent requireAction(Held held, String method) {
    synchronized (held) {
      held.intent = held.intent().tried(method).in(StripeIntent.REQUIRES_ACTION, 0, null);
      publish(held, "payment_intent.requires_action");
      return held.intent();
    }
  }

  /** Ends an intent that was not paid. */
  StripeIntent cancel(Held held, @Nullable String reason) {
    synchronized (held) {
      if (!CANCELABLE.contains(held.intent().status())
          || held.entry().settle(ChargeStatus.CANCELED, null) == null) {
        throw StripeError.unexpectedState(held.intent());
      }
      held.intent = held.intent().canceled(reason, config.clock().instant());
      publish(held, "payment_intent.canceled");
      return held.intent();
    }
  }

  /** Tells of something else that happened to the intent's money. */
  void publish(Held held, String type, ObjectNode changed) {
    publish(held.entry(), held.intent().account(), type, changed);
  }

  private void settle(Held held, Outcome outcome, StripeFailure failure) {
    synchronized (held) {
      if (!held.intent().status().equals(StripeIntent.PROCESSING)) {
        return;
      }
      if (outcome == Outcome.PENDING_THEN_SUCCEEDED) {
        succeed(held, held.intent());
      } else {
        fail(held, held.intent(), failure);
      }
    }
  }

  private void succeed(Held held, StripeIntent tried) {
    if (held.entry().settle(ChargeStatus.SUCCEEDED, null) == null) {
      throw new IllegalStateException("an intent that was open is not open in the ledger");
    }
    held.intent = tried.in(StripeIntent.SUCCEEDED, tried.amount(), null);
    publish(held, "payment_intent.succeeded");
    publish(held, "charge.succeeded", StripeJson.charge(held.intent(), 0));
  }

  private void fail(Held held, StripeIntent tried, StripeFailure failure) {
    held.intent = tried.in(StripeIntent.REQUIRES_PAYMENT_METHOD, 0, failure);
    publish(held, "payment_intent.payment_failed");
    publish(held, "charge.failed", StripeJson.charge(held.intent(), 0));
  }

  private void publish(Held held, String type) {
    publish(held, type, StripeJson.intent(held.intent()));
  }

  private void publish(
      Ledger.Entry entry, @Nullable String account, String type, ObjectNode changed) {
    WebhookEvent event = entry.addEvent(id -> event(id, type, account, changed));
    webhooks.publish(entry.charge().merchantTransactionId(), entry.transaction().numbers(), event);
  }

  /** An event that holds the object as it is now. */
  WebhookEvent event(String id, String type, @Nullable String account, ObjectNode changed) {
    return new WebhookEvent(
        Face.STRIPE,
        id,
        type,
        config.clock().instant(),
        told ->
            StripeJson.bytes(
                StripeJson.event(told.id(), told.type(), told.at(), account, changed)));
  }
}

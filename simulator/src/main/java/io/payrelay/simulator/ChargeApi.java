package io.payrelay.simulator;

import io.javalin.http.Context;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * {@code POST /v1/charges}: the call that moves money, and everything that can go wrong around it.
 * Thread-safe.
 */
final class ChargeApi {
  private static final int BODY_BYTES_MAX = 64 * 1024;
  private static final int KEY_LENGTH_MAX = 255;
  private static final String INSUFFICIENT_FUNDS = "insufficient_funds";
  private static final byte[] PROXY_PAGE =
      "<html><head><title>502 Bad Gateway</title></head><body><h1>502 Bad Gateway</h1></body></html>"
          .getBytes(StandardCharsets.UTF_8);

  private final SimulatorConfig config;
  private final FaultPlan plan;
  private final Scripts<Fault> scripts;
  private final Ledger ledger;
  private final IdempotencyKeys keys;
  private final WebhookSender webhooks;
  private final Connections connections;
  private final DelayedTasks tasks;
  private final Replies replies;
  private final Counters counters;

  /** One call that passed validation, with what is going to happen to it. */
  private record Call(
      Context ctx,
      String key,
      ChargeRequest request,
      Ledger.MerchantTransaction transaction,
      Fault fault,
      boolean seededOutcome) {}

  ChargeApi(
      SimulatorConfig config,
      FaultPlan plan,
      Scripts<Fault> scripts,
      Ledger ledger,
      WebhookSender webhooks,
      Connections connections,
      DelayedTasks tasks,
      Replies replies,
      Counters counters) {
    this.config = config;
    this.plan = plan;
    this.scripts = scripts;
    this.ledger = ledger;
    keys = new IdempotencyKeys(config.keyLife(), config.clock());
    this.webhooks = webhooks;
    this.connections = connections;
    this.tasks = tasks;
    this.replies = replies;
    this.counters = counters;
  }

  void create(Context ctx) throws IOException {
    String key = key(ctx);
    byte[] body = body(ctx);
    Call call = call(ctx, key, ChargeRequest.parse(body));
    counters.chargeCalls.increment();
    switch (call.fault()) {
      case RESET_BEFORE, NOT_PROCESSED, RATE_LIMITED -> replies.later(ctx, () -> refuse(call));
      default -> claim(call, body);
    }
  }

  private static String key(Context ctx) {
    String key = ctx.header("Idempotency-Key");
    if (key == null || key.isBlank()) {
      throw InvalidRequestException.badRequest(
          "idempotency_key_missing", "the header Idempotency-Key is required");
    }
    if (key.length() > KEY_LENGTH_MAX) {
      throw InvalidRequestException.badRequest(
          "idempotency_key_invalid",
          "the header Idempotency-Key is longer than " + KEY_LENGTH_MAX + " characters");
    }
    return key;
  }

  private static byte[] body(Context ctx) throws IOException {
    byte[] body = ctx.req().getInputStream().readNBytes(BODY_BYTES_MAX + 1);
    if (body.length > BODY_BYTES_MAX) {
      throw new InvalidRequestException(
          413, "body_too_large", "the body is larger than " + BODY_BYTES_MAX + " bytes");
    }
    return body;
  }

  /** A script goes before a special payment method, that before the seeded plan. */
  private Call call(Context ctx, String key, ChargeRequest request) {
    String id = request.merchantTransactionId();
    Ledger.MerchantTransaction transaction = ledger.transaction(id);
    int number = transaction.nextCall();
    Fault ordered = scripts.next(id);
    if (ordered == null) {
      ordered = specialPaymentMethod(request.paymentMethod(), number);
    }
    Fault fault = ordered == null ? plan.call(id, number) : ordered;
    return new Call(ctx, key, request, transaction, fault, ordered == null);
  }

  private @Nullable Fault specialPaymentMethod(@Nullable String paymentMethod, int callNumber) {
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
      case "pm_timeout_after" -> callNumber == 1 ? Fault.TIMEOUT_AFTER : Fault.NONE;
      case "pm_503" -> callNumber <= config.notProcessedTimes() ? Fault.NOT_PROCESSED : Fault.NONE;
      default -> null;
    };
  }

  private CompletableFuture<Void> refuse(Call call) {
    counters.count(call.fault());
    switch (call.fault()) {
      case RATE_LIMITED -> {
        call.ctx().header("Retry-After", "1");
        Replies.send(call.ctx(), Answer.error(429, "rate_limited"));
      }
      case NOT_PROCESSED -> Replies.send(call.ctx(), Answer.error(503, "not_processed"));
      default -> Connections.reset(call.ctx().req());
    }
    return Replies.done();
  }

  private void claim(Call call, byte[] body) {
    IdempotencyKeys.Claim claim = keys.claim(call.key(), body);
    switch (claim.state()) {
      case CLAIMED -> {
        // The money moves at the end of the delay: until then the key is in use and a query finds
        // nothing.
        Duration extra = call.fault() == Fault.SLOW ? config.slowDelay() : Duration.ZERO;
        replies.later(call.ctx(), extra, () -> executeAndDeliver(call, claim.entry()));
      }
      case COMPLETED -> replies.later(call.ctx(), () -> replay(call, claim));
      case IN_USE -> answerLater(call, Answer.error(409, "idempotency_key_in_use"));
      case MISMATCH -> answerLater(call, Answer.error(422, "idempotency_mismatch"));
    }
  }

  private void answerLater(Call call, Answer answer) {
    replies.later(
        call.ctx(),
        () -> {
          Replies.send(call.ctx(), answer);
          return Replies.done();
        });
  }

  private CompletableFuture<Void> replay(Call call, IdempotencyKeys.Claim claim) {
    counters.replays.increment();
    call.ctx().header("Idempotent-Replayed", "true");
    Answer stored = claim.answer();
    if (stored == null) {
      throw new IllegalStateException("a completed key has an answer");
    }
    return deliver(call, stored);
  }

  private CompletableFuture<Void> executeAndDeliver(Call call, IdempotencyKeys.Entry key) {
    boolean executed = false;
    Answer answer;
    try {
      answer = execute(call);
      key.complete(answer);
      executed = true;
    } finally {
      if (!executed) {
        keys.abandon(call.key(), key);
      }
    }
    return deliver(call, answer);
  }

  private Answer execute(Call call) {
    Fault fault = call.fault();
    Outcome outcome = outcome(call);
    ChargeRequest request = call.request();
    switch (fault) {
      case SLOW, DECLINE, PENDING, PENDING_THEN_FAILED, WRONG_AMOUNT, ERROR_500_AFTER ->
          counters.count(fault);
      default -> {
        // The others take effect on delivery and are counted there.
      }
    }
    Ledger.Entry entry =
        ledger.create(
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
    if (fault == Fault.ERROR_500_AFTER) {
      return Answer.error(500, "api_error");
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
          call.seededOutcome()
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

  /** The charge is in the ledger; what reaches the client is another matter. */
  private CompletableFuture<Void> deliver(Call call, Answer answer) {
    Context ctx = call.ctx();
    switch (call.fault()) {
      case RESET_AFTER -> {
        counters.count(Fault.RESET_AFTER);
        Connections.reset(ctx.req());
      }
      case TIMEOUT_AFTER -> {
        counters.count(Fault.TIMEOUT_AFTER);
        return connections.hang(ctx.req());
      }
      case TRUNCATED_BODY -> {
        counters.count(Fault.TRUNCATED_BODY);
        byte[] body = answer.body();
        Replies.send(ctx, 200, Arrays.copyOf(body, body.length / 2));
      }
      case HTML_502_AFTER -> {
        counters.count(Fault.HTML_502_AFTER);
        // The proxy does not know the provider's headers.
        ctx.removeHeader("Idempotent-Replayed");
        ctx.status(502).contentType("text/html").result(PROXY_PAGE);
      }
      default -> Replies.send(ctx, answer);
    }
    return Replies.done();
  }
}

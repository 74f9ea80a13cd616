package io.payrelay.simulator;

import io.javalin.http.Context;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;

/**
 * Calls that move money, whatever they order: the key that makes them happen once, and everything
 * that can go wrong around them. One of these for each face. Thread-safe.
 */
final class MoneyCalls {
  private static final byte[] PROXY_PAGE =
      "<html><head><title>502 Bad Gateway</title></head><body><h1>502 Bad Gateway</h1></body></html>"
          .getBytes(StandardCharsets.UTF_8);

  private final SimulatorConfig config;
  private final IdempotencyKeys keys;
  private final Connections connections;
  private final Replies replies;
  private final Counters counters;
  private final Refusals refusals;

  /**
   * How a face says that it did not execute a call, or hides that it did.
   *
   * @param internalError what is stored under the key of an executed call
   */
  record Refusals(
      Response rateLimited,
      Response notProcessed,
      Response keyInUse,
      Response keyMismatch,
      Response internalError) {}

  /**
   * One call that passed validation, with what is going to happen to it.
   *
   * @param spoilsReplay whether the fault also strikes the replay of an executed call
   * @param work moves the money and says so; called at most once
   */
  record Call(
      Context ctx,
      String key,
      byte[] body,
      Fault fault,
      boolean spoilsReplay,
      Supplier<Response> work) {}

  MoneyCalls(
      SimulatorConfig config,
      Connections connections,
      Replies replies,
      Counters counters,
      Refusals refusals) {
    this.config = config;
    keys = new IdempotencyKeys(config.keyLife(), config.clock());
    this.connections = connections;
    this.replies = replies;
    this.counters = counters;
    this.refusals = refusals;
  }

  void run(Call call) {
    switch (call.fault()) {
      case RESET_BEFORE, NOT_PROCESSED, RATE_LIMITED ->
          replies.later(call.ctx(), () -> refuse(call));
      default -> claim(call);
    }
  }

  private CompletableFuture<Void> refuse(Call call) {
    counters.count(call.fault());
    switch (call.fault()) {
      case RATE_LIMITED -> {
        call.ctx().header("Retry-After", "1");
        Replies.send(call.ctx(), refusals.rateLimited());
      }
      case NOT_PROCESSED -> Replies.send(call.ctx(), refusals.notProcessed());
      default -> Connections.reset(call.ctx().req());
    }
    return Replies.done();
  }

  private void claim(Call call) {
    IdempotencyKeys.Claim claim = keys.claim(call.key(), fingerprint(call));
    switch (claim.state()) {
      case CLAIMED -> {
        // The money moves at the end of the delay: until then the key is in use and a query finds
        // nothing.
        Duration extra = call.fault() == Fault.SLOW ? config.slowDelay() : Duration.ZERO;
        replies.later(call.ctx(), extra, () -> executeAndDeliver(call, claim.entry()));
      }
      case COMPLETED -> replies.later(call.ctx(), () -> replay(call, claim));
      case IN_USE -> answerLater(call, refusals.keyInUse());
      case MISMATCH -> answerLater(call, refusals.keyMismatch());
    }
  }

  /** A key belongs to its endpoint: at another one the same bytes order something else. */
  private static byte[] fingerprint(Call call) {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    bytes.writeBytes((call.ctx().path() + "\n").getBytes(StandardCharsets.UTF_8));
    bytes.writeBytes(call.body());
    return bytes.toByteArray();
  }

  private void answerLater(Call call, Response answer) {
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
    Response stored = claim.answer();
    if (stored == null) {
      throw new IllegalStateException("a completed key has an answer");
    }
    return deliver(call.ctx(), call.spoilsReplay() ? call.fault() : Fault.NONE, stored);
  }

  private CompletableFuture<Void> executeAndDeliver(Call call, IdempotencyKeys.Entry key) {
    boolean executed = false;
    Response answer;
    try {
      answer = execute(call);
      key.complete(answer);
      executed = true;
    } finally {
      if (!executed) {
        keys.abandon(call.key(), key);
      }
    }
    return deliver(call.ctx(), call.fault(), answer);
  }

  private Response execute(Call call) {
    switch (call.fault()) {
      case SLOW,
          DECLINE,
          PENDING,
          PENDING_THEN_FAILED,
          SUCCEEDED_THEN_FAILED,
          WRONG_AMOUNT,
          ERROR_500_AFTER ->
          counters.count(call.fault());
      default -> {
        // The others take effect on delivery and are counted there.
      }
    }
    Response answer = call.work().get();
    return call.fault() == Fault.ERROR_500_AFTER ? refusals.internalError() : answer;
  }

  /** The money is in the ledger; what reaches the client is another matter. */
  private CompletableFuture<Void> deliver(Context ctx, Fault fault, Response answer) {
    switch (fault) {
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

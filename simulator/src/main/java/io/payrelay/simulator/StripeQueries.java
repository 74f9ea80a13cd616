package io.payrelay.simulator;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.javalin.http.Context;
import io.payrelay.simulator.stripe.StripeError;
import io.payrelay.simulator.stripe.StripeJson;
import io.payrelay.simulator.stripe.StripeParameters;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** What all calls of the Stripe face read alike, and its lists and look-ups. Thread-safe. */
final class StripeQueries {
  private static final int LIMIT = 10;
  private static final int LIMIT_MAX = 100;
  private static final String FORM = "application/x-www-form-urlencoded";

  private final QueryApi queries;
  private final Replies replies;
  private final AtomicInteger lists = new AtomicInteger();

  StripeQueries(QueryApi queries, Replies replies) {
    this.queries = queries;
    this.replies = replies;
  }

  /** The parameters of a POST. */
  static StripeParameters body(Context ctx) throws IOException {
    String type = ctx.contentType();
    byte[] body = Requests.body(ctx);
    if (body.length > 0 && (type == null || !type.startsWith(FORM))) {
      throw StripeError.invalid(null, null, "The body has to be " + FORM + ".");
    }
    return StripeParameters.parse(new String(body, StandardCharsets.UTF_8));
  }

  /** The parameters of a GET. */
  static StripeParameters query(Context ctx) {
    String query = ctx.queryString();
    return StripeParameters.parse(query == null ? "" : query);
  }

  /** The key; a POST without one is never the same as another. */
  static String key(Context ctx) {
    String key = ctx.header("Idempotency-Key");
    if (key != null && key.length() > 255) {
      throw StripeError.invalid(null, null, "Idempotency keys have at most 255 characters.");
    }
    return key == null || key.isBlank() ? "none-" + UUID.randomUUID() : key;
  }

  /** The connected account that the call is made for; null: the key's own. */
  static @Nullable String account(Context ctx) {
    String account = ctx.header("Stripe-Account");
    return account == null || account.isEmpty() ? null : account;
  }

  static byte[] fingerprint(StripeParameters parameters) {
    return parameters.canonical().getBytes(StandardCharsets.UTF_8);
  }

  /** The work's answer; what it refuses is an answer as well, and kept under the key. */
  static Response answered(Supplier<Response> work) {
    try {
      return work.get();
    } catch (StripeError e) {
      return StripeResponse.of(e);
    }
  }

  /** Is the instant within {@code created[gte]} and its kind? */
  static boolean within(StripeParameters parameters, Instant created) {
    long seconds = created.getEpochSecond();
    for (Map.Entry<String, String> bound : parameters.map("created").entrySet()) {
      Long limit = parameters.number("created[" + bound.getKey() + "]");
      if (limit != null && !holds(seconds, bound.getKey(), limit)) {
        return false;
      }
    }
    Long exactly = parameters.number("created");
    return exactly == null || exactly == seconds;
  }

  boolean isVisible(Instant created) {
    return queries.isVisible(created);
  }

  /** Answers with one object, unless a fault strikes. */
  void answer(Context ctx, String subject, CallNumbers numbers, Supplier<ObjectNode> object) {
    QueryFault fault = queries.fault(subject, numbers);
    replies.later(
        ctx,
        () -> queries.answer(ctx, fault, () -> Replies.send(ctx, StripeResponse.ok(object.get()))));
  }

  /** Answers with one page of a list, the newest first, unless a fault strikes. */
  void list(Context ctx, String url, StripeParameters parameters, Supplier<List<ObjectNode>> all) {
    int limit = limit(parameters);
    QueryFault fault = queries.fault("list_" + lists.incrementAndGet(), new CallNumbers());
    replies.later(
        ctx,
        () ->
            queries.answer(
                ctx,
                fault,
                () ->
                    Replies.send(
                        ctx,
                        answered(
                            () -> StripeResponse.ok(page(url, parameters, limit, all.get()))))));
  }

  private static ObjectNode page(
      String url, StripeParameters parameters, int limit, List<ObjectNode> all) {
    String after = parameters.text("starting_after");
    String before = parameters.text("ending_before");
    int from = after == null ? 0 : place(all, after, "starting_after") + 1;
    int to = Math.min(all.size(), from + limit);
    boolean more = to < all.size();
    if (before != null) {
      to = place(all, before, "ending_before");
      from = Math.max(0, to - limit);
      more = from > 0;
    }
    return StripeJson.list(url, all.subList(from, to), more);
  }

  private static int place(List<ObjectNode> all, String id, String param) {
    for (int i = 0; i < all.size(); i++) {
      if (all.get(i).path("id").asText().equals(id)) {
        return i;
      }
    }
    throw StripeError.invalid("resource_missing", param, "No such object: '" + id + "'");
  }

  private static int limit(StripeParameters parameters) {
    Long limit = parameters.number("limit");
    if (limit == null) {
      return LIMIT;
    }
    if (limit < 1 || limit > LIMIT_MAX) {
      throw StripeError.invalid(
          "parameter_invalid_integer", "limit", "limit has to be 1 to " + LIMIT_MAX + ".");
    }
    return limit.intValue();
  }

  private static boolean holds(long seconds, String bound, long limit) {
    return switch (bound) {
      case "gt" -> seconds > limit;
      case "gte" -> seconds >= limit;
      case "lt" -> seconds < limit;
      case "lte" -> seconds <= limit;
      default ->
          throw StripeError.invalid(
              "parameter_unknown", "created[" + bound + "]", "Received unknown parameter.");
    };
  }
}

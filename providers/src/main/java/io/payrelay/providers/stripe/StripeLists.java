package io.payrelay.providers.stripe;

import com.fasterxml.jackson.databind.JsonNode;
import io.payrelay.providers.ChargeRef;
import io.payrelay.providers.ProviderAnswer;
import io.payrelay.providers.ProviderResult;
import io.payrelay.providers.ProviderResult.NotFound;
import io.payrelay.providers.ProviderResult.Pending;
import io.payrelay.providers.ProviderResult.Succeeded;
import io.payrelay.providers.ProviderResult.Unknown;
import io.payrelay.providers.http.AnswerReader;
import io.payrelay.providers.http.HttpAnswer;
import io.payrelay.providers.http.ProviderHttp;
import io.payrelay.providers.stripe.StripeClassifier.Reading;
import java.net.URI;
import java.net.http.HttpRequest;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Finds by a list what has our id in its metadata. A list and not the search: what was just made
 * can be missing from that for an hour. All pages are read, newest first, up to a limit; behind the
 * limit nothing is called missing. Safe for any thread.
 */
final class StripeLists {

  static final int PAGE_BYTES_MAX = 2 << 20;
  static final int PAGE_SIZE = 100;

  /** Stripe's clock and ours. */
  private static final Duration SKEW = Duration.ofMinutes(5);

  /** From when a call is begun until Stripe may make an object for it: far more than it takes. */
  private static final Duration LATE = Duration.ofHours(1);

  /** What is left of a deadline that is over: the call then fails in its own way. */
  private static final Duration LEAST = Duration.ofMillis(1);

  private final ProviderHttp http;
  private final StripeClassifier classifier;
  private final InstantSource clock;
  private final int pagesMax;
  private final Function<URI, HttpRequest.Builder> requests;

  /** What was found, and the answer as it is to be kept: of a page only what is ours. */
  record Found(Reading reading, ProviderAnswer answer) {}

  /** One look-up, through all its pages. */
  private record Search(
      String url,
      String query,
      long deadlineNs,
      Predicate<JsonNode> ours,
      Function<JsonNode, Reading> read,
      List<JsonNode> matches) {}

  /** One page: either read, or what was answered instead. */
  private record Page(@Nullable JsonNode body, @Nullable Found instead) {}

  StripeLists(
      ProviderHttp http,
      StripeClassifier classifier,
      InstantSource clock,
      int pagesMax,
      Function<URI, HttpRequest.Builder> requests) {
    this.http = http;
    this.classifier = classifier;
    this.clock = clock;
    this.pagesMax = pagesMax;
    this.requests = requests;
  }

  /**
   * When a charge can have been made: newer objects would only push it behind the last page that is
   * read.
   */
  static StripeForm made(ChargeRef charge, Instant now) {
    StripeForm form =
        new StripeForm().put("created[gte]", charge.notBefore().minus(SKEW).getEpochSecond());
    Duration sinceLastCall = charge.sinceLastCall();
    return sinceLastCall == null
        ? form
        : form.put("created[lte]", now.minus(sinceLastCall).plus(LATE).getEpochSecond());
  }

  static Duration left(long deadlineNs) {
    Duration left = Duration.ofNanos(deadlineNs - System.nanoTime());
    return left.compareTo(LEAST) < 0 ? LEAST : left;
  }

  CompletableFuture<Found> matching(
      String url,
      StripeForm filter,
      long deadlineNs,
      Predicate<JsonNode> ours,
      Function<JsonNode, Reading> read) {
    String query = filter.put("limit", PAGE_SIZE).text();
    return next(new Search(url, query, deadlineNs, ours, read, new ArrayList<>()), null, 1);
  }

  private CompletableFuture<Found> next(Search search, @Nullable String after, int number) {
    String more = after == null ? "" : "&starting_after=" + StripeForm.encode(after);
    return http.ask(
            requests.apply(URI.create(search.url() + "?" + search.query() + more)).GET(),
            left(search.deadlineNs()),
            this::page,
            none -> new Page(null, new Found(new Reading(none.result()), none)))
        .thenCompose(page -> continued(search, page, number));
  }

  private Page page(HttpAnswer answer) {
    JsonNode body = AnswerReader.json(answer, PAGE_BYTES_MAX);
    ProviderResult instead = classifier.notAPage(answer, body, clock.instant());
    return instead == null
        ? new Page(body, null)
        : new Page(
            null,
            new Found(
                new Reading(instead),
                new ProviderAnswer(instead, answer.status(), answer.keptBody())));
  }

  private CompletableFuture<Found> continued(Search search, Page page, int number) {
    JsonNode body = page.body();
    if (body == null) {
      Found instead = page.instead();
      if (!search.matches().isEmpty()) {
        // What was found stays true, whatever became of the next page.
        return CompletableFuture.completedFuture(found(search));
      }
      return CompletableFuture.completedFuture(
          instead == null ? unread("a page without a body") : instead);
    }
    String last = null;
    for (JsonNode item : body.path("data")) {
      last = AnswerReader.id(item.path("id"));
      if (search.ours().test(item)) {
        search.matches().add(item);
      }
    }
    if (!body.path("has_more").booleanValue()) {
      return CompletableFuture.completedFuture(found(search));
    }
    if (last == null) {
      return CompletableFuture.completedFuture(
          unread("a page that says there are more, without any"));
    }
    if (number >= pagesMax) {
      return CompletableFuture.completedFuture(
          search.matches().isEmpty()
              ? unread("not among the newest " + pagesMax * PAGE_SIZE + " objects")
              : found(search));
    }
    return next(search, last, number + 1);
  }

  /** Each that moved money; else the one that may still; else one that did not. */
  private static Found found(Search search) {
    List<Reading> readings = search.matches().stream().map(search.read()).toList();
    byte[] kept =
        search.matches().stream()
            .map(JsonNode::toString)
            .collect(Collectors.joining(",", "[", "]"))
            .getBytes(StandardCharsets.UTF_8);
    byte[] body =
        kept.length > ProviderAnswer.BODY_BYTES_MAX
            ? Arrays.copyOf(kept, ProviderAnswer.BODY_BYTES_MAX)
            : kept;
    if (readings.isEmpty()) {
      NotFound none = new NotFound();
      return new Found(new Reading(none), new ProviderAnswer(none, 200, body));
    }
    List<ProviderResult> paid =
        readings.stream().map(Reading::result).filter(Succeeded.class::isInstance).toList();
    Reading first = counts(readings);
    List<ProviderResult> further =
        first.result() instanceof Succeeded && paid.size() > 1
            ? paid.subList(1, paid.size())
            : List.of();
    return new Found(first, new ProviderAnswer(first.result(), further, 200, body));
  }

  private static Reading counts(List<Reading> readings) {
    // One that cannot be read may be the one that moved money.
    for (Class<?> kind : List.of(Unknown.class, Succeeded.class, Pending.class)) {
      for (Reading reading : readings) {
        if (kind.isInstance(reading.result())) {
          return reading;
        }
      }
    }
    // A declined one that can still be paid is cancelled before it counts.
    return readings.stream()
        .filter(reading -> reading.payable() != null)
        .findFirst()
        .orElse(readings.get(0));
  }

  private static Found unread(String why) {
    Unknown unknown = new Unknown(why);
    return new Found(new Reading(unknown), ProviderAnswer.without(unknown));
  }
}

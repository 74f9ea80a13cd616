package io.payrelay.providers.stripe;

import com.fasterxml.jackson.databind.JsonNode;
import io.payrelay.payments.money.Money;
import io.payrelay.providers.ProviderAnswer;
import io.payrelay.providers.ProviderRefund;
import io.payrelay.providers.ProviderRefund.Status;
import io.payrelay.providers.ProviderResult.Succeeded;
import io.payrelay.providers.http.AnswerReader;
import io.payrelay.providers.http.HttpAnswer;
import io.payrelay.providers.http.ProviderHttp;
import java.net.URI;
import java.net.http.HttpRequest;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The refunds of what a query found paid: an intent itself says {@code succeeded} though all of it
 * was given back. They are read by one further call, the newest 100. What of it is not answered
 * within the query's deadline, is refused or cannot be read, is not learnt here: the charge counts
 * all the same, and the refund's webhook tells of it.
 *
 * <p>The charge of the intent is not expanded to see whether there are any. A restricted key needs
 * a permission for each object that it expands, so that a key without it could not query at all any
 * more; and a page of a list would be twice as large. Safe for any thread.
 */
final class StripeRefunds {

  private static final Logger log = LoggerFactory.getLogger(StripeRefunds.class);

  /** Of a payment that was charged by more intents than that a person has to see to each. */
  private static final int INTENTS_MAX = 3;

  private final ProviderHttp http;
  private final StripeClassifier classifier;
  private final InstantSource clock;
  private final String url;
  private final Function<URI, HttpRequest.Builder> requests;

  StripeRefunds(
      ProviderHttp http,
      StripeClassifier classifier,
      InstantSource clock,
      String url,
      Function<URI, HttpRequest.Builder> requests) {
    this.http = http;
    this.classifier = classifier;
    this.clock = clock;
    this.url = url;
    this.requests = requests;
  }

  /** The answer, with the refunds of the money that it found. */
  CompletableFuture<ProviderAnswer> with(ProviderAnswer answer, long deadlineNs) {
    CompletableFuture<List<ProviderRefund>> given = CompletableFuture.completedFuture(List.of());
    if (answer.result() instanceof Succeeded && System.nanoTime() - deadlineNs < 0) {
      List<String> intents =
          Stream.concat(Stream.of(answer.result()), answer.further().stream())
              .filter(Succeeded.class::isInstance)
              .map(result -> ((Succeeded) result).providerTransactionId())
              .limit(INTENTS_MAX)
              .toList();
      for (String intent : intents) {
        given =
            given.thenCombine(
                of(intent, deadlineNs),
                (some, more) -> Stream.concat(some.stream(), more.stream()).toList());
      }
    }
    return given.thenApply(answer::withRefunds);
  }

  private CompletableFuture<List<ProviderRefund>> of(String intent, long deadlineNs) {
    String query =
        new StripeForm()
            .put("limit", StripeLists.PAGE_SIZE)
            .put(StripeRequest.transactionField(intent), intent)
            .text();
    return http.ask(
        requests.apply(URI.create(url + "?" + query)).GET(),
        StripeLists.left(deadlineNs),
        answer -> read(answer, intent),
        none -> {
          log.warn("refunds are not learnt provider=stripe: no answer, their webhooks will tell");
          return List.of();
        });
  }

  /** The refunds of a page that can be read. */
  List<ProviderRefund> read(HttpAnswer answer, String intent) {
    JsonNode page = AnswerReader.json(answer, StripeLists.PAGE_BYTES_MAX);
    if (page == null || classifier.notAPage(answer, page, clock.instant()) != null) {
      log.warn(
          "refunds are not learnt provider=stripe status={}: may the key read refunds? Their webhooks will tell",
          answer.status());
      return List.of();
    }
    List<ProviderRefund> refunds = new ArrayList<>();
    for (JsonNode item : page.path("data")) {
      ProviderRefund refund = refund(item, intent);
      if (refund != null) {
        refunds.add(refund);
      }
    }
    return refunds;
  }

  private static @Nullable ProviderRefund refund(JsonNode refund, String intent) {
    String id = AnswerReader.id(refund.path("id"));
    Money amount = StripeClassifier.money(refund, "amount");
    String word = refund.path("status").asText("");
    Status status =
        switch (word) {
          case "succeeded" -> Status.SUCCEEDED;
          case "pending", "requires_action" -> Status.PENDING;
          case "failed", "canceled" -> Status.FAILED;
          default -> null;
        };
    if (id == null
        || amount == null
        || amount.amountMinor() == 0
        || status == null
        || !refund.path("object").asText("").equals("refund")
        || !StripeClassifier.givesBack(refund, intent)) {
      return null;
    }
    String code = word.equals("failed") ? AnswerReader.code(refund.path("failure_reason")) : word;
    return new ProviderRefund(
        intent,
        id,
        StripeMetadata.refundId(refund),
        status,
        amount,
        status == Status.FAILED ? code : null,
        StripeClassifier.created(refund));
  }
}

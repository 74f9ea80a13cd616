package io.payrelay.providers.generic;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.payrelay.payments.lifecycle.Payment;
import io.payrelay.providers.Capabilities;
import io.payrelay.providers.ChargeCall;
import io.payrelay.providers.ChargeRef;
import io.payrelay.providers.PaymentProvider;
import io.payrelay.providers.Prepared;
import io.payrelay.providers.ProviderAnswer;
import io.payrelay.providers.ProviderResult;
import io.payrelay.providers.RefundCall;
import io.payrelay.providers.RefundOrder;
import io.payrelay.providers.RefundRef;
import io.payrelay.providers.RefundSupport;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.time.InstantSource;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;

/**
 * Calls the generic HTTP provider. What happened to a charge is told by its body: as long as that
 * has not left, nothing can have been executed. Safe for any thread.
 */
public final class GenericProvider implements PaymentProvider {

  /** They only parse small answers; nothing waits on them. */
  private static final int THREADS = 4;

  private final GenericConfig config;
  private final InstantSource clock;
  private final Capabilities capabilities;
  private final String base;
  private final ExecutorService executor;
  private final HttpClient client;

  /** A client of the configured provider; opens connections when they are needed. */
  public GenericProvider(GenericConfig config, InstantSource clock) {
    this.config = config;
    this.clock = clock;
    this.capabilities =
        new Capabilities(
            config.keyLifetime(), config.queries(), config.queryLag(), true, RefundSupport.NONE);
    String url = config.url().toString();
    this.base = (url.endsWith("/") ? url.substring(0, url.length() - 1) : url) + "/v1/charges";
    AtomicInteger number = new AtomicInteger();
    this.executor =
        Executors.newFixedThreadPool(
            THREADS,
            task -> {
              Thread thread =
                  new Thread(task, "provider-" + config.name() + "-" + number.incrementAndGet());
              thread.setDaemon(true);
              return thread;
            });
    this.client =
        HttpClient.newBuilder()
            .version(HttpClient.Version.HTTP_1_1)
            // A redirected charge would be sent twice, the second time to who knows whom.
            .followRedirects(HttpClient.Redirect.NEVER)
            .connectTimeout(config.connectTimeout())
            .executor(executor)
            .build();
  }

  @Override
  public String name() {
    return config.name();
  }

  @Override
  public Capabilities capabilities() {
    return capabilities;
  }

  @Override
  public Prepared prepareCharge(Payment payment) {
    return GenericRequest.charge(payment);
  }

  @Override
  public CompletableFuture<ProviderAnswer> charge(ChargeCall call) {
    DeadlineBody body = new DeadlineBody(call.body(), call.sendDeadlineNs());
    if (body.over()) {
      return CompletableFuture.completedFuture(returnedUnsent());
    }
    HttpRequest request =
        request(URI.create(base), call.timeout())
            .header("Content-Type", "application/json")
            .header("Idempotency-Key", call.idempotencyKey())
            .POST(body)
            .build();
    return exchange(
        request,
        call.timeout(),
        answer ->
            answered(
                List.of(GenericClassifier.ofCharge(answer, call.paymentId(), clock.instant())),
                answer),
        failure -> {
          // Closed first: a connection that stands a moment later must not send it any more.
          if (!body.close()) {
            return unknown(failure);
          }
          return body.late()
              ? returnedUnsent()
              : ProviderAnswer.without(
                  new ProviderResult.NotProcessed("not sent: " + reason(failure), null));
        });
  }

  @Override
  public CompletableFuture<ProviderAnswer> query(ChargeRef charge, Duration timeout) {
    String paymentId = charge.paymentId();
    URI uri = URI.create(base + "?merchant_transaction_id=" + encode(paymentId));
    return exchange(
        request(uri, timeout).GET().build(),
        timeout,
        answer -> answered(GenericClassifier.ofQuery(answer, paymentId, clock.instant()), answer),
        GenericProvider::unknown);
  }

  @Override
  public CompletableFuture<ProviderAnswer> cancel(ChargeRef charge, Duration timeout) {
    return query(charge, timeout)
        .thenCompose(
            found ->
                found.result() instanceof ProviderResult.Pending pending
                        && pending.providerTransactionId() != null
                    ? cancelCharge(charge.paymentId(), pending.providerTransactionId(), timeout)
                    : CompletableFuture.completedFuture(found));
  }

  @Override
  public Prepared prepareRefund(RefundOrder order) {
    throw new IllegalStateException("no refunds");
  }

  @Override
  public CompletableFuture<ProviderAnswer> refund(RefundCall call) {
    throw new IllegalStateException("no refunds");
  }

  @Override
  public CompletableFuture<ProviderAnswer> queryRefund(RefundRef refund, Duration timeout) {
    throw new IllegalStateException("no refunds");
  }

  /** Stops the threads; calls that still wait for an answer get none. */
  @Override
  public void close() {
    executor.shutdownNow();
  }

  private CompletableFuture<ProviderAnswer> cancelCharge(
      String paymentId, String chargeId, Duration timeout) {
    URI uri = URI.create(base + "/" + encode(chargeId) + "/cancel");
    return exchange(
        request(uri, timeout).POST(BodyPublishers.noBody()).build(),
        timeout,
        answer -> answered(List.of(GenericClassifier.ofCancel(answer, paymentId)), answer),
        GenericProvider::unknown);
  }

  private HttpRequest.Builder request(URI uri, Duration timeout) {
    return HttpRequest.newBuilder(uri)
        .timeout(timeout)
        .header("Accept", "application/json")
        .header("Authorization", "Bearer " + config.apiKey().reveal());
  }

  private CompletableFuture<ProviderAnswer> exchange(
      HttpRequest request,
      Duration timeout,
      Function<GenericAnswer, ProviderAnswer> onAnswer,
      Function<Throwable, ProviderAnswer> onFailure) {
    CompletableFuture<HttpResponse<byte[]>> sent =
        client.sendAsync(request, head -> new BoundedBody(ProviderAnswer.BODY_BYTES_MAX));
    return sent.copy()
        // The client's own limit ends with the head of the answer; a body can drip for ever.
        .orTimeout(timeout.toMillis(), TimeUnit.MILLISECONDS)
        .handle(
            (response, failure) -> {
              if (response != null) {
                return onAnswer.apply(read(response));
              }
              sent.cancel(true);
              return onFailure.apply(failure);
            });
  }

  private static GenericAnswer read(HttpResponse<byte[]> response) {
    return new GenericAnswer(
        response.statusCode(),
        response.headers().firstValue("Content-Type").orElse(null),
        response.headers().firstValue("Retry-After").orElse(null),
        response.body());
  }

  private static ProviderAnswer answered(List<ProviderResult> results, GenericAnswer answer) {
    byte[] body = answer.body();
    return new ProviderAnswer(
        results.get(0),
        results.subList(1, results.size()),
        answer.status(),
        body.length > ProviderAnswer.BODY_BYTES_MAX
            ? Arrays.copyOf(body, ProviderAnswer.BODY_BYTES_MAX)
            : body);
  }

  private static ProviderAnswer unknown(Throwable failure) {
    return ProviderAnswer.without(new ProviderResult.Unknown("no answer: " + reason(failure)));
  }

  private static ProviderAnswer returnedUnsent() {
    return ProviderAnswer.without(
        new ProviderResult.NotProcessed(PaymentProvider.RETURNED_UNSENT, null));
  }

  /** The kind of the failure only: messages can quote what was sent. */
  private static String reason(Throwable failure) {
    Throwable cause =
        failure instanceof CompletionException && failure.getCause() != null
            ? failure.getCause()
            : failure;
    return cause.getClass().getSimpleName();
  }

  private static String encode(String text) {
    return URLEncoder.encode(text, UTF_8).replace("+", "%20");
  }
}

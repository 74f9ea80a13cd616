package io.payrelay.providers.http;

import io.payrelay.providers.PaymentProvider;
import io.payrelay.providers.ProviderAnswer;
import io.payrelay.providers.ProviderResult;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.time.InstantSource;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;

/**
 * An adapter's way to its provider. What happened to a call that moves money is told by its body:
 * as long as that has not left, nothing can have been executed. Safe for any thread.
 */
public final class ProviderHttp implements AutoCloseable {

  /** They only parse small answers; nothing waits on them. */
  private static final int THREADS = 4;

  private final int bytesMax;
  private final InstantSource clock;
  private final AskedPause pause = new AskedPause(System::nanoTime);
  private final ExecutorService executor;
  private final HttpClient client;

  /** A client that opens connections when they are needed; answers are cut at the usual limit. */
  public ProviderHttp(String name, Duration connectTimeout, InstantSource clock) {
    this(name, connectTimeout, clock, ProviderAnswer.BODY_BYTES_MAX);
  }

  /** The same with another limit on answers. */
  public ProviderHttp(String name, Duration connectTimeout, InstantSource clock, int bytesMax) {
    this.clock = clock;
    this.bytesMax = bytesMax;
    AtomicInteger number = new AtomicInteger();
    this.executor =
        Executors.newFixedThreadPool(
            THREADS,
            task -> {
              Thread thread = new Thread(task, "provider-" + name + "-" + number.incrementAndGet());
              thread.setDaemon(true);
              return thread;
            });
    this.client =
        HttpClient.newBuilder()
            .version(HttpClient.Version.HTTP_1_1)
            // A redirected charge would be sent twice, the second time to who knows whom.
            .followRedirects(HttpClient.Redirect.NEVER)
            .connectTimeout(connectTimeout)
            .executor(executor)
            .build();
  }

  /** The address as text, without a slash at its end. */
  public static String base(URI url) {
    String text = url.toString();
    return text.endsWith("/") ? text.substring(0, text.length() - 1) : text;
  }

  /**
   * Sends what moves money.
   *
   * @param request all of it but the body
   * @param withoutAnswer makes the result of an outcome that no answer tells
   */
  public <T> CompletableFuture<T> send(
      HttpRequest.Builder request,
      DeadlineBody body,
      Duration timeout,
      Function<HttpAnswer, T> onAnswer,
      Function<ProviderAnswer, T> withoutAnswer) {
    if (body.over()) {
      return CompletableFuture.completedFuture(withoutAnswer.apply(returnedUnsent()));
    }
    return exchange(
        request.timeout(timeout).POST(body).build(),
        timeout,
        onAnswer,
        failure -> {
          // Closed first: a connection that stands a moment later must not send it any more.
          if (!body.close()) {
            return withoutAnswer.apply(unknown(failure));
          }
          return withoutAnswer.apply(
              body.late()
                  ? returnedUnsent()
                  : ProviderAnswer.without(
                      new ProviderResult.NotProcessed("not sent: " + reason(failure), null)));
        });
  }

  /** Asks, or changes what can be changed twice; without an answer the result is Unknown. */
  public CompletableFuture<ProviderAnswer> ask(
      HttpRequest.Builder request,
      Duration timeout,
      Function<HttpAnswer, ProviderAnswer> onAnswer) {
    return ask(request, timeout, onAnswer, Function.identity());
  }

  /** The same with a result of another kind. */
  public <T> CompletableFuture<T> ask(
      HttpRequest.Builder request,
      Duration timeout,
      Function<HttpAnswer, T> onAnswer,
      Function<ProviderAnswer, T> withoutAnswer) {
    return exchange(
        request.timeout(timeout).build(),
        timeout,
        onAnswer,
        failure -> withoutAnswer.apply(unknown(failure)));
  }

  /** How long the provider asks us to stay away, by any of its answers; see {@link AskedPause}. */
  public Duration pauseLeft() {
    return pause.left();
  }

  /** Stops the threads; calls that still wait for an answer get none. */
  @Override
  public void close() {
    executor.shutdownNow();
  }

  private <T> CompletableFuture<T> exchange(
      HttpRequest request,
      Duration timeout,
      Function<HttpAnswer, T> onAnswer,
      Function<Throwable, T> onFailure) {
    CompletableFuture<HttpResponse<byte[]>> sent =
        client.sendAsync(request, head -> new BoundedBody(bytesMax));
    return sent.copy()
        // The client's own limit ends with the head of the answer; a body can drip for ever.
        .orTimeout(timeout.toMillis(), TimeUnit.MILLISECONDS)
        .handle(
            (response, failure) -> {
              if (response != null) {
                HttpAnswer answer = read(response);
                // Here, and not by what the adapter makes of it: it may have asked twice.
                pause.note(answer, clock.instant());
                return onAnswer.apply(answer);
              }
              sent.cancel(true);
              return onFailure.apply(failure);
            });
  }

  private static HttpAnswer read(HttpResponse<byte[]> response) {
    Map<String, String> headers = new HashMap<>();
    response
        .headers()
        .map()
        .forEach((name, values) -> headers.put(name.toLowerCase(Locale.ROOT), values.get(0)));
    return new HttpAnswer(response.statusCode(), headers, response.body());
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
}

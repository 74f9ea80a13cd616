package io.payrelay.providers.generic;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.net.httpserver.HttpServer;
import io.payrelay.payments.lifecycle.Payment;
import io.payrelay.payments.lifecycle.PaymentStatus;
import io.payrelay.payments.money.Money;
import io.payrelay.platform.config.Secret;
import io.payrelay.providers.ChargeCall;
import io.payrelay.providers.PaymentProvider;
import io.payrelay.providers.Prepared;
import io.payrelay.providers.ProviderAnswer;
import io.payrelay.providers.ProviderResult.Declined;
import io.payrelay.providers.ProviderResult.NotProcessed;
import io.payrelay.providers.ProviderResult.Unknown;
import io.payrelay.providers.http.DeadlineBody;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Flow;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(30)
class GenericProviderTest {

  private final AtomicInteger requests = new AtomicInteger();
  private final ExecutorService threads = Executors.newCachedThreadPool();
  private HttpServer server;

  private interface Reply {
    void to(com.sun.net.httpserver.HttpExchange exchange) throws IOException;
  }

  @BeforeEach
  void startServer() throws IOException {
    server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 16);
    server.setExecutor(threads);
    server.start();
  }

  @AfterEach
  void stopServer() {
    server.stop(0);
    threads.shutdownNow();
  }

  @Test
  void doesNotSendAfterTheDeadline() {
    serve(exchange -> exchange.sendResponseHeaders(200, -1));

    ProviderAnswer answer = charge(server.getAddress().getPort(), System.nanoTime(), 1_000);

    assertThat(answer.result()).isEqualTo(new NotProcessed(PaymentProvider.RETURNED_UNSENT, null));
    assertThat(requests).hasValue(0);
  }

  @Test
  void holdsTheBodyBackWhenTheDeadlinePassesWhileItConnects() {
    serve(exchange -> exchange.sendResponseHeaders(200, -1));
    DeadlineBody body = new DeadlineBody(new byte[] {1}, System.nanoTime() - 1);
    HttpRequest request =
        HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + server.getAddress().getPort()))
            .timeout(Duration.ofSeconds(5))
            .POST(body)
            .build();

    // Past the provider's own look at the deadline, as if the connection had taken too long.
    assertThatThrownBy(
            () -> HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.discarding()))
        .isInstanceOf(IOException.class);
    assertThat(body.late()).isTrue();
    assertThat(body.close()).isTrue();
  }

  @Test
  void sendsNoBodyThatWasGivenUp() {
    DeadlineBody body = new DeadlineBody(new byte[] {1}, soon());
    assertThat(body.close()).isTrue();
    Seen seen = new Seen();

    body.subscribe(seen);

    assertThat(seen.events).containsExactly("error");
    assertThat(body.late()).isFalse();
  }

  @Test
  void cannotGiveUpABodyThatLeft() {
    DeadlineBody body = new DeadlineBody(new byte[] {1}, soon());
    Seen seen = new Seen();

    body.subscribe(seen);

    assertThat(seen.events).containsExactly("bytes", "end");
    assertThat(body.close()).isFalse();
  }

  @Test
  void eitherSendsOrGivesUpHoweverTheyRace() throws Exception {
    for (int i = 0; i < 2_000; i++) {
      DeadlineBody body = new DeadlineBody(new byte[] {1}, soon());
      Seen seen = new Seen();
      Future<?> sending = threads.submit(() -> body.subscribe(seen));

      boolean givenUp = body.close();

      sending.get();
      assertThat(seen.events.contains("bytes")).isNotEqualTo(givenUp);
    }
  }

  /** What a subscriber sees; belongs to one thread at a time. */
  private static final class Seen implements Flow.Subscriber<ByteBuffer> {
    private final List<String> events = new ArrayList<>();

    @Override
    public void onSubscribe(Flow.Subscription subscription) {
      subscription.request(Long.MAX_VALUE);
    }

    @Override
    public void onNext(ByteBuffer bytes) {
      events.add("bytes");
    }

    @Override
    public void onError(Throwable failure) {
      events.add("error");
    }

    @Override
    public void onComplete() {
      events.add("end");
    }
  }

  @Test
  void knowsThatNothingLeftWhereNobodyListens() throws IOException {
    int port;
    try (ServerSocket socket = new ServerSocket(0)) {
      port = socket.getLocalPort();
    }

    assertThat(charge(port, soon(), 1_000).result()).isInstanceOf(NotProcessed.class);
  }

  @Test
  void doesNotKnowAfterASilence() {
    serve(exchange -> {});

    assertThat(charge(server.getAddress().getPort(), soon(), 200).result())
        .isInstanceOf(Unknown.class);
    assertThat(requests).hasValue(1);
  }

  @Test
  void doesNotKnowWhereTheBodyDripsForEver() {
    serve(
        exchange -> {
          exchange.getResponseHeaders().set("Content-Type", "application/json");
          exchange.sendResponseHeaders(200, 1_000);
          OutputStream body = exchange.getResponseBody();
          body.write('{');
          body.flush();
        });

    assertThat(charge(server.getAddress().getPort(), soon(), 300).result())
        .isInstanceOf(Unknown.class);
  }

  @Test
  void followsNoRedirect() {
    serve(
        exchange -> {
          exchange.getResponseHeaders().set("Location", "/v1/charges");
          exchange.sendResponseHeaders(307, -1);
          exchange.close();
        });

    assertThat(charge(server.getAddress().getPort(), soon(), 1_000).result())
        .isInstanceOf(Unknown.class);
    assertThat(requests).hasValue(1);
  }

  @Test
  void readsNoMoreThanItKeeps() {
    serve(
        exchange -> {
          exchange.getResponseHeaders().set("Content-Type", "application/json");
          exchange.sendResponseHeaders(200, 0);
          byte[] page = new byte[8_192];
          Arrays.fill(page, (byte) ' ');
          try (OutputStream body = exchange.getResponseBody()) {
            for (int i = 0; i < 1_000; i++) {
              body.write(page);
            }
          }
        });

    ProviderAnswer answer = charge(server.getAddress().getPort(), soon(), 5_000);

    assertThat(answer.result()).isInstanceOf(Unknown.class);
    assertThat(answer.body()).hasSize(ProviderAnswer.BODY_BYTES_MAX);
  }

  @Test
  void sendsKeyAndExactBytes() {
    StringBuilder seen = new StringBuilder();
    serve(
        exchange -> {
          seen.append(exchange.getRequestHeaders().getFirst("Idempotency-Key")).append(' ');
          seen.append(exchange.getRequestHeaders().getFirst("Authorization")).append(' ');
          seen.append(new String(exchange.getRequestBody().readAllBytes(), UTF_8));
          byte[] body =
              "{\"error\":{\"type\":\"invalid_request\",\"code\":\"no\"}}".getBytes(UTF_8);
          exchange.getResponseHeaders().set("Content-Type", "application/json");
          exchange.sendResponseHeaders(400, body.length);
          exchange.getResponseBody().write(body);
          exchange.close();
        });

    ProviderAnswer answer = charge(server.getAddress().getPort(), soon(), 1_000);

    assertThat(answer.result()).isEqualTo(new Declined("no", null, null));
    assertThat(seen).hasToString("key-1 Bearer secret {\"a\":1}");
  }

  @Test
  void makesEqualBytesOfEqualRows() {
    Payment one =
        payment("{\"b\": {\"z\": 1, \"a\": [1, {\"y\": 1, \"x\": 2}]}, \"a\": \"1\"}", "{}");
    Payment two =
        payment("{\"a\": \"1\", \"b\": {\"a\": [1, {\"x\": 2, \"y\": 1}], \"z\": 1}}", "{}");

    byte[] body = ((Prepared.Ready) GenericRequest.charge(one)).body();

    assertThat(body).isEqualTo(((Prepared.Ready) GenericRequest.charge(two)).body());
    assertThat(new String(body, UTF_8))
        .isEqualTo(
            "{\"amount\":1200,\"currency\":\"USD\",\"merchant_transaction_id\":\"payment_1\","
                + "\"metadata\":{\"a\":\"1\",\"b\":{\"a\":[1,{\"x\":2,\"y\":1}],\"z\":1},"
                + "\"merchant\":\"shop\",\"merchant_order_id\":\"order-1\"}}");
  }

  @Test
  void refusesAPaymentMethodThatIsNoToken() {
    assertThat(GenericRequest.charge(payment("{}", "{\"payment_method\": {\"a\": 1}}")))
        .isInstanceOf(Prepared.Refused.class);
  }

  private void serve(Reply reply) {
    server.createContext(
        "/",
        exchange -> {
          requests.incrementAndGet();
          reply.to(exchange);
        });
  }

  private static long soon() {
    return System.nanoTime() + Duration.ofSeconds(10).toNanos();
  }

  private static ProviderAnswer charge(int port, long deadlineNs, long timeoutMs) {
    GenericConfig config =
        new GenericConfig(
            "simulator",
            URI.create("http://127.0.0.1:" + port),
            new Secret("secret"),
            Duration.ofSeconds(1),
            Duration.ofHours(1),
            Duration.ZERO,
            true);
    try (GenericProvider provider = new GenericProvider(config, InstantSource.system())) {
      return provider
          .charge(
              new ChargeCall(
                  "payment_1",
                  "key-1",
                  "{\"a\":1}".getBytes(UTF_8),
                  deadlineNs,
                  Duration.ofMillis(timeoutMs)))
          .join();
    }
  }

  private static Payment payment(String businessRefs, String providerData) {
    return new Payment(
        "payment_1",
        "shop",
        "order-1",
        "simulator",
        new Money(1200, "USD"),
        null,
        null,
        businessRefs,
        providerData,
        null,
        PaymentStatus.CREATED,
        1,
        null,
        null,
        Instant.EPOCH);
  }
}

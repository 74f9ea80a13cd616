package io.payrelay.chargeworker;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import io.payrelay.payments.lifecycle.PaymentStatus;
import io.payrelay.payments.lifecycle.RefundStatus;
import io.payrelay.providers.ChargeCall;
import io.payrelay.providers.PaymentProvider;
import io.payrelay.providers.ProviderAnswer;
import io.payrelay.providers.RefundCall;
import io.payrelay.simulator.ProviderSimulator;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.slf4j.LoggerFactory;

/** Adapters and code of our own that break on an answer: nobody but that attempt suffers. */
@Timeout(60)
class LostAnswersIT {

  private final ListAppender<ILoggingEvent> log = new ListAppender<>();
  private final Map<String, Supplier<CompletableFuture<ProviderAnswer>>> broken =
      new ConcurrentHashMap<>();
  private ChargeFixture fixture;

  @BeforeEach
  void open() throws Exception {
    fixture = new ChargeFixture();
    log.start();
    logger().addAppender(log);
  }

  @AfterEach
  void close() {
    logger().detachAppender(log);
    fixture.close();
  }

  @Test
  void takeNoSlotForGoodAndAreSaidOnce() throws Exception {
    ProviderSimulator simulator = fixture.simulator(fixture.simulatorConfig());
    ChargeWorker worker =
        fixture.worker(
            breaking(fixture.provider(simulator)),
            Map.of(
                "CALL_TIMEOUT_MS", "400",
                "LEASE_MS", "1000",
                "IN_FLIGHT_MAX", "1",
                "QUERY_DELAYS_MS", "50",
                "BREAKER_CALLS_MIN", "5000"));
    String lost = broken(LostAnswersIT::unreadable);
    List<String> failed =
        List.of(
            broken(() -> CompletableFuture.completedFuture(null)),
            broken(() -> CompletableFuture.failedFuture(new IllegalStateException("canary"))),
            broken(() -> null),
            broken(
                () -> {
                  throw new IllegalStateException("canary");
                }));

    soon(() -> assertThat(fixture.payment(lost).status()).isEqualTo(PaymentStatus.SUCCEEDED));
    assertThat(fixture.attempts(lost)).containsExactly("CALL ABANDONED", "CALL SUCCEEDED");
    for (String id : failed) {
      soon(() -> assertThat(fixture.payment(id).status()).isEqualTo(PaymentStatus.SUCCEEDED));
      assertThat(fixture.attempts(id)).startsWith("CALL UNKNOWN").endsWith("CALL SUCCEEDED");
    }
    String refund = ChargeFixture.newId();
    broken.put(refund, LostAnswersIT::unreadable);
    fixture.insertRefund(refund, lost, 100);
    fixture.sendRefund(refund, lost, 100, null);
    soon(() -> assertThat(fixture.refund(refund).status()).isEqualTo(RefundStatus.SUCCEEDED));
    soon(() -> assertThat(worker.inFlight()).isZero());

    assertThat(said("an answer is lost"))
        .satisfiesExactly(
            line -> assertThat(line).contains("payment=" + lost, "NullPointerException"),
            line -> assertThat(line).contains("payment=" + lost, "operation="));
    assertThat(said("an adapter failed")).hasSize(4);
    assertThat(said("")).noneMatch(line -> line.contains("canary"));
    assertThat(abandoned("CHARGE")).isEqualTo(1);
    assertThat(abandoned("REFUND")).isEqualTo(1);
    assertThat(worker.health()).isEqualTo("ok");
  }

  private String broken(Supplier<CompletableFuture<ProviderAnswer>> first) throws Exception {
    String id = ChargeFixture.newId();
    broken.put(id, first);
    fixture.insert(id, "pm_card");
    fixture.send(id);
    return id;
  }

  /** An answer without a result: our own code breaks on it. */
  private static CompletableFuture<ProviderAnswer> unreadable() {
    return CompletableFuture.completedFuture(
        new ProviderAnswer(null, 200, "{\"canary\":1}".getBytes(UTF_8)));
  }

  /** Whose first calls are as the test has them. */
  private PaymentProvider breaking(PaymentProvider honest) {
    return (PaymentProvider)
        Proxy.newProxyInstance(
            PaymentProvider.class.getClassLoader(),
            new Class<?>[] {PaymentProvider.class},
            (self, method, arguments) -> {
              String id =
                  arguments == null
                      ? ""
                      : arguments[0] instanceof ChargeCall charge
                          ? charge.paymentId()
                          : arguments[0] instanceof RefundCall refund ? refund.refundId() : "";
              Supplier<CompletableFuture<ProviderAnswer>> first = broken.remove(id);
              if (first != null) {
                return first.get();
              }
              try {
                return method.invoke(honest, arguments);
              } catch (InvocationTargetException e) {
                throw e.getCause();
              }
            });
  }

  private List<String> said(String start) {
    return List.copyOf(log.list).stream()
        .map(ILoggingEvent::getFormattedMessage)
        .filter(line -> line.startsWith(start))
        .toList();
  }

  private double abandoned(String operation) {
    return fixture
        .registry
        .get("payrelay.charge.abandoned")
        .tags("provider", fixture.provider, "operation", operation)
        .counter()
        .count();
  }

  private static Logger logger() {
    return (Logger) LoggerFactory.getLogger("io.payrelay.chargeworker");
  }

  private static void soon(Runnable assertion) {
    await().atMost(Duration.ofSeconds(20)).untilAsserted(assertion::run);
  }
}

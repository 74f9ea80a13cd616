package io.payrelay.chargeworker;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.AppenderBase;
import io.payrelay.payments.lifecycle.PaymentStatus;
import io.payrelay.payments.lifecycle.RefundStatus;
import io.payrelay.providers.ChargeCall;
import io.payrelay.providers.PaymentProvider;
import io.payrelay.providers.ProviderAnswer;
import io.payrelay.providers.ProviderResult;
import io.payrelay.providers.RefundCall;
import io.payrelay.simulator.ProviderSimulator;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.slf4j.LoggerFactory;

/** Adapters and code of our own that break on an answer: nobody but that attempt suffers. */
@Timeout(60)
class LostAnswersIT {

  private final Lines log = new Lines();
  private final Map<String, Supplier<CompletableFuture<ProviderAnswer>>> broken =
      new ConcurrentHashMap<>();
  private final AtomicBoolean losing = new AtomicBoolean();
  private ChargeFixture fixture;

  /** What is said, on whatever thread. */
  private static final class Lines extends AppenderBase<ILoggingEvent> {

    private final Queue<String> said = new ConcurrentLinkedQueue<>();

    @Override
    protected void append(ILoggingEvent event) {
      said.add(event.getFormattedMessage());
    }
  }

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
    losing.set(true);
    ChargeWorker worker =
        fixture.worker(
            breaking(fixture.provider(simulator)),
            Map.of(
                "CALL_TIMEOUT_MS", "2000",
                "LEASE_MS", "5000",
                "IN_FLIGHT_MAX", "1",
                "QUERY_DELAYS_MS", "50",
                "BREAKER_CALLS_MIN", "5000"),
            this::lose,
            Map.of());
    String lost =
        broken(
            () ->
                CompletableFuture.completedFuture(
                    ProviderAnswer.without(new ProviderResult.Unknown("no word"))));
    soon(() -> assertThat(said("an answer is lost")).hasSize(1));
    String unread = broken(LostAnswersIT::unreadable);
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
    soon(() -> assertThat(fixture.payment(unread).status()).isEqualTo(PaymentStatus.SUCCEEDED));
    assertThat(fixture.attempts(unread)).startsWith("CALL UNKNOWN").endsWith("CALL SUCCEEDED");
    // What came is there, although nobody could make anything of it.
    assertThat(
            fixture.value(
                """
                SELECT concat_ws(' ', a.http_status, convert_from(a.response_body, 'UTF8'))
                FROM payrelay.attempt a JOIN payrelay.operation o USING (operation_id)
                WHERE o.payment_id = :id AND a.attempt_number = 1
                """,
                unread))
        .isEqualTo("200 {\"canary\":1}");
    for (String id : failed) {
      soon(() -> assertThat(fixture.payment(id).status()).isEqualTo(PaymentStatus.SUCCEEDED));
      assertThat(fixture.attempts(id)).startsWith("CALL UNKNOWN").endsWith("CALL SUCCEEDED");
    }
    String refund = ChargeFixture.newId();
    soon(() -> assertThat(worker.inFlight()).isZero());
    losing.set(true);
    fixture.insertRefund(refund, lost, 100);
    fixture.sendRefund(refund, lost, 100, null);
    soon(() -> assertThat(fixture.refund(refund).status()).isEqualTo(RefundStatus.SUCCEEDED));
    soon(() -> assertThat(worker.inFlight()).isZero());

    assertThat(said("an answer is lost"))
        .satisfiesExactly(
            line -> assertThat(line).contains("payment=" + lost, "IllegalStateException"),
            line -> assertThat(line).contains("payment=" + lost, "operation="));
    assertThat(said("an adapter failed")).hasSize(4);
    assertThat(said("an adapter gave an answer without a result")).hasSize(1);
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

  /** Our own code breaks on the next answer. */
  private void lose(ChargeFaults.Point point) {
    if (point == ChargeFaults.Point.AFTER_ANSWER && losing.getAndSet(false)) {
      throw new IllegalStateException("canary");
    }
  }

  /** An answer without a result. */
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
    return log.said.stream().filter(line -> line.startsWith(start)).toList();
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

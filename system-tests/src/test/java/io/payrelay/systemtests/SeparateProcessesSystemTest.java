package io.payrelay.systemtests;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.payrelay.platform.kafka.KafkaConfig;
import io.payrelay.workbench.DatabaseUsers;
import io.payrelay.workbench.DemoSettings;
import io.payrelay.workbench.StatusTopic;
import java.io.IOException;
import java.net.ServerSocket;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jdbi.v3.core.Jdbi;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Every part as a process of its own, as in production: the README's psql line becomes a payment,
 * and the logs name it without giving anything away.
 */
final class SeparateProcessesSystemTest {

  /** Stand for what must never be logged; the last one passes the Luhn check. */
  private static final String API_KEY = "sk_canary_5f2c9d";

  private static final String WEBHOOK_SECRET = "whsec_Y2FuYXJ5Y2FuYXJ5Y2FuYXJ5Y2FuYXJ5";
  private static final String PAYMENT_METHOD = "pm_canary_77aa";
  private static final String CUSTOMER = "customer-canary@example.test";
  private static final String CARD = "4242424242424242";

  @TempDir Path folder;

  @Test
  @Timeout(300)
  void aPaymentMadeByTheReadmesLineSucceedsAndIsToldOnce() throws Exception {
    try (Child infra = Child.start(folder, Map.of(), "infra")) {
      String ready = infra.awaitReady();
      assertThat(ready)
          .matches(
              "ready jdbc=jdbc:postgresql://127\\.0\\.0\\.1:\\d+/payrelay user=payrelay"
                  + " kafka=127\\.0\\.0\\.1:\\d+");
      String jdbcUrl = Child.value(ready, "jdbc");
      Map<String, String> base = new HashMap<>();
      base.put("PAYRELAY_DATABASE_URL", jdbcUrl);
      base.put("PAYRELAY_KAFKA_BOOTSTRAP_SERVERS", Child.value(ready, "kafka"));
      base.put("PAYRELAY_LOG_LEVEL", "DEBUG");
      try (Child migrate =
          Child.start(folder, with(base, "PAYRELAY_DATABASE_USER", "payrelay"), "migrate")) {
        assertThat(migrate.exitCode(Duration.ofSeconds(90))).as(migrate.errors()).isZero();
      }
      DatabaseUsers.create(jdbcUrl, "payrelay");
      runParts(base, jdbcUrl);
    }
  }

  private void runParts(Map<String, String> base, String jdbcUrl) throws Exception {
    int ingestPort = freePort();
    try (Child simulator =
            Child.start(
                folder,
                Map.of(),
                "simulator",
                "--port",
                "0",
                "--api-key",
                API_KEY,
                "--webhook-secret",
                WEBHOOK_SECRET,
                "--webhook-url",
                "http://127.0.0.1:" + ingestPort + "/webhooks/simulator");
        Child relay =
            Child.start(
                folder, with(base, "PAYRELAY_DATABASE_USER", DatabaseUsers.RELAY), "relay")) {
      URI provider = URI.create(Child.value(simulator.awaitReady(), "url"));
      Map<String, String> workerSettings = new HashMap<>(DemoSettings.worker(provider));
      workerSettings.put("PAYRELAY_PROVIDER_API_KEY", API_KEY);
      Map<String, String> ingestSettings = new HashMap<>(DemoSettings.ingest());
      ingestSettings.put("PAYRELAY_PROVIDER_WEBHOOK_SECRETS", WEBHOOK_SECRET);
      ingestSettings.put("PAYRELAY_INGEST_PORT", Integer.toString(ingestPort));
      workerSettings.putAll(with(base, "PAYRELAY_DATABASE_USER", DatabaseUsers.WORKER));
      ingestSettings.putAll(with(base, "PAYRELAY_DATABASE_USER", DatabaseUsers.INGEST));
      try (Child worker = Child.start(folder, workerSettings, "charge-worker");
          Child ingest = Child.start(folder, ingestSettings, "webhook-ingest")) {
        relay.awaitReady();
        worker.awaitReady();
        ingest.awaitReady();

        payByTheReadmesLine(base, jdbcUrl);
        payWithCanaries(jdbcUrl);
        await()
            .atMost(Duration.ofSeconds(30))
            .until(
                () ->
                    worker.errors().contains("pay_canary_0001")
                        && ingest.errors().contains("pay_canary_0001"));

        for (Child child : new Child[] {relay, worker, ingest, simulator}) {
          assertThat(child.errors() + child.output())
              .doesNotContain(API_KEY, WEBHOOK_SECRET, PAYMENT_METHOD, CUSTOMER, CARD)
              .doesNotContainIgnoringCase("authorization:", "webhook-signature");
        }
        assertThat(worker.errors()).contains("trace_id=trace-canary");
        assertThat(ingest.errors()).contains("trace_id=trace-canary");
      }
    }
  }

  private static void payByTheReadmesLine(Map<String, String> base, String jdbcUrl)
      throws IOException {
    Matcher line =
        Pattern.compile("psql -h .* -U (\\S+) payrelay -c \"(.*)\"")
            .matcher(Files.readString(Path.of("..", "README.md")));
    assertThat(line.find()).isTrue();
    String paymentId =
        Jdbi.create(jdbcUrl, line.group(1), "")
            .withHandle(handle -> handle.createQuery(line.group(2)).mapTo(String.class).one());

    awaitSucceeded(jdbcUrl, paymentId);
    try (StatusTopic topic =
        new StatusTopic(new KafkaConfig(base.get("PAYRELAY_KAFKA_BOOTSTRAP_SERVERS"), Map.of()))) {
      await()
          .atMost(Duration.ofSeconds(30))
          .until(
              () -> {
                topic.poll(Duration.ofMillis(100));
                return topic.count(paymentId, 3) > 0;
              });
      while (topic.poll(Duration.ofMillis(500)) > 0) {
        // To the end: a second copy would come now.
      }
      assertThat(topic.count(paymentId, 2)).isEqualTo(1);
      assertThat(topic.count(paymentId, 3)).isEqualTo(1);
      assertThat(topic.count(paymentId, 4)).isZero();
    }
  }

  private static void payWithCanaries(String jdbcUrl) {
    Jdbi.create(jdbcUrl, DatabaseUsers.SHOP, "")
        .useHandle(
            handle ->
                handle
                    .createQuery(
                        """
                        SELECT payrelay.request_payment('pay_canary_0001', 'shop', 'order-canary',
                          'simulator', 1250, 'USD', customer_id => :customer,
                          business_refs => jsonb_build_object('bet_id', 'bet-1'),
                          provider_data => jsonb_build_object('payment_method', :method),
                          trace_id => 'trace-canary')
                        """)
                    .bind("customer", CUSTOMER)
                    .bind("method", PAYMENT_METHOD)
                    .mapTo(String.class)
                    .one());
    awaitSucceeded(jdbcUrl, "pay_canary_0001");
    // A poison row: its payload goes to the dead letters, never to a log.
    Jdbi.create(jdbcUrl, "payrelay", "")
        .useHandle(
            handle ->
                handle.execute(
                    """
                    INSERT INTO payrelay.outbox (aggregate_type, aggregate_id, event_type, payload)
                    VALUES ('payment', 'pay_canary_0002', 'ChargeRequested', ?::json)
                    """,
                    "{\"card\": \"" + CARD + "\"}"));
  }

  private static void awaitSucceeded(String jdbcUrl, String paymentId) {
    Jdbi owner = Jdbi.create(jdbcUrl, "payrelay", "");
    await()
        .atMost(Duration.ofSeconds(60))
        .until(
            () ->
                owner.withHandle(
                    handle ->
                        handle
                            .createQuery(
                                "SELECT status FROM payrelay.payment WHERE payment_id = :id")
                            .bind("id", paymentId)
                            .mapTo(String.class)
                            .one()
                            .equals("SUCCEEDED")));
  }

  private static Map<String, String> with(Map<String, String> base, String name, String value) {
    Map<String, String> environment = new HashMap<>(base);
    environment.put(name, value);
    return environment;
  }

  private static int freePort() throws IOException {
    try (ServerSocket socket = new ServerSocket(0)) {
      return socket.getLocalPort();
    }
  }
}

package io.payrelay.systemtests;

import static org.assertj.core.api.Assertions.assertThat;

import io.payrelay.app.Part;
import io.payrelay.app.PartRunner;
import io.payrelay.app.Parts;
import io.payrelay.localstack.LocalStack;
import io.payrelay.platform.kafka.KafkaConfig;
import io.payrelay.simulator.FaultProfile;
import io.payrelay.simulator.ProviderSimulator;
import io.payrelay.simulator.SimulatedRefund;
import io.payrelay.simulator.SimulatorConfig;
import io.payrelay.workbench.DatabaseUsers;
import io.payrelay.workbench.DemoSettings;
import io.payrelay.workbench.Invariants;
import io.payrelay.workbench.Report;
import io.payrelay.workbench.StatusTopic;
import java.net.URI;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.awaitility.Awaitility;
import org.jdbi.v3.core.Jdbi;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The whole system over Stripe's API, while it storms: calls, queries and webhooks. */
final class StripeSystemTest {

  private static final int PAYMENTS = Boolean.getBoolean("payrelay.long") ? 2000 : 60;
  private static final String SECRET = "whsec_systemtestsystemtestsystemtest";
  private static final String API_KEY = "sk_test_simulator";
  private static final Duration POLL = Duration.ofMillis(100);
  private static final List<String> CURRENCIES = List.of("USD", "EUR", "JPY", "ISK", "KWD");
  private static final List<String> METHODS =
      List.of(
          "pm_card_visa",
          "pm_card_visa",
          "pm_card_visa",
          "pm_card_visa",
          "pm_usBankAccount_success",
          "pm_usBankAccount_insufficientFunds",
          "pm_card_authenticationRequired",
          "pm_card_visa_chargeDeclined");

  @Test
  @Timeout(300)
  void aStormOverStripesApiEndsWithEveryPaymentTrueAndNobodyChargedTwice() throws Exception {
    long startNs = System.nanoTime();
    List<Part> parts = new ArrayList<>();
    try (LocalStack infra = LocalStack.builder().start();
        ProviderSimulator simulator =
            ProviderSimulator.start(
                SimulatorConfig.builder()
                    .seed(7)
                    .profile(FaultProfile.STORM)
                    .pendingSettleDelay(Duration.ofMillis(700))
                    .slowDelay(Duration.ofMillis(700))
                    .stripeWebhookSecret(SECRET)
                    // A refund that comes back is told by a webhook alone: nobody asks about what
                    // succeeded.
                    .everyWebhookArrives(true)
                    .webhookLateDelay(Duration.ofSeconds(2))
                    .build())) {
      try {
        start(infra, simulator, parts);
        order(infra);
        check(infra, simulator, startNs);
        giveBack(infra, simulator);
      } finally {
        parts.forEach(Part::close);
      }
    }
  }

  private static void start(LocalStack infra, ProviderSimulator simulator, List<Part> parts) {
    Parts.migrate(OutboxStream.environment(infra, infra.postgres().user(), Map.of()));
    DatabaseUsers.create(infra.postgres().jdbcUrl(), infra.postgres().user());
    Map<String, String> ingest = new HashMap<>(DemoSettings.ingest());
    ingest.put("PAYRELAY_STRIPE_WEBHOOK_SECRETS", SECRET);
    ingest.put("PAYRELAY_STRIPE_LIVE_MODE", "false");
    Part webhooks =
        Parts.webhookIngest(OutboxStream.environment(infra, DatabaseUsers.INGEST, ingest));
    parts.add(webhooks);
    String port = webhooks.ready().replaceAll("(?s).* port=(\\d+).*", "$1");
    simulator.stripeWebhookTarget(URI.create("http://127.0.0.1:" + port + "/webhooks/stripe"));
    Map<String, String> worker = new HashMap<>(DemoSettings.worker(simulator.baseUrl()));
    worker.put("PAYRELAY_STRIPE_API_KEY", API_KEY);
    worker.put("PAYRELAY_STRIPE_LIVE_MODE", "false");
    worker.put("PAYRELAY_STRIPE_URL", simulator.stripeUrl().toString());
    worker.put("PAYRELAY_STRIPE_QUERY_LAG_MS", "500");
    parts.add(Parts.chargeWorker(OutboxStream.environment(infra, DatabaseUsers.WORKER, worker)));
    parts.add(Parts.relay(OutboxStream.environment(infra, DatabaseUsers.RELAY, Map.of())));
    parts.forEach(part -> PartRunner.awaitReady(part, reason -> {}));
  }

  private static void order(LocalStack infra) {
    Jdbi shop = Jdbi.create(infra.postgres().jdbcUrl(), DatabaseUsers.SHOP, "");
    shop.useHandle(
        handle -> {
          for (int i = 0; i < PAYMENTS; i++) {
            handle
                .createQuery(
                    """
                    SELECT payrelay.request_payment(:id, 'shop', :id, 'stripe', :amount, :currency,
                      provider_data => :data::jsonb)
                    """)
                .bind("id", "stripe_%06d".formatted(i))
                .bind("amount", 1000L + 10L * i)
                .bind("currency", CURRENCIES.get(i % CURRENCIES.size()))
                .bind("data", "{\"payment_method\": \"" + METHODS.get(i % METHODS.size()) + "\"}")
                .mapTo(String.class)
                .one();
          }
        });
  }

  /** A part of every fifth payment that was paid goes back; some of it fails, some comes back. */
  private static void giveBack(LocalStack infra, ProviderSimulator simulator) {
    Jdbi owner = Jdbi.create(infra.postgres().jdbcUrl(), infra.postgres().user(), "");
    List<String> paid =
        owner.withHandle(
            handle ->
                handle
                    .createQuery(
                        """
                        SELECT payment_id FROM payrelay.payment WHERE status = 'SUCCEEDED'
                        AND right(payment_id, 1) IN ('0', '5') ORDER BY payment_id
                        """)
                    .mapTo(String.class)
                    .list());
    Jdbi shop = Jdbi.create(infra.postgres().jdbcUrl(), DatabaseUsers.SHOP, "");
    shop.useHandle(
        handle ->
            paid.forEach(
                id ->
                    handle
                        .createQuery("SELECT payrelay.request_refund(:refund, :id, 500, :currency)")
                        .bind("refund", "back_" + id)
                        .bind("id", id)
                        .bind(
                            "currency",
                            CURRENCIES.get(
                                Integer.parseInt(id.substring(id.length() - 6))
                                    % CURRENCIES.size()))
                        .mapTo(String.class)
                        .one()));

    // Returned at the provider, or not: both books have to agree in the end.
    Awaitility.await()
        .atMost(Duration.ofMinutes(2))
        .pollInterval(POLL)
        .untilAsserted(
            () -> {
              List<SimulatedRefund> refunds = simulator.refunds();
              assertThat(given(owner))
                  .hasSameSizeAs(paid)
                  .containsExactlyInAnyOrderElementsOf(
                      refunds.stream().map(StripeSystemTest::shouldBe).toList());
            });
    assertThat(simulator.stats().idsRefundedTwice()).isZero();
  }

  private static String shouldBe(SimulatedRefund refund) {
    String status =
        refund.moneyReturned() ? "SUCCEEDED" : refund.everSucceeded() ? "RETURNED" : "FAILED";
    return refund.merchantRefundId() + " " + status;
  }

  private static List<String> given(Jdbi owner) {
    return owner.withHandle(
        handle ->
            handle
                .createQuery("SELECT refund_id || ' ' || status FROM payrelay.refund")
                .mapTo(String.class)
                .list());
  }

  private static void check(LocalStack infra, ProviderSimulator simulator, long startNs) {
    Invariants invariants =
        new Invariants(Jdbi.create(infra.postgres().jdbcUrl(), infra.postgres().user(), ""));
    try (StatusTopic topic =
        new StatusTopic(new KafkaConfig(infra.kafka().bootstrapServers(), Map.of()))) {
      long deadlineNs = System.nanoTime() + Duration.ofMinutes(3).toNanos();
      while (System.nanoTime() < deadlineNs
          && (invariants.unresolved() > 0 || invariants.missingStatusEvents(topic, POLL) > 0)) {
        topic.poll(POLL);
      }

      Report report =
          invariants.check(
              simulator.charges(), topic, Duration.ofNanos(System.nanoTime() - startNs));
      assertThat(report.violations()).as("%s %s", report, simulator.stats()).isEmpty();
      assertThat(report.payments()).isEqualTo(PAYMENTS);
      assertThat(report.succeeded()).isPositive();
      assertThat(report.failed()).isPositive();
      assertThat(simulator.stats().idsChargedTwice()).isZero();
      assertThat(simulator.stats().webhooksDelivered()).isPositive();
    }
  }
}

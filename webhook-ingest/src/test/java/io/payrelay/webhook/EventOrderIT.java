package io.payrelay.webhook;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.payrelay.platform.config.Secret;
import io.payrelay.platform.errors.Failures;
import io.payrelay.providers.WebhookAdapter;
import io.payrelay.providers.WebhookRequest;
import io.payrelay.providers.stripe.StripeWebhookConfig;
import io.payrelay.providers.stripe.StripeWebhooks;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BiFunction;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Every order of {processing, succeeded, failed late, refunded, disputed, dispute won} comes to the
 * same end, through the readers of both providers and through SQL. The first events of all orders
 * are one batch, and so on.
 */
// Source: nearmerch.com #209, solidus_stripe #189, stripe_event #75, hyperswitch #10340.
@Timeout(300)
class EventOrderIT {

  private static final List<String> KINDS =
      List.of("processing", "succeeded", "failed", "refunded", "disputed", "won");
  private static final int ORDERS = Boolean.getBoolean("payrelay.long") ? 720 : 30;

  private static final StripeWebhooks STRIPE =
      new StripeWebhooks(
          new StripeWebhookConfig(
              List.of(new Secret("whsec_" + "x".repeat(32))), Duration.ofMinutes(5), true, ""));
  private static final WebhookAdapter GENERIC = IngestFixture.adapter();

  @Test
  void reachesTheSameEndInAnyOrderOfEachProvidersEvents() {
    try (IngestFixture fixture =
        IngestFixture.start(Map.of(), IngestFaults.NONE, List.of(GENERIC, STRIPE))) {
      holdsForAnyOrder(fixture, GENERIC, "simulator", EventOrderIT::generic);
      holdsForAnyOrder(fixture, STRIPE, "stripe", EventOrderIT::stripe);
    }
  }

  private static void holdsForAnyOrder(
      IngestFixture fixture,
      WebhookAdapter adapter,
      String provider,
      BiFunction<String, String, String> event) {
    long seed = Long.getLong("payrelay.seed", System.nanoTime());
    List<List<String>> orders = orders(new Random(seed));
    List<String> payments = new ArrayList<>();
    for (int i = 0; i < orders.size(); i++) {
      payments.add(fixture.payment("pay_" + provider + "_order_" + i, provider));
    }
    for (int place = 0; place < KINDS.size(); place++) {
      List<Delivery> batch = new ArrayList<>();
      for (int i = 0; i < orders.size(); i++) {
        batch.add(delivery(adapter, event.apply(orders.get(i).get(place), payments.get(i))));
      }
      write(fixture, batch);
    }

    await()
        .atMost(Duration.ofMinutes(2))
        .untilAsserted(
            () ->
                assertThat(
                        fixture.count(
                            "SELECT count(*) FROM payrelay.provider_event WHERE disposition = 'PARKED'"))
                    .isZero());
    assertThat(
            fixture.texts(
                """
                SELECT DISTINCT concat_ws(' | ', p.status, p.version,
                  (SELECT string_agg(o.payload ->> 'status', ' ' ORDER BY (o.payload ->> 'version')::bigint)
                   FROM payrelay.outbox o WHERE o.aggregate_id = p.payment_id
                     AND o.event_type = 'PaymentStatusChanged'),
                  (SELECT string_agg(c.kind, ' ' ORDER BY c.kind) FROM payrelay.exception_case c
                   WHERE c.payment_id = p.payment_id),
                  (SELECT string_agg(concat_ws(' ', l.kind, e.side, split_part(e.account_id, ':', 1),
                     e.amount_minor), ', ' ORDER BY l.kind, e.side)
                   FROM payrelay.ledger_posting l JOIN payrelay.ledger_entry e USING (posting_id)
                   WHERE l.payment_id = p.payment_id))
                FROM payrelay.payment p WHERE p.provider = ?
                """,
                provider))
        .as("seed " + seed)
        .singleElement()
        .asString()
        .startsWith(
            "SUCCEEDED | 3 | PENDING SUCCEEDED | DISPUTED DISPUTE_WON PROVIDER_REFUND | CAPTURE CREDIT");
  }

  private static void write(IngestFixture fixture, List<Delivery> batch) {
    EventWriter writer =
        new EventWriter(
            new ParkSchedule(Duration.ofMillis(20), Duration.ofMillis(200), Duration.ofMinutes(5)),
            Duration.ofSeconds(30));
    Instant now = InstantSource.system().instant();
    AtomicReference<List<@Nullable Receipt>> written = new AtomicReference<>();
    await()
        // The matcher is at work on a payment that an event does not name.
        .ignoreExceptionsMatching(failure -> "55P03".equals(Failures.sqlState(failure)))
        .until(
            () -> {
              written.set(
                  Redo.untilDone(
                      () -> fixture.owner.inTransaction(tx -> writer.together(tx, batch, now))));
              return true;
            });
    List<@Nullable Receipt> receipts = written.get();
    for (int i = 0; i < batch.size(); i++) {
      if (receipts.get(i) == null) {
        // The matcher was at work on its payment.
        Delivery one = batch.get(i);
        Receipt receipt =
            Redo.untilDone(() -> fixture.owner.inTransaction(tx -> writer.alone(tx, one, now)));
        assertThat(receipt.kind()).isEqualTo(Receipt.Kind.NEW);
      }
    }
  }

  private static List<List<String>> orders(Random random) {
    List<List<String>> all = new ArrayList<>();
    permute(new ArrayList<>(), all);
    Collections.shuffle(all, random);
    return all.subList(0, ORDERS);
  }

  private static void permute(List<String> begun, List<List<String>> all) {
    if (begun.size() == KINDS.size()) {
      all.add(List.copyOf(begun));
      return;
    }
    for (String kind : KINDS) {
      if (!begun.contains(kind)) {
        List<String> next = new ArrayList<>(begun);
        next.add(kind);
        permute(next, all);
      }
    }
  }

  private static Delivery delivery(WebhookAdapter adapter, String body) {
    return Delivery.read(
        adapter,
        new WebhookRequest(Map.of("webhook-id", IngestFixture.newEventId()), body.getBytes(UTF_8)),
        "key",
        InstantSource.system().instant());
  }

  private static String generic(String kind, String payment) {
    return IngestFixture.event(
        switch (kind) {
          case "processing" -> "charge.pending";
          case "won" -> "charge.dispute_won";
          default -> "charge." + kind;
        },
        payment);
  }

  private static String stripe(String kind, String payment) {
    return switch (kind) {
      case "processing" ->
          stripeEvent("payment_intent.processing", intent(payment, "processing", ""));
      case "succeeded" -> stripeEvent("payment_intent.succeeded", intent(payment, "succeeded", ""));
      case "failed" ->
          stripeEvent(
              "payment_intent.payment_failed",
              intent(
                  payment,
                  "requires_payment_method",
                  "\"last_payment_error\":{\"code\":\"card_declined\"},"));
      case "refunded" -> stripeEvent("refund.created", part("re_", "refund", payment, "succeeded"));
      case "disputed" ->
          stripeEvent("charge.dispute.created", part("dp_", "dispute", payment, "needs_response"));
      case "won" -> stripeEvent("charge.dispute.closed", part("dp_", "dispute", payment, "won"));
      default -> throw new IllegalArgumentException(kind);
    };
  }

  private static String stripeEvent(String type, String object) {
    return """
        {"id":"%s","object":"event","api_version":"2025-09-30.clover","created":%d,"type":"%s",
         "livemode":true,"pending_webhooks":1,"data":{"object":%s}}"""
        .formatted(
            IngestFixture.newEventId(),
            InstantSource.system().instant().getEpochSecond(),
            type,
            object);
  }

  private static String intent(String payment, String status, String more) {
    return """
        {"id":"pi_%1$s","object":"payment_intent","amount":1999,"amount_received":1999,%3$s
         "currency":"eur","status":"%2$s","metadata":{"payrelay_payment_id":"%1$s"}}"""
        .formatted(payment, status, more);
  }

  private static String part(String prefix, String object, String payment, String status) {
    return """
        {"id":"%1$s%3$s","object":"%2$s","amount":500,"currency":"eur","charge":"ch_%3$s",
         "payment_intent":"pi_%3$s","status":"%4$s","metadata":{}}"""
        .formatted(prefix, object, payment, status);
  }
}

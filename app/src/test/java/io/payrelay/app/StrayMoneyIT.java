package io.payrelay.app;

import static org.assertj.core.api.Assertions.assertThat;

import io.payrelay.app.OperatorFixture.Result;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Money that nobody here had asked for, and events that wait for it. */
@Timeout(60)
class StrayMoneyIT {

  private static OperatorFixture fixture;

  @BeforeAll
  static void migrate() {
    fixture = new OperatorFixture();
  }

  @Test
  void whatWentBackAtTheProviderIsNotGivenBackAgain() {
    long id = stray("ch_part");
    event("simulator", "evt_paid", body("charge.succeeded", "ch_part", "re_0", 0));
    event("simulator", "evt_back_1", body("charge.refunded", "ch_part", "re_1", 500));
    event("simulator", "evt_back_2", body("charge.refunded", "ch_part", "re_1", 500));
    event("simulator", "evt_back_3", body("charge.refunded", "ch_part", "re_2", 99));
    // They failed at the provider, one after it had succeeded: the money did not go.
    event("simulator", "evt_failed_1", refund("refund.pending", "re_5", 0));
    event("simulator", "evt_failed_2", refund("refund.failed", "re_5", 9));
    event("simulator", "evt_failed_4", refund("refund.failed", "re_6", 9));
    event("simulator", "evt_failed_3", refund("refund.succeeded", "re_6", 8));
    event("simulator", "evt_other", body("charge.refunded", "ch_else", "re_3", 1));

    Result tooMuch = fixture.resolve(id, "--refund", "--amount-minor", "1401");
    assertThat(tooMuch.err())
        .contains(
            "599 of the 1999 EUR of transaction ch_part", "[evt_back_1, evt_back_2, evt_back_3]")
        .contains("refund 1400 at most");
    Result rest = fixture.resolve(id, "--refund");

    assertThat(rest.out())
        .contains("so the rest is asked for, 1400 EUR", "of 1400 EUR")
        .contains("simulator itself was not asked");
    assertThat(fixture.text("SELECT amount_minor FROM payrelay.refund")).isEqualTo("1400");
  }

  @Test
  void whereAllWentBackOrNobodyCanSayNothingIsAskedFor() {
    long all = stray("ch_all");
    event("simulator", "evt_all", body("charge.refunded", "ch_all", "re_4", 1999));
    long unread = stray("ch_odd");
    event("simulator", "evt_odd", "{\"about\":\"ch_odd\"}");

    assertThat(fixture.resolve(all, "--refund").err()).contains("nothing is left to refund");
    assertThat(fixture.resolve(unread, "--refund").err())
        .contains("Events [evt_odd] of simulator name transaction ch_odd and cannot be read");

    assertThat(
            fixture
                .resolve(
                    all, "--adopt", "--payment-id", "pay_all", "--merchant", "m", "--order", "o")
                .out())
        .contains("is payment pay_all now");
    assertThat(
            fixture.text(
                "SELECT count(*) FROM payrelay.refund WHERE provider_transaction_id IN ('ch_all', 'ch_odd')"))
        .isEqualTo("0");
  }

  @Test
  void eventsAreLeftAsTheyAreWhereTheSettingsAreOthersThanTheIngests() {
    event("simulator", "evt_name", body("charge.succeeded", "ch_name", "re_0", 0));
    event(
        "stripe",
        "evt_mode",
        """
        {"id":"evt_mode","object":"event","type":"payment_intent.succeeded","created":1764417600,"livemode":false,
        "data":{"object":{"id":"pi_1","object":"payment_intent","status":"succeeded","amount":1999,
        "amount_received":1999,"currency":"eur","metadata":{"payrelay_payment_id":"pay_mode"}}}}
        """);

    Result named =
        fixture.runWith("PAYRELAY_PROVIDER_NAME", "acme", reprocess("evt_name", "--execute"));
    Result planned = fixture.runWith("PAYRELAY_PROVIDER_NAME", "acme", reprocess("evt_name"));
    Result mode = fixture.run(reprocess("evt_mode", "--execute"));

    assertThat(named.exitCode()).isEqualTo(CommandLines.EXIT_FATAL);
    assertThat(named.err())
        .contains("Events of simulator cannot be read here", "PAYRELAY_PROVIDER_NAME is \"acme\"");
    assertThat(planned.err()).isEqualTo(named.err());
    assertThat(mode.err())
        .contains("Event evt_mode of stripe is left as it is", "PAYRELAY_STRIPE_LIVE_MODE");
    assertThat(
            fixture.text(
                """
                SELECT string_agg(DISTINCT disposition || match_count, ',') FROM payrelay.provider_event
                WHERE event_id IN ('evt_name', 'evt_mode')
                """))
        .isEqualTo("PARKED0");
    // The same as the ingest's: it waits on, however long it has waited by this command's settings.
    Result same =
        fixture.runWith(
            "PAYRELAY_INGEST_PARK_LIMIT_MS", "1000", reprocess("evt_name", "--execute"));
    assertThat(same.out()).contains("PARKED: 1");
  }

  private static String[] reprocess(String eventId, String... more) {
    String[] arguments = {
      "webhooks", "reprocess", "--event-id", eventId, "--by", "anna", "--reason", "mended"
    };
    String[] all = java.util.Arrays.copyOf(arguments, arguments.length + more.length);
    System.arraycopy(more, 0, all, arguments.length, more.length);
    return all;
  }

  private static long stray(String transactionId) {
    return Long.parseLong(
        fixture.text(
            """
            INSERT INTO payrelay.exception_case (business_key, kind, payment_id, provider,
              provider_transaction_id, observed_amount_minor, observed_currency, evidence, event_at)
            VALUES (gen_random_uuid()::text, 'UNMATCHED_PROVIDER_PAYMENT', 'nobody_1', 'simulator', ?,
              1999, 'EUR', '{"observation": "SUCCEEDED"}', now()) RETURNING exception_case_id
            """,
            transactionId));
  }

  private static String body(String type, String transactionId, String refundId, long refunded) {
    return """
        {"type":"%s","timestamp":"2026-11-29T12:00:00Z","data":{"id":"%s","merchant_transaction_id":"nobody_1",
        "status":"succeeded","amount":1999,"currency":"EUR","refund_id":"%s","refund_amount":%d}}"""
        .formatted(type, transactionId, refundId, refunded);
  }

  private static String refund(String type, String refundId, int second) {
    return """
        {"type":"%s","timestamp":"2026-11-29T12:00:0%dZ","data":{"id":"%s","charge":"ch_part",
        "merchant_transaction_id":"nobody_1","amount":700,"currency":"EUR"}}"""
        .formatted(type, second, refundId);
  }

  private static void event(String provider, String eventId, String body) {
    fixture.execute(
        """
        INSERT INTO payrelay.provider_event (provider, event_id, event_type, body, body_digest,
          business_digest, headers, key_id, disposition, received_at)
        VALUES (?, ?, 'some', convert_to(?, 'UTF8'), sha256('x'), sha256('x'),
          jsonb_build_object('webhook-id', ?::text), 'k', 'PARKED', now() - interval '1 minute')
        """,
        provider,
        eventId,
        body,
        eventId);
  }
}

package io.payrelay.webhook;

import static io.payrelay.webhook.IngestFixture.event;
import static io.payrelay.webhook.IngestFixture.newEventId;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.payrelay.payments.money.Money;
import io.payrelay.payments.store.CaseDesk;
import io.payrelay.payments.store.CaseResolution;
import io.payrelay.payments.store.Person;
import java.sql.Connection;
import java.sql.Statement;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.Map;
import org.jdbi.v3.core.Jdbi;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What people do with events that nobody here had asked for, beside a running ingest. */
@Timeout(60)
class OperatorIT {

  private static final Person ANNA = new Person("anna", "the shop had lost the row", "ticket 7");

  private static IngestFixture fixture;
  private static Jdbi operator;
  private static WebhookDesk webhooks;

  @BeforeAll
  static void start() {
    fixture =
        IngestFixture.start(
            Map.of("PAYRELAY_INGEST_PARK_LIMIT_MS", "200", "PAYRELAY_WEBHOOK_RETENTION_DAYS", "30"),
            IngestFaults.NONE);
    operator =
        Jdbi.create(
            () -> {
              Connection connection = fixture.connections.getConnection();
              try (Statement statement = connection.createStatement()) {
                statement.execute("SET ROLE payrelay_operator");
              }
              return connection;
            });
    webhooks =
        new WebhookDesk(
            operator,
            List.of(IngestFixture.adapter()),
            InstantSource.system(),
            Duration.ofSeconds(1));
  }

  @AfterAll
  static void stop() {
    fixture.close();
  }

  @Test
  void anAdoptedPaymentGetsTheEventsThatWaitedForItAndThoseThatComeLater() {
    String named = "pay_stray_" + Long.toHexString(System.nanoTime());
    String paid = newEventId();
    String disputed = newEventId();
    fixture.send(paid, event("charge.succeeded", named));
    fixture.send(disputed, event("charge.disputed", named));
    await().until(() -> fixture.disposition(paid).equals("UNMATCHED"));
    await().until(() -> fixture.disposition(disputed).equals("UNMATCHED"));
    long id =
        fixture.count(
            """
            SELECT exception_case_id FROM payrelay.exception_case
            WHERE evidence ->> 'event_id' = ? AND observed_amount_minor = 1999 AND observed_currency = 'EUR'
            """,
            paid);
    String ours = "ours_" + id;

    operator.useTransaction(
        tx -> {
          CaseDesk.Adopted adopted =
              new CaseDesk()
                  .resolve(
                      tx,
                      id,
                      new CaseResolution.Adopt(ours, "shop", "order-" + id),
                      ANNA,
                      InstantSource.system().instant())
                  .adopted();
          assertThat(adopted).isNotNull();
          assertThat(
                  webhooks.makeDue(
                      tx,
                      adopted.provider(),
                      adopted.namedPaymentId(),
                      adopted.providerTransactionId()))
              .containsExactlyInAnyOrder(paid, disputed);
        });

    await().until(() -> fixture.disposition(paid).equals("NO_CHANGE"));
    await().until(() -> fixture.disposition(disputed).equals("APPLIED"));
    String refunded = newEventId();
    fixture.send(refunded, event("charge.refunded", named));
    await().until(() -> fixture.disposition(refunded).equals("APPLIED"));
    assertThat(fixture.status(ours)).isEqualTo("SUCCEEDED");
    assertThat(fixture.capturedMinor(ours)).isEqualTo(1999);
    assertThat(fixture.statusEvents(ours)).containsExactly("PENDING", "SUCCEEDED");
    assertThat(fixture.cases(ours)).containsExactly("DISPUTED", "PROVIDER_REFUND");
    assertThat(
            fixture.count(
                """
                SELECT count(*) FROM payrelay.exception_case
                WHERE kind = 'UNMATCHED_PROVIDER_PAYMENT' AND payment_id = ? AND status = 'OPEN'
                """,
                named))
        .isZero();
    assertThat(
            fixture.count(
                """
                SELECT count(*) FROM payrelay.outbox
                WHERE aggregate_id = ? AND event_type = 'ChargeRequested'
                """,
                ours))
        .isZero();
  }

  @Test
  void aLatePaymentsEventIsReprocessedAndItsCaseResolved() {
    String payment = "pay_late_" + Long.toHexString(System.nanoTime());
    String id = newEventId();
    fixture.send(id, event("charge.succeeded", payment));
    await().until(() -> fixture.disposition(id).equals("UNMATCHED"));
    fixture.payment(payment);

    assertThat(webhooks.reprocess("simulator", id, ANNA)).contains(Disposition.APPLIED);
    assertThat(webhooks.reprocess("simulator", id, ANNA)).contains(Disposition.APPLIED);

    assertThat(fixture.statusEvents(payment)).containsExactly("PENDING", "SUCCEEDED");
    assertThat(
            fixture.text(
                """
                SELECT status || ' ' || resolved_by FROM payrelay.exception_case
                WHERE evidence ->> 'event_id' = ?
                """,
                id))
        .isEqualTo("RESOLVED anna");
    assertThat(
            fixture.count("SELECT count(*) FROM payrelay.operator_action WHERE event_id = ?", id))
        .isEqualTo(1);
  }

  @Test
  void oldBodiesAreWipedAndTheirDigestsStay() {
    String payment = fixture.payment();
    String settled = newEventId();
    String disputed = newEventId();
    String young = newEventId();
    String body = event("charge.succeeded", payment);
    fixture.send(settled, body);
    fixture.send(young, event("charge.pending", payment));
    String other = fixture.payment();
    fixture.send(disputed, event("charge.disputed", other));
    age(settled, 31);
    age(disputed, 31);
    IngestMetrics unseen = new IngestMetrics(new SimpleMeterRegistry());
    Jdbi ingest = fixture.owner;

    new EventRetention(ingest, 0, InstantSource.system(), unseen).runOnce();
    assertThat(wiped(settled)).isFalse();
    assertThat(new EventRetention(ingest, 30, InstantSource.system(), unseen).runOnce())
        .isEqualTo(1);

    assertThat(wiped(settled)).isTrue();
    assertThat(wiped(disputed)).as("an open case is about it").isFalse();
    assertThat(wiped(young)).isFalse();
    assertThat(
            fixture.text(
                """
                SELECT octet_length(body) || ' ' || headers::text || ' ' || octet_length(body_digest)
                FROM payrelay.provider_event WHERE event_id = ?
                """,
                settled))
        .isEqualTo("0 {} 32");
    assertThat(fixture.send(settled, body)).as("still known as a duplicate").isEqualTo(204);
    assertThat(fixture.disposition(settled)).isEqualTo("APPLIED");
    assertThat(webhooks.reprocess("simulator", settled, ANNA)).isEmpty();
    for (String change :
        List.of("body = 'x'", "wiped_at = NULL", "headers = '{\"a\": 1}'", "key_id = 'x'")) {
      assertThatThrownBy(
              () ->
                  fixture.execute(
                      "UPDATE payrelay.provider_event SET " + change + " WHERE event_id = ?",
                      settled))
          .as(change)
          .hasMessageContaining("is evidence and does not change");
    }
    assertThatThrownBy(
            () ->
                fixture.execute("DELETE FROM payrelay.provider_event WHERE event_id = ?", settled))
        .hasMessageContaining("append-only");
  }

  @Test
  void contradictingBodiesGoByTheirOwnAgeThoughNothingElseIsWiped() {
    String payment = fixture.payment();
    String id = newEventId();
    fixture.send(id, event("charge.succeeded", payment));
    age(id, 60);
    IngestMetrics unseen = new IngestMetrics(new SimpleMeterRegistry());
    new EventRetention(fixture.owner, 30, InstantSource.system(), unseen).runOnce();
    assertThat(wiped(id)).isTrue();
    fixture.send(id, event("charge.pending", payment));
    String kept = "SELECT count(*) FROM payrelay.provider_event_conflict WHERE event_id = ?";
    agedConflict(id, 31);

    new EventRetention(fixture.owner, 30, InstantSource.system(), unseen).runOnce();
    assertThat(fixture.count(kept, id)).as("a case is open").isEqualTo(1);
    fixture.execute(
        """
        UPDATE payrelay.exception_case SET status = 'RESOLVED', resolved_at = clock_timestamp(),
          resolved_by = 'anna', resolution = 'seen' WHERE evidence ->> 'event_id' = ?
        """,
        id);
    new EventRetention(fixture.owner, 30, InstantSource.system(), unseen).runOnce();

    assertThat(fixture.count(kept, id)).isZero();
  }

  /** A refund that hides behind an escape would be given back once more. */
  @Test
  void findsEventsWhoseTransactionIsWrittenWithEscapes() {
    for (String written : List.of("txn\\/9", "\\u0074xn/9")) {
      String body = event("charge.refunded", "pay_nobody_9", "CHARGE", 500, "EUR");
      fixture.send(newEventId(), body.replace("CHARGE", written));
    }
    fixture.send(newEventId(), event("charge.refunded", "pay_nobody_9", "txn/8", 700, "EUR"));

    GoneMoney gone =
        operator.withHandle(
            tx -> webhooks.gone(tx, "simulator", null, "txn/9", new Money(1999, "EUR")));

    // Both tell of one refund, re_1.
    assertThat(gone.minor()).isEqualTo(500);
    assertThat(gone.unread()).isEmpty();
  }

  private static void agedConflict(String eventId, int days) {
    fixture.owner.useTransaction(
        tx -> {
          tx.execute("SET LOCAL session_replication_role = replica");
          tx.execute(
              "UPDATE payrelay.provider_event_conflict"
                  + " SET received_at = now() - make_interval(days => ?) WHERE event_id = ?",
              days,
              eventId);
        });
  }

  private static boolean wiped(String eventId) {
    return fixture
        .text(
            "SELECT wiped_at IS NOT NULL FROM payrelay.provider_event WHERE event_id = ?", eventId)
        .equals("t");
  }

  /** Only here, as the owner and with the guard put aside. */
  private static void age(String eventId, int days) {
    fixture.owner.useTransaction(
        tx -> {
          tx.execute("SET LOCAL session_replication_role = replica");
          tx.execute(
              "UPDATE payrelay.provider_event SET received_at = now() - make_interval(days => ?)"
                  + " WHERE event_id = ?",
              days,
              eventId);
        });
  }
}

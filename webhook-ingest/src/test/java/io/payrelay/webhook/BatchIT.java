package io.payrelay.webhook;

import static io.payrelay.webhook.IngestFixture.event;
import static io.payrelay.webhook.IngestFixture.newEventId;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.payrelay.platform.config.Secret;
import io.payrelay.platform.database.Database;
import io.payrelay.platform.database.DatabaseConfig;
import io.payrelay.platform.lifecycle.Backoff;
import io.payrelay.providers.WebhookAdapter;
import io.payrelay.providers.WebhookRequest;
import io.payrelay.webhook.Receipt.Kind;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What is committed together must come out as if each event had come alone. */
@Timeout(60)
class BatchIT {

  private static final ParkSchedule PARK =
      new ParkSchedule(Duration.ofMillis(20), Duration.ofSeconds(1), Duration.ofMinutes(5));
  private static final Duration DEADLINE = Duration.ofSeconds(20);

  private static IngestFixture fixture;
  private static Database database;
  private static WebhookAdapter adapter;

  @BeforeAll
  static void start() {
    fixture = IngestFixture.start();
    adapter = IngestFixture.adapter();
    database = Database.openForKeys(config(), "test");
  }

  private static DatabaseConfig config() {
    return new DatabaseConfig(
        fixture.url, fixture.login, new Secret("ingest"), 8, Duration.ofSeconds(5));
  }

  @AfterAll
  static void stop() {
    database.close();
    fixture.close();
  }

  /** Holds the first two transactions, one of each writer: what comes meanwhile is one batch. */
  private static final class Held implements IngestFaults {
    private final CountDownLatch inside = new CountDownLatch(2);
    private final CountDownLatch goOn = new CountDownLatch(1);

    @Override
    public void beforeCommit() {
      inside.countDown();
      try {
        goOn.await();
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    }
  }

  @Test
  void storesTheOneBadEventAmongManyGoodOnesAloneAndAppliesTheOthers() throws Exception {
    // Stands for whatever the schema refuses in good order.
    fixture.execute(
        "ALTER TABLE payrelay.ledger_account ADD CONSTRAINT no_xbt CHECK (currency <> 'XBT')");
    List<String> payments = new ArrayList<>();
    for (int i = 0; i < 40; i++) {
      payments.add(fixture.payment());
    }
    List<CompletableFuture<Receipt>> receipts = new ArrayList<>();
    Held held = new Held();
    try (Ingest ingest = ingest(held, 100)) {
      occupy(ingest, held);
      for (int i = 0; i < 40; i++) {
        String currency = i == 20 ? "XBT" : "EUR";
        String payment = payments.get(i);
        receipts.add(
            receive(
                ingest,
                newEventId(),
                event("charge.succeeded", payment, "ch_" + payment, 1999, currency)));
      }
      held.goOn.countDown();
      for (int i = 0; i < 40; i++) {
        assertThat(receipts.get(i).get().disposition())
            .isEqualTo(i == 20 ? Disposition.FAILED : Disposition.APPLIED);
      }
    } finally {
      fixture.execute("ALTER TABLE payrelay.ledger_account DROP CONSTRAINT no_xbt");
    }
    for (int i = 0; i < 40; i++) {
      assertThat(fixture.status(payments.get(i))).isEqualTo(i == 20 ? "CREATED" : "SUCCEEDED");
      assertThat(fixture.capturedMinor(payments.get(i))).isEqualTo(i == 20 ? 0 : 1999);
    }
  }

  @Test
  void takesTheFirstOfSeveralDeliveriesInOneBatchAndTellsTheOthersFromIt() {
    String payment = fixture.payment();
    String id = newEventId();
    String body = event("charge.succeeded", payment);
    String other = event("charge.succeeded", payment, "ch_" + payment, 5, "EUR");

    List<Receipt> receipts =
        together(List.of(delivery(id, body), delivery(id, body), delivery(id, other)));

    assertThat(receipts)
        .extracting(Receipt::kind)
        .containsExactly(Kind.NEW, Kind.DUPLICATE, Kind.CONFLICTING);
    assertThat(receipts).extracting(Receipt::disposition).containsOnly(Disposition.APPLIED);
    assertThat(
            fixture.text(
                "SELECT delivery_count FROM payrelay.provider_event WHERE event_id = ?", id))
        .isEqualTo("3");
    assertThat(fixture.cases(payment)).containsExactly("WEBHOOK_CONFLICT");
    assertThat(fixture.capturedMinor(payment)).isEqualTo(1999);
  }

  @Test
  void readsNoTableWhole() {
    List<Delivery> deliveries = new ArrayList<>();
    for (int i = 0; i < 20; i++) {
      deliveries.add(delivery(newEventId(), event("charge.succeeded", fixture.payment())));
    }

    List<String> readWhole =
        database
            .jdbi()
            .inTransaction(
                tx -> {
                  assertThat(
                          new EventWriter(PARK, Duration.ofSeconds(5))
                              .together(tx, deliveries, InstantSource.system().instant()))
                      .extracting(Receipt::disposition)
                      .containsOnly(Disposition.APPLIED);
                  return tx.createQuery(
                          "SELECT relname FROM pg_stat_xact_user_tables WHERE seq_scan > 0")
                      .mapTo(String.class)
                      .list();
                });

    assertThat(readWhole).isEmpty();
  }

  @Test
  void onlyAProcessThatLooksUpByKeyForbidsToReadTablesWhole() {
    try (Database people = Database.open(config(), "test-people")) {
      assertThat(readsWhole(people)).isEqualTo("on");
    }
    assertThat(readsWhole(database)).isEqualTo("off");
  }

  /** As the connection was started, whatever was SET since. */
  private static String readsWhole(Database of) {
    return of.jdbi()
        .withHandle(
            tx -> {
              tx.execute("RESET ALL");
              return tx.createQuery("SHOW enable_seqscan").mapTo(String.class).one();
            });
  }

  @Test
  void appliesEventsOfOnePaymentInTheOrderInWhichTheyCame() {
    String payment = fixture.payment();
    String pending = newEventId();
    String succeeded = newEventId();

    List<Receipt> receipts =
        together(
            List.of(
                delivery(pending, event("charge.pending", payment)),
                delivery(succeeded, event("charge.succeeded", payment)),
                delivery(newEventId(), event("charge.failed", payment)),
                delivery(newEventId(), event("charge.refunded", payment)),
                delivery(newEventId(), "{\"type\":")));

    assertThat(receipts)
        .extracting(Receipt::disposition)
        .containsExactly(
            Disposition.APPLIED,
            Disposition.APPLIED,
            Disposition.NO_CHANGE,
            Disposition.APPLIED,
            Disposition.FAILED);
    assertThat(fixture.statusEvents(payment)).containsExactly("PENDING", "SUCCEEDED");
    assertThat(fixture.cases(payment)).containsExactly("PROVIDER_REFUND");
    assertThat(
            fixture.texts(
                """
                SELECT evidence ->> 'event_id' FROM payrelay.payment_event
                WHERE payment_id = ? AND version > 1 ORDER BY version
                """,
                payment))
        .containsExactly(pending, succeeded);
  }

  @Test
  void staysTrueWhereBothWritersGetEventsOfTheSamePayments() throws Exception {
    List<String> payments = new ArrayList<>();
    for (int i = 0; i < 6; i++) {
      payments.add(fixture.payment());
    }
    List<CompletableFuture<Receipt>> receipts = new ArrayList<>();
    try (Ingest ingest = ingest(IngestFaults.NONE, 1_000)) {
      for (int round = 0; round < 40; round++) {
        for (String payment : payments) {
          String type = List.of("pending", "succeeded", "failed", "refunded").get(round % 4);
          receipts.add(receive(ingest, newEventId(), event("charge." + type, payment)));
        }
      }
      for (CompletableFuture<Receipt> receipt : receipts) {
        assertThat(receipt.get().kind()).isEqualTo(Kind.NEW);
      }
    }
    for (String payment : payments) {
      assertThat(fixture.statusEvents(payment)).containsExactly("PENDING", "SUCCEEDED");
      assertThat(fixture.capturedMinor(payment)).isEqualTo(1999);
      assertThat(fixture.cases(payment)).containsExactly("PROVIDER_REFUND");
    }
  }

  @Test
  void letsNobodyWaitForAPaymentThatSomebodyElseHolds() throws Exception {
    String stuck = fixture.payment();
    List<String> others = new ArrayList<>();
    for (int i = 0; i < 20; i++) {
      others.add(fixture.payment());
    }
    try (Ingest ingest = ingest(IngestFaults.NONE, 100)) {
      CompletableFuture<Receipt> waits =
          fixture.owner.inTransaction(
              tx -> {
                tx.select("SELECT 1 FROM payrelay.payment WHERE payment_id = ? FOR UPDATE", stuck)
                    .mapTo(Integer.class)
                    .one();
                List<CompletableFuture<Receipt>> receipts = new ArrayList<>();
                CompletableFuture<Receipt> first =
                    receive(ingest, newEventId(), event("charge.succeeded", stuck));
                for (String other : others) {
                  receipts.add(receive(ingest, newEventId(), event("charge.succeeded", other)));
                }
                for (CompletableFuture<Receipt> one : receipts) {
                  assertThat(one.get().disposition()).isEqualTo(Disposition.APPLIED);
                }
                assertThat(first).isNotDone();
                return first;
              });
      assertThat(waits.get().disposition()).isEqualTo(Disposition.APPLIED);
    }
    assertThat(fixture.statusEvents(stuck)).containsExactly("PENDING", "SUCCEEDED");
  }

  @Test
  void turnsAwayAtOnceWhatFindsNoRoomAndForgetsWhomNobodyAwaits() throws Exception {
    String payment = fixture.payment();
    String late = newEventId();
    Held held = new Held();
    try (Ingest ingest = ingest(held, 1)) {
      occupy(ingest, held);
      CompletableFuture<Receipt> waits = receive(ingest, late, event("charge.succeeded", payment));
      assertThatThrownBy(() -> receive(ingest, newEventId(), event("charge.pending", payment)))
          .isInstanceOf(RejectedExecutionException.class);
      // Its sender has been told to deliver again.
      waits.cancel(false);
      held.goOn.countDown();
      await()
          .ignoreExceptions()
          .untilAsserted(
              () ->
                  assertThat(receive(ingest, newEventId(), event("charge.pending", payment)).get())
                      .isNotNull());
    }
    assertThat(fixture.disposition(late)).isEqualTo("none");
    assertThat(fixture.status(payment)).isEqualTo("PENDING");
  }

  private static void occupy(Ingest ingest, Held held) {
    for (int i = 1; i <= 2; i++) {
      int inside = i;
      var unused = receive(ingest, newEventId(), event("charge.pending", fixture.payment()));
      await().until(() -> held.inside.getCount() == 2 - inside);
    }
  }

  private static Ingest ingest(IngestFaults faults, int waitingMax) {
    return new Ingest(
        database.jdbi(),
        InstantSource.system(),
        new EventWriter(PARK, Duration.ofSeconds(5)),
        faults,
        DEADLINE,
        waitingMax,
        8,
        new Backoff(Duration.ofMillis(10), Duration.ofSeconds(1), new Random(1)));
  }

  private static CompletableFuture<Receipt> receive(Ingest ingest, String eventId, String body) {
    return ingest
        .receive(adapter, request(eventId, body), "key")
        .orTimeout(DEADLINE.toSeconds(), TimeUnit.SECONDS);
  }

  private static List<Receipt> together(List<Delivery> deliveries) {
    return database
        .jdbi()
        .inTransaction(
            tx ->
                new EventWriter(PARK, Duration.ofSeconds(5))
                    .together(tx, deliveries, InstantSource.system().instant()));
  }

  private static Delivery delivery(String eventId, String body) {
    return Delivery.read(adapter, request(eventId, body), "key", InstantSource.system().instant());
  }

  private static WebhookRequest request(String eventId, String body) {
    return new WebhookRequest(Map.of("webhook-id", eventId), body.getBytes(UTF_8));
  }
}

package io.payrelay.webhook;

import static io.payrelay.webhook.IngestFixture.event;
import static io.payrelay.webhook.IngestFixture.newEventId;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.payrelay.localstack.LocalPostgres;
import java.net.http.HttpResponse;
import java.sql.Connection;
import java.sql.Statement;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import org.jdbi.v3.core.Jdbi;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class IngestOutageIT {

  @Test
  void answers503WhileTheDatabaseIsAwayAndTakesTheRedelivery() {
    try (LocalPostgres postgres = LocalPostgres.builder().start();
        IngestFixture fixture =
            IngestFixture.start(
                postgres.jdbcUrl(),
                postgres.user(),
                postgres.password(),
                Map.of("PAYRELAY_INGEST_DATABASE_WAIT_MS", "250"),
                IngestFaults.NONE)) {
      String payment = fixture.payment();
      String id = newEventId();
      String body = event("charge.succeeded", payment);

      postgres.stop();
      long startedNs = System.nanoTime();
      assertThat(fixture.send(id, body)).isEqualTo(503);
      assertThat(Duration.ofNanos(System.nanoTime() - startedNs)).isLessThan(Duration.ofSeconds(3));
      postgres.start();

      await().until(() -> fixture.send(id, body) == 204);
      assertThat(fixture.status(payment)).isEqualTo("SUCCEEDED");
      assertThat(fixture.statusEvents(payment)).containsExactly("PENDING", "SUCCEEDED");
    }
  }

  @Test
  void leavesNothingBehindWhereTheConnectionBreaksBeforeCommit() {
    AtomicBoolean breaks = new AtomicBoolean(true);
    AtomicReference<IngestFixture> running = new AtomicReference<>();
    IngestFaults faults =
        new IngestFaults() {
          @Override
          public void beforeCommit() {
            if (breaks.getAndSet(false)) {
              running
                  .get()
                  .count(
                      """
                      SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
                      WHERE datname = current_database() AND application_name = 'payrelay-webhook-ingest'
                        AND state = 'idle in transaction'
                      """);
            }
          }
        };
    try (IngestFixture fixture = IngestFixture.start(Map.of(), faults)) {
      running.set(fixture);
      String payment = fixture.payment();
      String id = newEventId();
      String body = event("charge.succeeded", payment);

      assertThat(fixture.send(id, body)).isEqualTo(503);
      assertThat(fixture.disposition(id)).isEqualTo("none");
      assertThat(fixture.status(payment)).isEqualTo("CREATED");

      assertThat(fixture.send(id, body)).isEqualTo(204);
      assertThat(fixture.statusEvents(payment)).containsExactly("PENDING", "SUCCEEDED");
    }
  }

  @Test
  void answers503WhileTheDatabaseIsFullAndLeavesNothingHalfDone() {
    try (IngestFixture fixture = IngestFixture.start()) {
      String payment = fixture.payment();
      String id = newEventId();
      String body = event("charge.succeeded", payment);
      // Stands for a full disk at the last of the writes.
      fixture.owner.useHandle(
          handle -> {
            handle.execute(
                """
                CREATE FUNCTION payrelay.disk_full() RETURNS trigger LANGUAGE plpgsql AS
                $$ BEGIN RAISE EXCEPTION 'full' USING ERRCODE = 'disk_full'; END $$
                """);
            handle.execute(
                """
                CREATE TRIGGER disk_full BEFORE INSERT ON payrelay.provider_event
                FOR EACH ROW EXECUTE FUNCTION payrelay.disk_full()
                """);
          });

      assertThat(fixture.send(id, body)).isEqualTo(503);
      assertThat(fixture.status(payment)).isEqualTo("CREATED");
      assertThat(fixture.statusEvents(payment)).isEmpty();
      assertThat(fixture.capturedMinor(payment)).isZero();

      fixture.owner.useHandle(
          handle -> handle.execute("DROP TRIGGER disk_full ON payrelay.provider_event"));
      assertThat(fixture.send(id, body)).isEqualTo(204);
      assertThat(fixture.statusEvents(payment)).containsExactly("PENDING", "SUCCEEDED");
    }
  }

  /** A missing privilege is our state, not the event's: it would be every event's. */
  @Test
  void answers503WhereAPrivilegeIsMissingAndStoresNothing() {
    try (IngestFixture fixture = IngestFixture.start()) {
      String payment = fixture.payment();
      String id = newEventId();
      String body = event("charge.succeeded", payment);
      fixture.execute("REVOKE INSERT ON payrelay.ledger_posting FROM payrelay_ingest");

      assertThat(fixture.send(id, body)).isEqualTo(503);
      assertThat(fixture.send(id, body)).isEqualTo(503);
      assertThat(fixture.disposition(id)).isEqualTo("none");
      assertThat(fixture.status(payment)).isEqualTo("CREATED");
      assertThat(fixture.count("SELECT count(*) FROM payrelay.exception_case")).isZero();

      fixture.execute("GRANT INSERT ON payrelay.ledger_posting TO payrelay_ingest");
      assertThat(fixture.send(id, body)).isEqualTo(204);
      assertThat(fixture.statusEvents(payment)).containsExactly("PENDING", "SUCCEEDED");
    }
  }

  @Test
  void keepsOneProvidersFloodFromTakingAllTheRoom() throws Exception {
    CountDownLatch inside = new CountDownLatch(2);
    CountDownLatch goOn = new CountDownLatch(1);
    IngestFaults faults =
        new IngestFaults() {
          @Override
          public void beforeCommit() {
            inside.countDown();
            awaitQuietly(goOn);
          }
        };
    ExecutorService pool = Executors.newFixedThreadPool(2);
    try (IngestFixture fixture =
        IngestFixture.start(Map.of("PAYRELAY_INGEST_PROVIDER_REQUESTS_MAX", "2"), faults)) {
      List<Future<Integer>> running = new ArrayList<>();
      for (int i = 0; i < 2; i++) {
        String payment = fixture.payment();
        running.add(
            pool.submit(() -> fixture.send(newEventId(), event("charge.pending", payment))));
        awaitInside(inside, i + 1);
      }

      String body = event("charge.pending", fixture.payment());
      HttpResponse<String> third =
          fixture.send(
              "simulator", IngestFixture.signed(IngestFixture.SECRET, newEventId(), 0, body), body);
      assertThat(third.statusCode()).isEqualTo(429);
      assertThat(third.headers().firstValue("retry-after")).isPresent();

      goOn.countDown();
      for (Future<Integer> one : running) {
        assertThat(one.get()).isEqualTo(204);
      }
    } finally {
      goOn.countDown();
      pool.shutdownNow();
    }
  }

  @Test
  void changesNothingTwiceWhereTheAnswerIsLostAfterCommit() {
    AtomicBoolean breaks = new AtomicBoolean(true);
    IngestFaults faults =
        new IngestFaults() {
          @Override
          public void afterCommit() {
            if (breaks.getAndSet(false)) {
              throw new IllegalStateException("the process dies here");
            }
          }
        };
    try (IngestFixture fixture = IngestFixture.start(Map.of(), faults)) {
      String payment = fixture.payment();
      String id = newEventId();
      String body = event("charge.succeeded", payment);

      assertThat(fixture.send(id, body)).isEqualTo(503);
      assertThat(fixture.send(id, body)).isEqualTo(204);

      assertThat(fixture.statusEvents(payment)).containsExactly("PENDING", "SUCCEEDED");
      assertThat(fixture.capturedMinor(payment)).isEqualTo(1999);
    }
  }

  @Test
  void givesUpOnAPaymentThatSomebodyKeepsLockedAndStoresNothing() {
    try (IngestFixture fixture =
        IngestFixture.start(
            Map.of("PAYRELAY_INGEST_STATEMENT_TIMEOUT_MS", "200"), IngestFaults.NONE)) {
      String payment = fixture.payment();
      String id = newEventId();
      String body = event("charge.succeeded", payment);

      fixture.owner.useTransaction(
          tx -> {
            tx.select("SELECT 1 FROM payrelay.payment WHERE payment_id = ? FOR UPDATE", payment)
                .mapTo(Integer.class)
                .one();
            assertThat(fixture.send(id, body)).isEqualTo(503);
          });

      assertThat(fixture.disposition(id)).isEqualTo("none");
      assertThat(fixture.send(id, body)).isEqualTo(204);
      assertThat(fixture.status(payment)).isEqualTo("SUCCEEDED");
    }
  }

  @Test
  void handsAnEventWhosePaymentNeverComesToAPerson() {
    try (IngestFixture fixture =
        IngestFixture.start(Map.of("PAYRELAY_INGEST_PARK_LIMIT_MS", "200"), IngestFaults.NONE)) {
      String id = newEventId();
      String payment = "pay_never_1";
      assertThat(fixture.send(id, event("charge.succeeded", payment))).isEqualTo(204);

      await().until(() -> fixture.disposition(id).equals("UNMATCHED"));
      assertThat(
              fixture.text(
                  """
                  SELECT concat_ws(' ', payment_id, provider_transaction_id, observed_amount_minor,
                    observed_currency) FROM payrelay.exception_case
                  WHERE kind = 'UNMATCHED_PROVIDER_PAYMENT'
                  """))
          .isEqualTo("pay_never_1 ch_pay_never_1 1999 EUR");

      // The upstream's row turns up after all: a person applies the event.
      fixture.payment(payment);
      assertThat(asOperator(fixture).reprocess("simulator", id)).contains(Disposition.APPLIED);
      assertThat(fixture.ingest.reprocess("simulator", id)).contains(Disposition.APPLIED);
      assertThat(fixture.status(payment)).isEqualTo("SUCCEEDED");
    }
  }

  @Test
  void turnsTheCrowdAwayAtOnceAndFinishesWhatRunsBeforeItStops() throws Exception {
    CountDownLatch inside = new CountDownLatch(2);
    CountDownLatch goOn = new CountDownLatch(1);
    IngestFaults faults =
        new IngestFaults() {
          @Override
          public void beforeCommit() {
            inside.countDown();
            awaitQuietly(goOn);
          }
        };
    ExecutorService pool = Executors.newFixedThreadPool(3);
    IngestFixture fixture =
        IngestFixture.start(Map.of("PAYRELAY_INGEST_CONCURRENT_REQUESTS_MAX", "2"), faults);
    try {
      String one = fixture.payment();
      String other = fixture.payment();
      Future<Integer> first =
          pool.submit(() -> fixture.send(newEventId(), event("charge.pending", one)));
      awaitInside(inside, 1);
      Future<Integer> second =
          pool.submit(() -> fixture.send(newEventId(), event("charge.pending", other)));
      awaitInside(inside, 2);

      long startedNs = System.nanoTime();
      assertThat(fixture.send(newEventId(), event("charge.pending", one))).isEqualTo(503);
      assertThat(Duration.ofNanos(System.nanoTime() - startedNs)).isLessThan(Duration.ofSeconds(2));

      Future<?> stopped = pool.submit(fixture.ingest::close);
      goOn.countDown();
      assertThat(first.get()).isEqualTo(204);
      assertThat(second.get()).isEqualTo(204);
      stopped.get();
      assertThat(fixture.status(one)).isEqualTo("PENDING");
    } finally {
      goOn.countDown();
      pool.shutdownNow();
      fixture.close();
    }
  }

  private static ParkedMatcher asOperator(IngestFixture fixture) {
    Jdbi operator =
        Jdbi.create(
            () -> {
              Connection connection = fixture.connections.getConnection();
              try (Statement statement = connection.createStatement()) {
                statement.execute("SET ROLE payrelay_operator");
              }
              return connection;
            });
    return ParkedMatcher.forCommands(
        operator,
        List.of(IngestFixture.adapter()),
        InstantSource.system(),
        new ParkSchedule(Duration.ofSeconds(1), Duration.ofSeconds(1), Duration.ofSeconds(1)));
  }

  /** One after the other: together they would be one transaction. */
  private static void awaitInside(CountDownLatch inside, int requests) {
    await().until(() -> inside.getCount() == 2 - requests);
  }

  private static void awaitQuietly(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}

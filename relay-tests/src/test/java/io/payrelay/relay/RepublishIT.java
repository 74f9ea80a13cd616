package io.payrelay.relay;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.sql.Connection;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.header.Header;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(120)
class RepublishIT {

  private static final Duration QUIET = Duration.ofSeconds(2);

  @Test
  void sendsStoredEventsAgainWithTheirIdsAndSaysSo() throws Exception {
    try (RecoveryFixture fixture = RecoveryFixture.prepared()) {
      Instant from = Instant.now().minusSeconds(1);
      fixture.relay.startActive();
      fixture.relay.insertCommitted(1, 140);
      fixture.relay.execute(
          """
          INSERT INTO payrelay.outbox (aggregate_type, aggregate_id, event_type, payload)
          VALUES ('payment', 'a3', 'NobodyKnowsIt', '{}')
          """);
      fixture.oracle.await(Duration.ofSeconds(30));
      Instant to = Instant.now();
      RepublishSelection two = new RepublishSelection(from, to, List.of("a3", "a5"), 100);

      RepublishReport planned = fixture.republisher().plan(two);
      assertThat(planned.byType())
          .isEqualTo(Map.of("payrelay.charge-requests ChargeRequested", 40L));
      assertThat(planned.unencodable()).hasSize(1);
      fixture.oracle.await(QUIET);
      assertThat(fixture.oracle.republished()).isEmpty();

      RepublishReport sent = fixture.republisher().execute(two);
      OutboxOracle.Verdict verdict = fixture.oracle.await(QUIET);
      assertThat(sent.byType()).isEqualTo(planned.byType());
      assertThat(sent.unencodable()).isEqualTo(planned.unencodable());
      assertThat(verdict.clean()).as("%s", verdict).isTrue();
      assertThat(fixture.oracle.republished()).hasSize(40);
      assertThat(ids(fixture)).isEqualTo(table(fixture, "aggregate_id IN ('a3', 'a5')"));
      ConsumerRecord<byte[], byte[]> record = fixture.oracle.republished().get(0);
      assertThat(Arrays.stream(record.headers().toArray()).map(Header::key))
          .containsExactlyInAnyOrder(
              "ce_specversion",
              "ce_id",
              "ce_type",
              "ce_source",
              "ce_subject",
              "ce_time",
              "content-type",
              "payrelay-republished");
      assertThat(fixture.relay.meters.get("payrelay.relay.recoveries").counter().count())
          .as("the relay is not fenced")
          .isZero();

      assertThatThrownBy(
              () -> fixture.republisher().execute(new RepublishSelection(from, to, List.of(), 100)))
          .hasMessageContaining("More than 100 events");
      assertThatThrownBy(
              () ->
                  fixture
                      .republisher()
                      .plan(new RepublishSelection(from, to.plusSeconds(60), List.of(), 100)))
          .hasMessageContaining("future");
    }
  }

  @Test
  void whatWasOnlyRepublishedIsStillMissingForARecovery() throws Exception {
    try (RecoveryFixture fixture = RecoveryFixture.prepared()) {
      fixture.publish(2, 2);
      fixture.dropSlot();
      fixture.relay.insertCommitted(1, 10);
      Instant now = Instant.now();
      fixture
          .republisher()
          .execute(new RepublishSelection(now.minusSeconds(60), now, List.of(), 100));

      assertThat(fixture.execute().missing()).isEqualTo(10);
      OutboxOracle.Verdict verdict = fixture.verdictAfterStreamingOn();
      assertThat(verdict.clean()).as("%s", verdict).isTrue();
      assertThat(fixture.oracle.republished()).hasSize(14);
    }
  }

  @Test
  void findsRowsThatTheUpkeepHasTakenOut() throws Exception {
    try (RecoveryFixture fixture = RecoveryFixture.prepared()) {
      fixture.publish(2, 2);
      fixture.dropSlot();
      try (Connection connection = fixture.relay.connect()) {
        fixture.relay.insert(connection, 5, "now() - interval '20 days'", "old");
      }
      Instant to = Instant.now();
      assertThat(fixture.relay.query("SELECT payrelay.rotate_outbox_default(7, 2000, -1)"))
          .isNotNull();
      assertThat(fixture.relay.query("SELECT count(*) FROM payrelay.detached_outbox_rows()"))
          .isEqualTo("5");

      RepublishReport sent =
          fixture
              .republisher()
              .execute(
                  new RepublishSelection(
                      to.minus(Duration.ofDays(21)),
                      to.minus(Duration.ofDays(19)),
                      List.of(),
                      100));
      fixture.oracle.await(QUIET);

      assertThat(sent.byType()).isEqualTo(Map.of("payrelay.charge-requests ChargeRequested", 5L));
      assertThat(fixture.oracle.republished()).hasSize(5);
    }
  }

  private static Set<String> ids(RecoveryFixture fixture) {
    return fixture.oracle.republished().stream()
        .map(read -> new String(read.headers().lastHeader("ce_id").value(), UTF_8))
        .collect(Collectors.toSet());
  }

  private static Set<String> table(RecoveryFixture fixture, String where) throws Exception {
    String ids =
        fixture.relay.query(
            "SELECT string_agg(event_id::text, ',') FROM payrelay.outbox WHERE event_type <> 'NobodyKnowsIt' AND "
                + where);
    return Set.of(ids.split(",", -1));
  }
}

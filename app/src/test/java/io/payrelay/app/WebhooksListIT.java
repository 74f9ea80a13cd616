package io.payrelay.app;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Four events, and what each filter of {@code webhooks list} leaves of them. */
@Timeout(60)
final class WebhooksListIT {

  private static OperatorFixture fixture;

  @BeforeAll
  static void store() {
    fixture = new OperatorFixture();
    store("e1", "simulator", "APPLIED", "2026-01-01T00:00:00Z", "{}");
    store("e2", "stripe", "FAILED", "2026-01-02T00:00:00Z", "{}");
    store("e3", "simulator", "UNMATCHED", "2026-01-03T00:00:00Z", "{}");
    store("e4", "stripe", "APPLIED", "2026-01-04T00:00:00Z", "");
  }

  private static void store(
      String id, String provider, String disposition, String receivedAt, String body) {
    fixture.execute(
        """
        INSERT INTO payrelay.provider_event (provider, event_id, event_type, body, body_digest,
          business_digest, key_id, disposition, received_at, wiped_at)
        SELECT ?, ?, 'charge.succeeded', convert_to(given.body, 'UTF8'), sha256('x'), sha256('x'), 'k', ?,
          ?::timestamptz, CASE WHEN given.body = '' THEN clock_timestamp() END
        FROM (SELECT ?::text AS body) given
        """,
        provider,
        id,
        disposition,
        receivedAt,
        body);
  }

  @Test
  void eachFilterLeavesWhatItSaysTheNewestFirst() throws Exception {
    assertThat(list()).containsExactly("e3", "e2", "e1");
    assertThat(list("--wiped")).containsExactly("e4", "e3", "e2", "e1");
    assertThat(list("--wiped", "--provider", "simulator")).containsExactly("e3", "e1");
    assertThat(list("--wiped", "--provider", "stripe")).containsExactly("e4", "e2");
    // From is included, to is not.
    assertThat(list("--wiped", "--from", "2026-01-02T00:00:00Z")).containsExactly("e4", "e3", "e2");
    assertThat(list("--wiped", "--to", "2026-01-02T00:00:00Z")).containsExactly("e1");
    assertThat(list("--wiped", "--disposition", "APPLIED")).containsExactly("e4", "e1");
    assertThat(list("--wiped", "--disposition", "FAILED", "--disposition", "UNMATCHED"))
        .containsExactly("e3", "e2");
    assertThat(list("--wiped", "--event-id", "e1", "--event-id", "e4")).containsExactly("e4", "e1");
    assertThat(list("--wiped", "--limit", "2")).containsExactly("e4", "e3");

    assertThat(fixture.run("webhooks", "list", "--limit", "2").out())
        .contains("event_id=e3", "event_id=e2", "2 shown; there may be more")
        .doesNotContain("event_id=e1");
    assertThat(fixture.run("webhooks", "list", "--to", "2025-01-01T00:00:00Z").out())
        .isEqualToIgnoringNewLines("no events");
  }

  private static List<String> list(String... filters) throws Exception {
    String[] arguments =
        Stream.concat(Stream.of("webhooks", "list", "--json"), Stream.of(filters))
            .toArray(String[]::new);
    OperatorFixture.Result result = fixture.run(arguments);
    assertThat(result.err()).isEmpty();
    JsonNode shown = new ObjectMapper().readTree(result.out());
    return shown.path("events").findValuesAsText("event_id");
  }
}

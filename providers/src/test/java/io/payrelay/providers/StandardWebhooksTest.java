package io.payrelay.providers;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.standardwebhooks.Webhook;
import io.payrelay.platform.config.Secret;
import io.payrelay.providers.WebhookVerdict.Authentic;
import io.payrelay.providers.WebhookVerdict.Refused;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.Size;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class StandardWebhooksTest {

  private static final Secret OLD = secret(1);
  private static final Secret NEW = secret(2);
  private static final Instant NOW = Instant.parse("2026-01-02T03:04:05Z");
  private static final String BODY = "{\"note\":\"Grüße, 你好\"}";
  private static final Duration TOLERANCE = Duration.ofMinutes(5);

  private final StandardWebhooks scheme = new StandardWebhooks(List.of(OLD, NEW), TOLERANCE);

  @Test
  void acceptsWhatTheReferenceLibrarySigns() throws Exception {
    WebhookVerdict verdict = scheme.verify(signed(NEW, NOW.getEpochSecond(), BODY), NOW);

    assertThat(verdict).isInstanceOf(Authentic.class);
  }

  @Test
  void tellsWhichSecretFittedWithoutShowingIt() throws Exception {
    Authentic old = (Authentic) scheme.verify(signed(OLD, NOW.getEpochSecond(), BODY), NOW);
    Authentic fresh = (Authentic) scheme.verify(signed(NEW, NOW.getEpochSecond(), BODY), NOW);

    assertThat(old.keyId()).matches("[0-9a-f]{8}").isNotEqualTo(fresh.keyId());
    assertThat(OLD.reveal()).doesNotContain(old.keyId());
  }

  @Test
  void acceptsOneFittingSignatureAmongOthers() throws Exception {
    WebhookRequest request = signed(OLD, NOW.getEpochSecond(), BODY);
    String good = request.header(StandardWebhooks.SIGNATURE).orElseThrow();
    String other =
        signed(secret(9), NOW.getEpochSecond(), BODY)
            .header(StandardWebhooks.SIGNATURE)
            .orElseThrow();

    assertThat(scheme.verify(with(request, StandardWebhooks.SIGNATURE, other + " " + good), NOW))
        .isInstanceOf(Authentic.class);
    assertThat(scheme.verify(with(request, StandardWebhooks.SIGNATURE, "v1a,xyz  " + good), NOW))
        .isInstanceOf(Authentic.class);
  }

  @Test
  void refusesAnotherVersionOfTheSameBytes() throws Exception {
    WebhookRequest request = signed(OLD, NOW.getEpochSecond(), BODY);
    String good = request.header(StandardWebhooks.SIGNATURE).orElseThrow();

    assertThat(
            scheme.verify(
                with(request, StandardWebhooks.SIGNATURE, good.replace("v1,", "v2,")), NOW))
        .isEqualTo(new Refused(false, "signature does not fit"));
  }

  @Test
  void refusesASecretThatWasRetired() throws Exception {
    StandardWebhooks rotated = new StandardWebhooks(List.of(NEW), TOLERANCE);

    assertThat(rotated.verify(signed(OLD, NOW.getEpochSecond(), BODY), NOW))
        .isEqualTo(new Refused(false, "signature does not fit"));
  }

  @ParameterizedTest
  @CsvSource({
    "-300, true",
    "-301, false",
    "300, true",
    "301, false",
    "0, true",
    "315360000, false"
  })
  void acceptsTimestampsInsideTheWindowOnly(long offsetSeconds, boolean accepted) throws Exception {
    WebhookVerdict verdict =
        scheme.verify(signed(OLD, NOW.getEpochSecond() + offsetSeconds, BODY), NOW);

    assertThat(verdict instanceof Authentic).isEqualTo(accepted);
  }

  /** Re-spacing, another encoding and other line ends are other bytes. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "{\"note\": \"Grüße, 你好\"}",
        "{\"note\":\"Grüße, 你好\"}\r\n",
        "{\"note\":\"Gr\\u00fc\\u00dfe, 你好\"}",
        ""
      })
  void refusesABodyThatMeansTheSameInOtherBytes(String other) throws Exception {
    WebhookRequest request = signed(OLD, NOW.getEpochSecond(), BODY);

    assertThat(scheme.verify(new WebhookRequest(request.headers(), other.getBytes(UTF_8)), NOW))
        .isEqualTo(new Refused(false, "signature does not fit"));
  }

  @ParameterizedTest
  @CsvSource({
    "webhook-id, ''",
    "webhook-id, 'a b'",
    "webhook-timestamp, ''",
    "webhook-timestamp, -5",
    "webhook-timestamp, 1.5",
    "webhook-timestamp, 99999999999999999999",
    "webhook-signature, ''"
  })
  void callsUnreadableHeadersMalformed(String header, String value) throws Exception {
    WebhookRequest request = with(signed(OLD, NOW.getEpochSecond(), BODY), header, value);

    assertThat(scheme.verify(request, NOW))
        .isInstanceOfSatisfying(Refused.class, refused -> assertThat(refused.malformed()).isTrue());
  }

  @Test
  void callsMissingHeadersMalformed() {
    assertThat(scheme.verify(new WebhookRequest(Map.of(), new byte[0]), NOW))
        .isEqualTo(new Refused(true, "id"));
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "whsec_", "hunter2hunter2hunter2hunter2hunter2hunter2", "whsec_!!!!"})
  void refusesBadSecretsWithoutShowingThem(String bad) {
    assertThatThrownBy(() -> new StandardWebhooks(List.of(OLD, new Secret(bad)), TOLERANCE))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage(
            "webhook secret number 2 is not whsec_ followed by the Base64 of 24 to 64 bytes");
  }

  @ParameterizedTest
  @CsvSource({"23, false", "24, true", "64, true", "65, false"})
  void takesSecretsOf24To64Bytes(int length, boolean accepted) {
    Secret secret = new Secret("whsec_" + Base64.getEncoder().encodeToString(new byte[length]));

    if (accepted) {
      assertThatCode(() -> new StandardWebhooks(List.of(secret), TOLERANCE))
          .doesNotThrowAnyException();
    } else {
      assertThatThrownBy(() -> new StandardWebhooks(List.of(secret), TOLERANCE))
          .isInstanceOf(IllegalArgumentException.class);
    }
  }

  @Property
  void refusesAnyHeadersAndBytesWithoutThrowing(
      @ForAll String id,
      @ForAll String timestamp,
      @ForAll String signature,
      @ForAll @Size(max = 200) byte[] body) {
    Map<String, String> headers =
        Map.of(
            StandardWebhooks.ID,
            id,
            StandardWebhooks.TIMESTAMP,
            timestamp,
            StandardWebhooks.SIGNATURE,
            signature);

    assertThat(scheme.verify(new WebhookRequest(headers, body), NOW)).isInstanceOf(Refused.class);
    assertThat(
            scheme.verify(
                new WebhookRequest(
                    Map.of(
                        StandardWebhooks.ID,
                        "e1",
                        StandardWebhooks.TIMESTAMP,
                        Long.toString(NOW.getEpochSecond()),
                        StandardWebhooks.SIGNATURE,
                        "v1," + signature),
                    body),
                NOW))
        .isInstanceOf(Refused.class);
  }

  @Property(tries = 200)
  void acceptsAnyBodyAsSignedAndNoneWithAFlippedBit(@ForAll String body, @ForAll int position)
      throws Exception {
    WebhookRequest request = signed(NEW, NOW.getEpochSecond(), body);
    assertThat(scheme.verify(request, NOW)).isInstanceOf(Authentic.class);

    byte[] flipped = request.body().clone();
    if (flipped.length > 0) {
      flipped[Math.floorMod(position, flipped.length)] ^= 1;
      assertThat(scheme.verify(new WebhookRequest(request.headers(), flipped), NOW))
          .isInstanceOf(Refused.class);
    }
  }

  private static WebhookRequest signed(Secret secret, long timestamp, String body)
      throws Exception {
    String signature = new Webhook(secret.reveal()).sign("msg_1", timestamp, body);
    return new WebhookRequest(
        Map.of(
            StandardWebhooks.ID,
            "msg_1",
            StandardWebhooks.TIMESTAMP,
            Long.toString(timestamp),
            StandardWebhooks.SIGNATURE,
            signature),
        body.getBytes(UTF_8));
  }

  private static WebhookRequest with(WebhookRequest request, String header, String value) {
    Map<String, String> headers = new HashMap<>(request.headers());
    headers.put(header, value);
    return new WebhookRequest(headers, request.body());
  }

  private static Secret secret(int seed) {
    byte[] bytes = new byte[32];
    Arrays.fill(bytes, (byte) seed);
    return new Secret("whsec_" + Base64.getEncoder().encodeToString(bytes));
  }
}

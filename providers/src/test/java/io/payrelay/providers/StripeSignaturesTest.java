package io.payrelay.providers;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.stripe.exception.SignatureVerificationException;
import com.stripe.net.Webhook;
import io.payrelay.platform.config.Secret;
import io.payrelay.providers.WebhookVerdict.Authentic;
import io.payrelay.providers.WebhookVerdict.Refused;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.Size;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Stripe's own library is the oracle, except where it is known to be wrong. */
class StripeSignaturesTest {

  private static final Secret OLD = new Secret("whsec_0ldSecret0ldSecret0ldSecret0ld");
  private static final Secret NEW = new Secret("whsec_newSecretnewSecretnewSecretnew");
  private static final Instant NOW = Instant.parse("2026-01-02T03:04:05Z");
  private static final Duration TOLERANCE = Duration.ofMinutes(5);
  private static final String BODY = "{\"note\":\"Grüße, 你好\"}";

  private final StripeSignatures scheme = new StripeSignatures(List.of(OLD, NEW), TOLERANCE);

  @Test
  void acceptsWhatStripesLibrarySigns() throws Exception {
    assertThat(verify(libraryHeader(NEW, NOW.getEpochSecond(), BODY), BODY))
        .isInstanceOf(Authentic.class);
  }

  @Test
  void stripesLibraryAcceptsWhatWeAcceptOfAnotherSigner() throws Exception {
    String header = ownHeader(OLD, NOW.getEpochSecond(), BODY);

    assertThat(verify(header, BODY)).isInstanceOf(Authentic.class);
    assertThat(libraryAccepts(header, BODY, OLD)).isTrue();
  }

  @Test
  void tellsWhichSecretFittedWithoutShowingIt() throws Exception {
    Authentic old = (Authentic) verify(libraryHeader(OLD, NOW.getEpochSecond(), BODY), BODY);
    Authentic fresh = (Authentic) verify(libraryHeader(NEW, NOW.getEpochSecond(), BODY), BODY);

    assertThat(old.keyId()).matches("[0-9a-f]{8}").isNotEqualTo(fresh.keyId());
  }

  /** Webhook table: several v1 while a secret is rolled, one for each. */
  @Test
  void acceptsTwoSignaturesWhileASecretIsRolledThoughWeKnowOneOfThem() throws Exception {
    StripeSignatures onlyNew = new StripeSignatures(List.of(NEW), TOLERANCE);
    String header =
        libraryHeader(OLD, NOW.getEpochSecond(), BODY)
            + libraryHeader(NEW, NOW.getEpochSecond(), BODY).replaceFirst("^t=[0-9]+", "");

    assertThat(onlyNew.verify(request(header, BODY), NOW)).isInstanceOf(Authentic.class);
    assertThat(onlyNew.verify(request(libraryHeader(OLD, NOW.getEpochSecond(), BODY), BODY), NOW))
        .isEqualTo(WebhookVerdict.DOES_NOT_FIT);
  }

  /** Ten years ahead is what Stripe's library accepts. */
  @ParameterizedTest
  @CsvSource({
    "-299, true",
    "-300, true",
    "-301, false",
    "299, true",
    "300, true",
    "301, false",
    "315360000, false",
    "-3600, false"
  })
  void acceptsTimestampsInsideTheWindowOnly(long offsetSeconds, boolean accepted) throws Exception {
    String header = libraryHeader(NEW, NOW.getEpochSecond() + offsetSeconds, BODY);

    WebhookVerdict verdict = verify(header, BODY);

    assertThat(verdict instanceof Authentic).isEqualTo(accepted);
    if (offsetSeconds > 300) {
      assertThat(libraryAccepts(header, BODY, NEW)).as("the library's weakness").isTrue();
      assertThat(verdict).isEqualTo(WebhookVerdict.OUTSIDE_THE_WINDOW);
    }
  }

  /**
   * Finding 8: each of these makes Stripe's library throw something, or would fool a careless one.
   */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        ",",
        "=",
        "t",
        "t=",
        "v1",
        "t=,v1=",
        "t=1767323045",
        "t=1767323045,v1",
        "t=1767323045,v1=",
        "t=1767323045,v1=zz",
        "t=x,v1=5257a869e7ecebeda32affa62cdca3fa51cad7e77a0e56ff536d0ce8e108d8bd",
        "t=99999999999999999999,v1=5257a869e7ecebeda32affa62cdca3fa51cad7e77a0e56ff536d0ce8e108d8bd",
        "t=-5,v1=5257a869e7ecebeda32affa62cdca3fa51cad7e77a0e56ff536d0ce8e108d8bd",
        "t=1767323045,t=1767323045,v1=5257a869e7ecebeda32affa62cdca3fa51cad7e77a0e56ff536d0ce8e108d8bd",
        "t=,t=1767323045,v1=5257a869e7ecebeda32affa62cdca3fa51cad7e77a0e56ff536d0ce8e108d8bd",
        "v1=5257a869e7ecebeda32affa62cdca3fa51cad7e77a0e56ff536d0ce8e108d8bd"
      })
  void callsUnreadableHeadersMalformed(String header) {
    assertThat(verify(header, BODY))
        .isInstanceOfSatisfying(Refused.class, refused -> assertThat(refused.malformed()).isTrue());
  }

  @Test
  void callsAMissingHeaderMalformed() {
    assertThat(scheme.verify(new WebhookRequest(Map.of(), new byte[0]), NOW))
        .isEqualTo(new Refused(true, "signature"));
  }

  @Test
  void callsAHeaderOfManyPartsMalformed() throws Exception {
    String good = libraryHeader(NEW, NOW.getEpochSecond(), BODY);

    assertThat(verify(good + ",v1=0".repeat(40), BODY)).isEqualTo(new Refused(true, "signature"));
    assertThat(verify(good + "," + "x".repeat(5000), BODY))
        .isEqualTo(new Refused(true, "signature"));
  }

  @Test
  void takesNoOtherSchemeAndNoUpperCase() throws Exception {
    String good = libraryHeader(NEW, NOW.getEpochSecond(), BODY);
    String mac = good.substring(good.indexOf("v1=") + 3);

    assertThat(verify(good.replace("v1=", "v0="), BODY)).isInstanceOf(Refused.class);
    assertThat(verify(good.replace(mac, mac.toUpperCase(Locale.ROOT)), BODY))
        .isInstanceOf(Refused.class);
    assertThat(verify("v0=" + mac + "," + good, BODY)).isInstanceOf(Authentic.class);
  }

  /** The same JSON in other bytes. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "{\"note\": \"Grüße, 你好\"}",
        "{\"note\":\"Grüße, 你好\"}\r\n",
        "{\"note\":\"Gr\\u00fc\\u00dfe, 你好\"}",
        ""
      })
  void refusesABodyThatMeansTheSameInOtherBytes(String other) throws Exception {
    assertThat(verify(libraryHeader(NEW, NOW.getEpochSecond(), BODY), other))
        .isEqualTo(WebhookVerdict.DOES_NOT_FIT);
  }

  @Test
  void refusesABodyThatWasDecodedAsLatin1OnTheWay() throws Exception {
    String header = libraryHeader(NEW, NOW.getEpochSecond(), BODY);
    byte[] mangled = new String(BODY.getBytes(UTF_8), ISO_8859_1).getBytes(UTF_8);

    assertThat(
            scheme.verify(
                new WebhookRequest(Map.of(StripeSignatures.SIGNATURE, header), mangled), NOW))
        .isEqualTo(WebhookVerdict.DOES_NOT_FIT);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "whsec_",
        "whsec_short",
        "sk_live_0ldSecret0ldSecret0ldSecret",
        "whsec_ü2345678901234567890123456"
      })
  void refusesBadSecretsWithoutShowingThem(String bad) {
    assertThatThrownBy(() -> new StripeSignatures(List.of(OLD, new Secret(bad)), TOLERANCE))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("webhook secret number 2 is not whsec_ followed by 24 or more characters");
    assertThatThrownBy(() -> new StripeSignatures(List.of(), TOLERANCE))
        .isInstanceOf(IllegalArgumentException.class);
  }

  @Property
  void refusesAnyHeaderAndBytesWithoutThrowing(
      @ForAll String header, @ForAll @Size(max = 200) byte[] body) {
    assertThat(
            scheme.verify(
                new WebhookRequest(Map.of(StripeSignatures.SIGNATURE, header), body), NOW))
        .isInstanceOf(Refused.class);
  }

  @Property
  void agreesWithStripesLibraryOnWhateverIsMadeOfAHeadersParts(@ForAll("headers") String header) {
    boolean ours = verify(header, BODY) instanceof Authentic;

    if (ours) {
      assertThat(libraryAccepts(header, BODY, NEW)).as(header).isTrue();
    }
    // The other way round but for the future, what is said twice, and commas with nothing between.
    boolean unlike =
        header.contains("t=" + (NOW.getEpochSecond() + 9_999))
            || header.split("t=", -1).length > 2
            || ("," + header + ",").contains(",,");
    if (!unlike) {
      assertThat(libraryAccepts(header, BODY, NEW)).as(header).isEqualTo(ours);
    }
  }

  @Provide
  Arbitrary<String> headers() {
    String good = ownHeader(NEW, NOW.getEpochSecond(), BODY);
    String ahead = ownHeader(NEW, NOW.getEpochSecond() + 9_999, BODY);
    List<String> parts =
        List.of(
            "t=" + NOW.getEpochSecond(),
            good.substring(good.indexOf("v1=")),
            "t=" + (NOW.getEpochSecond() + 9_999),
            ahead.substring(ahead.indexOf("v1=")),
            "v1=" + "0".repeat(64),
            "v0=" + "0".repeat(64),
            "t=",
            "t=x",
            "v1=",
            "v1",
            "=",
            "");
    return Arbitraries.of(parts).list().ofMaxSize(5).map(chosen -> String.join(",", chosen));
  }

  @Property(tries = 200)
  void acceptsAnyBodyAsSignedAndNoneWithAFlippedBit(
      @ForAll @Size(max = 300) byte[] body, @ForAll @IntRange(max = 1 << 20) int position) {
    String header = ownHeader(NEW, NOW.getEpochSecond(), body);
    Map<String, String> headers = Map.of(StripeSignatures.SIGNATURE, header);
    assertThat(scheme.verify(new WebhookRequest(headers, body), NOW)).isInstanceOf(Authentic.class);

    byte[] flipped = body.clone();
    if (flipped.length > 0) {
      flipped[position % flipped.length] ^= 1;
      assertThat(scheme.verify(new WebhookRequest(headers, flipped), NOW))
          .isEqualTo(WebhookVerdict.DOES_NOT_FIT);
    }
  }

  @Test
  void neverThrowsWhereStripesLibraryDoes() {
    assertThatThrownBy(() -> Webhook.Signature.verifyHeader(BODY, "t", NEW.reveal(), 300))
        .isNotInstanceOf(SignatureVerificationException.class);
    assertThatCode(() -> verify("t", BODY)).doesNotThrowAnyException();
  }

  private WebhookVerdict verify(String header, String body) {
    return scheme.verify(request(header, body), NOW);
  }

  private static WebhookRequest request(String header, String body) {
    return new WebhookRequest(Map.of(StripeSignatures.SIGNATURE, header), body.getBytes(UTF_8));
  }

  private static String libraryHeader(Secret secret, long timestamp, String body) throws Exception {
    return Webhook.Signature.generateSignatureHeader(body, secret.reveal(), timestamp);
  }

  /** A third signer, so that neither of the two is its own proof. */
  private static String ownHeader(Secret secret, long timestamp, String body) {
    return ownHeader(secret, timestamp, body.getBytes(UTF_8));
  }

  private static String ownHeader(Secret secret, long timestamp, byte[] body) {
    try {
      Mac mac = Mac.getInstance("HmacSHA256");
      mac.init(new SecretKeySpec(secret.reveal().getBytes(UTF_8), "HmacSHA256"));
      mac.update((timestamp + ".").getBytes(UTF_8));
      return "t=" + timestamp + ",v1=" + HexFormat.of().formatHex(mac.doFinal(body));
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }

  private static boolean libraryAccepts(String header, String body, Secret secret) {
    try {
      return Webhook.Signature.verifyHeader(
          body, header, secret.reveal(), 300, Clock.fixed(NOW, ZoneOffset.UTC));
    } catch (SignatureVerificationException | RuntimeException e) {
      return false;
    }
  }
}

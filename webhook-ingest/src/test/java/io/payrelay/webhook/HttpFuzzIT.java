package io.payrelay.webhook;

import static io.payrelay.webhook.IngestFixture.event;
import static io.payrelay.webhook.IngestFixture.newEventId;
import static io.payrelay.webhook.IngestFixture.signed;
import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.stripe.net.Webhook;
import io.payrelay.platform.config.Secret;
import io.payrelay.providers.stripe.StripeWebhookConfig;
import io.payrelay.providers.stripe.StripeWebhooks;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.net.SocketException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.ShrinkingMode;
import net.jqwik.api.constraints.Size;
import net.jqwik.api.constraints.StringLength;
import net.jqwik.api.lifecycle.AfterContainer;
import net.jqwik.api.lifecycle.BeforeContainer;

/** Whatever comes over the wire is answered with a clean verdict or hung up on: never a 5xx. */
class HttpFuzzIT {

  private static final String STRIPE_SECRET = "whsec_newSecretnewSecretnewSecretnew";

  private static final Pattern STATUS = Pattern.compile("HTTP/1\\.1 (\\d{3})");

  private static IngestFixture fixture;

  @BeforeContainer
  static void start() {
    fixture =
        IngestFixture.start(
            Map.of("PAYRELAY_INGEST_READ_TIMEOUT_MS", "1000"),
            IngestFaults.NONE,
            List.of(
                IngestFixture.adapter(),
                new StripeWebhooks(
                    new StripeWebhookConfig(
                        List.of(new Secret(STRIPE_SECRET)), Duration.ofMinutes(5), true, ""))));
  }

  @AfterContainer
  static void stop() {
    assertThat(fixture.refused("simulator", "bug") + fixture.refused("unknown", "bug")).isZero();
    assertThat(fixture.refused("unknown", "head broken")).isPositive();
    fixture.close();
  }

  @Property(tries = 100, shrinking = ShrinkingMode.OFF)
  void bearsAnyBytes(@ForAll @Size(min = 1, max = 400) byte[] bytes) throws IOException {
    assertCleanVerdict(bytes);
  }

  @Property(tries = 300, shrinking = ShrinkingMode.OFF)
  void bearsDamagedRequests(
      @ForAll("lines") List<String> lines,
      @ForAll @StringLength(max = 30) String inserted,
      @ForAll int position)
      throws IOException {
    StringBuilder request =
        new StringBuilder("POST /webhooks/simulator HTTP/1.1\r\nHost: localhost\r\n");
    lines.forEach(line -> request.append(line).append("\r\n"));
    request.append("\r\n").append(event("charge.succeeded", "pay_fuzz_1"));
    assertCleanVerdict(request.toString().getBytes(UTF_8));

    int at = Math.floorMod(position, request.length());
    request.insert(at, inserted);
    assertCleanVerdict(request.toString().getBytes(UTF_8));
  }

  /** Authentic and senseless: kept for a person, or taken for what it is. */
  @Property(tries = 100, shrinking = ShrinkingMode.OFF)
  void keepsAnyAuthenticBody(@ForAll("bodies") String body) throws Exception {
    assertThat(fixture.send(signed(IngestFixture.SECRET, newEventId(), 0, body), body))
        .isEqualTo(204);
    String signature = Webhook.Signature.generateSignatureHeader(body, STRIPE_SECRET);
    assertThat(fixture.send("stripe", Map.of("stripe-signature", signature), body).statusCode())
        .isEqualTo(200);
  }

  @Property(tries = 150, shrinking = ShrinkingMode.OFF)
  void refusesAnySignatureHeader(@ForAll("values") String one, @ForAll("values") String other)
      throws IOException {
    for (String provider : List.of("stripe", "simulator")) {
      String answer =
          answer(
              """
              POST /webhooks/%s HTTP/1.1
              Host: a
              Connection: close
              stripe-signature: %s
              webhook-id: %s
              webhook-timestamp: %s
              webhook-signature: %s
              Content-Length: 2

              {}"""
                  .replace("\n", "\r\n")
                  .formatted(provider, one, other, one, other)
                  .getBytes(ISO_8859_1));

      assertThat(answer).matches("(?s)HTTP/1.1 40[01] .*");
    }
  }

  @Provide
  Arbitrary<List<String>> lines() {
    List<String> known =
        new ArrayList<>(
            List.of(
                "Content-Length: 5",
                "Content-Length: -1",
                "Content-Length: 99999999999999999999",
                "Content-Length: 300000",
                "Content-Length: 200",
                "Transfer-Encoding: chunked",
                "Transfer-Encoding: identity",
                "Content-Encoding: gzip",
                "Expect: 100-continue",
                "Expect: something",
                "Connection: upgrade",
                "Upgrade: h2c",
                "HTTP2-Settings: AAMAAABkAAQAAP__",
                "Host: b",
                "Content-Type: multipart/form-data; boundary=",
                "Content-Type: application/x-www-form-urlencoded; charset=nonsense",
                "Content-Type: \u0000",
                "Cookie: ;;==;",
                "Range: bytes=9-1",
                "webhook-id: e",
                "webhook-timestamp: 1",
                "webhook-signature: v1,x",
                " folded",
                ": nameless",
                "no colon"));
    known.add("X-Long: " + "x".repeat(20_000));
    return Arbitraries.of(known).list().ofMaxSize(6);
  }

  @Provide
  Arbitrary<String> bodies() {
    return Arbitraries.oneOf(
        Arbitraries.strings().ofMaxLength(100),
        Arbitraries.of(
            "",
            "null",
            "{}",
            "[".repeat(100_000),
            "{\"id\":\"evt_1\",\"object\":\"event\",\"type\":\"charge.succeeded\"}",
            "{\"type\":\"charge.succeeded\",\"data\":{\"amount\":1e999999999}}",
            "{\"type\":\"a\\u0000b\",\"data\":{}}",
            "{\"type\":\"x\",\"data\":{},\"n\":1e999999999}",
            "\ufeff{}"));
  }

  @Provide
  Arbitrary<String> values() {
    return Arbitraries.oneOf(
        Arbitraries.strings().withCharRange(' ', '\u00ff').ofMaxLength(60),
        Arbitraries.of("t=", "v1", "t=1,v1=", "t=1,t=2", "t=,v1=,,", "=", "v1,", "v1,====", "1e9"));
  }

  private static void assertCleanVerdict(byte[] request) throws IOException {
    String answer = answer(request);
    assertThat(answer).matches("(?s)|HTTP/1.1 .*");
    // All of them: more may stand behind a 100, or behind the first of two requests.
    assertThat(STATUS.matcher(answer).results().map(line -> line.group(1)))
        .allMatch(status -> status.matches("100|40[01458]|41[1345]|417|431"), answer);
  }

  /** What is said until the connection ends; nothing where it is just ended. */
  private static String answer(byte[] request) throws IOException {
    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), fixture.ingest.port())) {
      socket.setSoTimeout(5_000);
      socket.getOutputStream().write(request);
      socket.shutdownOutput();
      return new String(socket.getInputStream().readAllBytes(), ISO_8859_1);
    } catch (SocketException e) {
      // Reset: it hung up before it had read everything.
      return "";
    }
  }
}

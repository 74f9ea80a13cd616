package io.payrelay.webhook;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.SocketTimeoutException;
import java.net.URLEncoder;
import java.net.http.HttpResponse;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.Signature;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What the SPI has to bear beyond the built-in schemes, and what adapters may get wrong. */
@Timeout(60)
class OtherProviderIT {

  private static KeyPair keys;
  private static IngestFixture fixture;

  @BeforeAll
  static void start() throws Exception {
    KeyPairGenerator generator = KeyPairGenerator.getInstance("RSA");
    generator.initialize(2048);
    keys = generator.generateKeyPair();
    fixture =
        IngestFixture.start(
            Map.of(),
            IngestFaults.NONE,
            List.of(new FormWebhooks(Map.of("serial-1", keys.getPublic()))));
  }

  @AfterAll
  static void stop() {
    fixture.close();
  }

  /** Checklist 3.2 number 6: the answer is exactly the provider's. */
  @Test
  void takesAFormBodySignedWithRsaAndAnswersInTheProvidersForm() throws Exception {
    String payment = payment();

    HttpResponse<String> answer = send(fields(payment, "TRADE_SUCCESS"), "serial-1");

    assertThat(answer.statusCode()).isEqualTo(200);
    assertThat(answer.body()).isEqualTo("success");
    assertThat(fixture.status(payment)).isEqualTo("SUCCEEDED");
    assertThat(
            fixture.text(
                "SELECT key_id FROM payrelay.provider_event WHERE payment_id = ?", payment))
        .isEqualTo("serial-1");
  }

  @Test
  void makesTheEventIdWhereTheProviderGivesNone() throws Exception {
    String payment = payment();
    Map<String, String> fields = fields(payment, "TRADE_SUCCESS");
    send(fields, "serial-1");

    fields.put("notify_time", "later");
    assertThat(send(fields, "serial-1").body()).isEqualTo("success");

    assertThat(
            fixture.texts(
                "SELECT event_id || ' ' || delivery_count FROM payrelay.provider_event WHERE payment_id = ?",
                payment))
        .containsExactly("tr_" + payment + ":TRADE_SUCCESS 2");
    assertThat(fixture.cases(payment)).isEmpty();

    fields.put("total", "1");
    send(fields, "serial-1");
    assertThat(fixture.cases(payment)).containsExactly("WEBHOOK_CONFLICT");
  }

  /** An unknown serial is refused and counted; there is no flag to pass it by. */
  @Test
  void refusesAKeyThatItDoesNotKnowAndCountsIt() throws Exception {
    HttpResponse<String> answer = send(fields(payment(), "TRADE_SUCCESS"), "serial-9");

    assertThat(answer.statusCode()).isEqualTo(401);
    assertThat(answer.body()).isEqualTo("{\"code\":\"FAIL\"}");
    assertThat(answer.headers().firstValue("content-type").orElse(""))
        .startsWith("application/json");
    assertThat(fixture.refused("form-pay", "unknown key")).isPositive();
  }

  /** Checklist 3.2 number 3: PayPal's PAYPAL-CERT-URL and its kind. */
  @Test
  void callsNobodyWhateverARequestNames() throws Exception {
    try (ServerSocket bait = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      String url = "http://127.0.0.1:" + bait.getLocalPort() + "/cert.pem";
      Map<String, String> fields = fields(payment(), "TRADE_SUCCESS");
      fields.put("notify_verify_url", url);
      Map<String, String> headers = new HashMap<>();
      for (String name :
          List.of("paypal-cert-url", "x-serial", "x-callback", "webhook-url", "x-forwarded-host")) {
        headers.put(name, url);
      }

      fixture.send(FormWebhooks.NAME, headers, body(fields));
      headers.put("x-serial", "serial-1");
      fixture.send(FormWebhooks.NAME, headers, body(fields));

      bait.setSoTimeout(300);
      assertThat(catchThrowable(bait::accept)).isInstanceOf(SocketTimeoutException.class);
    }
  }

  @Test
  void callsItABadRequestWhereAVerifierThrows() throws Exception {
    Map<String, String> fields = fields(payment(), "TRADE_SUCCESS");

    HttpResponse<String> answer =
        fixture.send(FormWebhooks.NAME, Map.of("x-bug", "1", "x-serial", "serial-1"), body(fields));

    assertThat(answer.statusCode()).isEqualTo(400);
    assertThat(answer.body()).isEqualTo("{\"code\":\"FAIL\"}");
  }

  /** What could not be worked on the first time is neither lost nor taken for done. */
  @Test
  void keepsAnAuthenticEventWhoseReaderThrows() throws Exception {
    String payment = payment();
    Map<String, String> fields = fields(payment, "BUG");

    assertThat(send(fields, "serial-1").body()).isEqualTo("success");
    assertThat(send(fields, "serial-1").body()).isEqualTo("success");

    assertThat(
            fixture.text(
                """
                SELECT disposition || ' ' || delivery_count || ' ' || disposition_reason
                FROM payrelay.provider_event WHERE convert_from(body, 'UTF8') LIKE ?
                """,
                "%" + payment + "%"))
        .startsWith("FAILED 2 reading failed: IllegalStateException in FormWebhooks.java:");
    assertThat(
            fixture.count(
                "SELECT count(*) FROM payrelay.exception_case WHERE kind = 'WEBHOOK_FAILED'"))
        .isPositive();
  }

  @Test
  void keepsAnAuthenticEventThatHoldsWhatCannotBeStored() throws Exception {
    Map<String, String> fields = fields("pay_nul\u0000x", "TRADE_SUCCESS");

    assertThat(send(fields, "serial-1").body()).isEqualTo("success");

    assertThat(
            fixture.count(
                """
                SELECT count(*) FROM payrelay.provider_event
                WHERE disposition = 'FAILED' AND disposition_reason LIKE '%cannot be kept'
                """))
        .isEqualTo(1);
  }

  private static String payment() {
    return fixture.payment("pay_f" + Long.toHexString(System.nanoTime()), FormWebhooks.NAME);
  }

  private static Map<String, String> fields(String payment, String status) {
    return new TreeMap<>(
        Map.of(
            "out_trade_no",
            payment,
            "trade_no",
            "tr_" + payment,
            "trade_status",
            status,
            "notify_time",
            "now",
            "total",
            "1999"));
  }

  private static HttpResponse<String> send(Map<String, String> fields, String serial)
      throws Exception {
    return fixture.send(FormWebhooks.NAME, Map.of("x-serial", serial), body(fields));
  }

  private static String body(Map<String, String> fields) throws Exception {
    Signature rsa = Signature.getInstance("SHA256withRSA");
    rsa.initSign(keys.getPrivate());
    rsa.update(FormWebhooks.signed(fields).getBytes(UTF_8));
    Map<String, String> all = new TreeMap<>(fields);
    all.put("sign", Base64.getEncoder().encodeToString(rsa.sign()));
    return all.entrySet().stream()
        .map(field -> field.getKey() + "=" + URLEncoder.encode(field.getValue(), UTF_8))
        .collect(Collectors.joining("&"));
  }
}

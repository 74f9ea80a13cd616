package io.payrelay.app;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.util.Locale;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class MaskedBodyTest {

  private static final String STRIPE =
      """
      {"id":"evt_1","object":"event","type":"payment_intent.succeeded","created":1767225600,
       "livemode":false,"pending_webhooks":2,"request":{"id":"req_1","idempotency_key":"k-1"},
       "data":{"object":{"id":"pi_1","object":"payment_intent","amount":1999,"currency":"eur",
        "status":"succeeded","client_secret":"pi_1_secret_canary","customer":"cus_canary",
        "receipt_email":"canary@example.org","description":"canary order",
        "metadata":{"payrelay_payment_id":"pay_000001","note":"canary","canary@example.org":"x"},
        "billing_details":{"id":"canary","name":"Canary","address":{"line1":"Canary street 1"}},
        "payment_method_details":{"type":"card","card":{"last4":"4242","fingerprint":"canary"}},
        "charges":{"object":"list","total_count":1,"data":[{"id":"ch_1","amount":1999,
         "paid":true,"shipping":{"phone":"+1canary"}}]},
        "last_payment_error":{"code":"card_declined","message":"canary says no"}}}}
      """;

  private static String masked(String body) {
    return MaskedBody.of(body.getBytes(UTF_8));
  }

  @Test
  void idsAmountsStatesAndTimesAreShownAndNothingOfThePayer() {
    assertThat(masked(STRIPE))
        .contains(
            "\"id\" : \"pi_1\"",
            "\"amount\" : 1999",
            "\"currency\" : \"eur\"",
            "\"created\" : 1767225600",
            "\"payrelay_payment_id\" : \"pay_000001\"",
            "\"id\" : \"ch_1\"",
            "\"paid\" : true",
            "\"code\" : \"card_declined\"",
            "\"billing_details\" : \"(hidden: object of 3)\"",
            "\"customer\" : \"(hidden: text of 10)\"",
            "\"(field 1)\" : \"(hidden: text of 1)\"")
        .doesNotContainIgnoringCase("canary")
        .doesNotContain("4242", "secret_");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "canary@example.org",
        "Canary Name",
        "4111111111111111",
        "4111-1111-1111-1111",
        "tok_canary",
        "sk_live_canary",
        "pi_1_secret_canary",
        "https://canary/x",
        "canary\nline",
        "eyJcanary.canary"
      })
  void aFieldThatIsShownIsHiddenWhereItsValueLooksLikeSomethingElse(String value) {
    String json = value.replace("\n", "\\n");

    for (String field :
        new String[] {"id", "status", "code", "reason", "merchant_transaction_id"}) {
      assertThat(masked("{\"%s\":\"%s\"}".formatted(field, json)))
          .contains("(hidden: text of " + value.length() + ")")
          .doesNotContain("canary", "Canary", "4111");
    }
    assertThat(masked("{\"amount\":4111111111111111}")).contains("(hidden: number)");
  }

  @Test
  void whatIsNoObjectIsToldBySizeAlone() {
    assertThat(masked("")).contains("(empty)");
    assertThat(masked("<html>canary=1</html>")).contains("(21 bytes, neither JSON nor a form)");
    assertThat(masked("{\"id\":\"canary")).contains("(13 bytes, neither JSON nor a form)");
    assertThat(masked("\"canary\"")).doesNotContain("canary");
    assertThat(masked("[\"canary\",{\"id\":\"x1\",\"name\":\"canary\"}]"))
        .contains("x1")
        .doesNotContain("canary");
    assertThat(MaskedBody.of(new byte[] {(byte) 0xff, (byte) 0xfe}))
        .contains("(2 bytes, not text)");
    assertThat(masked("{\"data\":".repeat(100) + "1" + "}".repeat(100)))
        .contains("neither JSON nor a form");
  }

  @Test
  void aFormIsReadLikeAnObject() {
    assertThat(
            masked("out_trade_no=pay_000001&trade_no=t1&buyer_logon_id=canary%40example.org&x=%zz"))
        .contains("\"out_trade_no\" : \"pay_000001\"", "\"trade_no\" : \"t1\"")
        .doesNotContain("canary");
  }

  /** Whatever stands in a field that is not listed, at whatever depth below one that is not. */
  @Property(tries = 300)
  void nothingOfAFieldThatIsNotListedIsShown(
      @ForAll("names") String name, @ForAll("values") String value, @ForAll boolean nested) {
    String field = "\"%s_of_payer\":".formatted(name);
    String body =
        "{\"data\":{\"object\":{"
            + field
            + (nested ? "{\"id\":\"%s\",\"data\":{\"id\":\"%1$s\"}}" : "\"%s\"").formatted(value)
            + "}}}";

    assertThat(masked(body).toLowerCase(Locale.ROOT)).doesNotContain(value);
  }

  @Provide
  Arbitrary<String> names() {
    return Arbitraries.strings().withCharRange('a', 'z').ofMinLength(1).ofMaxLength(12);
  }

  @Provide
  Arbitrary<String> values() {
    return Arbitraries.strings().withCharRange('a', 'z').ofLength(20);
  }
}

package io.payrelay.providers.stripe;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.stripe.net.ApiRequestParams;
import com.stripe.net.FormEncoder;
import com.stripe.param.PaymentIntentCreateParams;
import com.stripe.param.RefundCreateParams;
import io.payrelay.payments.lifecycle.Payment;
import io.payrelay.payments.lifecycle.PaymentStatus;
import io.payrelay.payments.money.Money;
import io.payrelay.platform.config.Secret;
import io.payrelay.providers.Prepared;
import io.payrelay.providers.RefundOrder;
import java.net.URI;
import java.net.URLDecoder;
import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class StripeRequestTest {

  private static final String DATA = "{\"payment_method\":\"pm_1\",\"customer\":\"cus_1\"}";

  @Test
  void asksForWhatStripesOwnLibraryWouldAskFor() {
    PaymentIntentCreateParams params =
        PaymentIntentCreateParams.builder()
            .setAmount(1999L)
            .setCurrency("eur")
            .setConfirm(true)
            .setOffSession(true)
            .setErrorOnRequiresAction(true)
            .setAutomaticPaymentMethods(
                PaymentIntentCreateParams.AutomaticPaymentMethods.builder()
                    .setEnabled(true)
                    .setAllowRedirects(
                        PaymentIntentCreateParams.AutomaticPaymentMethods.AllowRedirects.NEVER)
                    .build())
            .setPaymentMethod("pm_1")
            .setCustomer("cus_1")
            .setTransferData(
                PaymentIntentCreateParams.TransferData.builder().setDestination("acct_9").build())
            .putMetadata("payrelay_payment_id", "pay_0001")
            .putMetadata("merchant", "shop & söhne")
            .putMetadata("merchant_order_id", "order-1")
            .putMetadata("trace_id", "trace_1")
            .build();

    String ours = body(StripeRequest.charge(payment(1999, "EUR", "acct_9", DATA), null));

    assertThat(decoded(ours)).isEqualTo(decoded(encoded(params)));
    assertThat(ours)
        .startsWith("amount=1999&automatic_payment_methods%5Ballow_redirects%5D=never&");
  }

  @Test
  void givesEqualBytesForEqualRows() {
    Prepared first = StripeRequest.charge(payment(1999, "EUR", null, DATA), null);
    Prepared second =
        StripeRequest.charge(
            payment(1999, "EUR", null, "{\"customer\":\"cus_1\", \"payment_method\":\"pm_1\"}"),
            null);

    assertThat(body(first)).isEqualTo(body(second));
  }

  @Test
  void chargesTheConfiguredAccountItselfAndOthersByTransfer() {
    assertThat(decoded(body(StripeRequest.charge(payment(1, "USD", "acct_9", DATA), "acct_9"))))
        .doesNotContainKey("transfer_data[destination]");
    assertThat(decoded(body(StripeRequest.charge(payment(1, "USD", "acct_8", DATA), "acct_9"))))
        .containsEntry("transfer_data[destination]", "acct_8");
    assertThat(StripeRequest.charge(payment(1, "USD", "somebody", DATA), null))
        .isInstanceOf(Prepared.Refused.class);
  }

  @Test
  void leavesTheCustomerInSessionWhereTheRowSaysSo() {
    String here = "{\"payment_method\":\"pm_1\",\"off_session\":false}";

    assertThat(decoded(body(StripeRequest.charge(payment(1, "USD", null, here), null))))
        .doesNotContainKey("off_session")
        .containsEntry("error_on_requires_action", "true");
  }

  @ParameterizedTest
  // cartalyst/stripe #59, Paymenter #1258, InvoicePlane #1677: amounts multiplied by 100 or not.
  @CsvSource({
    "500, JPY, 500",
    "500, KRW, 500",
    "500, CLP, 500",
    "5120, KWD, 5120",
    "500, ISK, 50000",
    "1999, USD, 1999",
    "100, MGA, 1"
  })
  void sendsStripesUnits(long minor, String currency, String sent) {
    assertThat(decoded(body(StripeRequest.charge(payment(minor, currency, null, DATA), null))))
        .containsEntry("amount", sent);
    assertThat(decoded(body(StripeRequest.refund(refund(minor, currency, "pi_1", null)))))
        .containsEntry("amount", sent);
  }

  @ParameterizedTest
  @CsvSource({"5124, KWD", "101, MGA", "100, XAU"})
  void refusesWhatStripeWouldRound(long minor, String currency) {
    assertThat(StripeRequest.charge(payment(minor, currency, null, DATA), null))
        .matches(refused -> ((Prepared.Refused) refused).code().equals("invalid_amount"));
    assertThat(StripeRequest.refund(refund(minor, currency, "pi_1", null)))
        .isInstanceOf(Prepared.Refused.class);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = ';',
      value = {
        "{}; invalid_payment_method",
        "{\"payment_method\":7}; invalid_payment_method",
        "{\"payment_method\":\"pm 1\"}; invalid_payment_method",
        "{\"payment_method\":\"pm_1\",\"customer\":\"a&b=c\"}; invalid_customer",
        "{\"payment_method; invalid_provider_data"
      })
  void refusesRowsWithoutAUsablePaymentMethod(String data, String code) {
    assertThat(StripeRequest.charge(payment(1, "USD", null, data), null))
        .matches(refused -> ((Prepared.Refused) refused).code().equals(code));
  }

  @Test
  void givesBackAsStripesOwnLibraryWould() {
    RefundCreateParams params =
        RefundCreateParams.builder()
            .setPaymentIntent("pi_1")
            .setAmount(500L)
            .setReason(RefundCreateParams.Reason.DUPLICATE)
            .putMetadata("payrelay_payment_id", "pay_0001")
            .putMetadata("payrelay_refund_id", "ref_0001")
            .build();

    assertThat(decoded(body(StripeRequest.refund(refund(500, "EUR", "pi_1", "duplicate")))))
        .isEqualTo(decoded(encoded(params)));
    // Stripe takes three reasons; others are for our own books.
    assertThat(decoded(body(StripeRequest.refund(refund(500, "EUR", "ch_1", "did not fit")))))
        .containsEntry("charge", "ch_1")
        .doesNotContainKeys("reason", "payment_intent");
  }

  @Test
  void opensNoSettingsThatWouldChargeTheWrongAccountOrShowTheKey() {
    assertThat(config("sk_test_0123456789", "https://api.stripe.com", false, "").charges())
        .isTrue();
    assertThat(config("", "http://127.0.0.1:12111", true, "").charges()).isFalse();
    assertThat(config("rk_live_0123456789", "https://api.stripe.com", true, "acct_1").charges())
        .isTrue();
    assertThatThrownBy(() -> config("sk_test_0123456789", "https://api.stripe.com", true, ""))
        .hasMessageContaining("PAYRELAY_STRIPE_LIVE_MODE")
        .hasMessageNotContaining("0123456789");
    assertThatThrownBy(() -> config("pk_live_0123456789", "https://api.stripe.com", true, ""))
        .hasMessageNotContaining("0123456789");
    assertThatThrownBy(() -> config("sk_live_0123456789", "http://stripe.example", true, ""))
        .hasMessageContaining("https");
    assertThatThrownBy(() -> config("sk_live_0123456789", "https://api.stripe.com", true, "me"))
        .hasMessageContaining("PAYRELAY_STRIPE_ACCOUNT");
  }

  private static StripeConfig config(String key, String url, boolean live, String account) {
    return new StripeConfig(
        new Secret(key), URI.create(url), live, account, Duration.ofSeconds(1), Duration.ZERO, 3);
  }

  private static Payment payment(long minor, String currency, String payee, String data) {
    return new Payment(
        "pay_0001",
        "shop & söhne",
        "order-1",
        "stripe",
        new Money(minor, currency),
        payee,
        "customer_7",
        "{}",
        data,
        "trace_1",
        PaymentStatus.CREATED,
        1,
        null,
        null,
        Instant.EPOCH);
  }

  private static RefundOrder refund(long minor, String currency, String transaction, String why) {
    return new RefundOrder("ref_0001", "pay_0001", transaction, new Money(minor, currency), why);
  }

  private static String body(Prepared prepared) {
    return new String(((Prepared.Ready) prepared).body(), UTF_8);
  }

  private static String encoded(ApiRequestParams params) {
    return FormEncoder.createQueryString(params.toMap());
  }

  private static Map<String, String> decoded(String form) {
    Map<String, String> values = new TreeMap<>();
    for (String pair : form.split("&", -1)) {
      int equals = pair.indexOf('=');
      values.put(
          URLDecoder.decode(pair.substring(0, equals), UTF_8),
          URLDecoder.decode(pair.substring(equals + 1), UTF_8));
    }
    return values;
  }
}

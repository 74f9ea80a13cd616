package io.payrelay.webhook;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.payrelay.payments.lifecycle.Fact;
import io.payrelay.payments.lifecycle.FactSource;
import io.payrelay.payments.lifecycle.Observation;
import io.payrelay.payments.money.Money;
import io.payrelay.providers.UnreadableWebhookException;
import io.payrelay.providers.WebhookAdapter;
import io.payrelay.providers.WebhookEvent;
import io.payrelay.providers.WebhookRequest;
import io.payrelay.providers.WebhookVerdict;
import java.net.URLDecoder;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.security.PublicKey;
import java.security.Signature;
import java.time.Instant;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/**
 * A provider unlike the built-in ones, of the kind that Alipay and WeChat Pay are: form bodies, RSA
 * over sorted fields with a key that the request names, no event id, answers of its own.
 */
final class FormWebhooks implements WebhookAdapter {

  static final String NAME = "form-pay";

  private final Map<String, PublicKey> keys;

  FormWebhooks(Map<String, PublicKey> keys) {
    this.keys = Map.copyOf(keys);
  }

  @Override
  public String name() {
    return NAME;
  }

  @Override
  public WebhookVerdict verify(WebhookRequest request, Instant now) {
    if (request.header("x-bug").isPresent()) {
      throw new IllegalStateException("a bug of the verifier");
    }
    String serial = request.header("x-serial").orElse("");
    PublicKey key = keys.get(serial);
    if (key == null) {
      return WebhookVerdict.UNKNOWN_KEY;
    }
    try {
      Map<String, String> fields = fields(request);
      byte[] sign = Base64.getDecoder().decode(fields.getOrDefault("sign", ""));
      Signature rsa = Signature.getInstance("SHA256withRSA");
      rsa.initVerify(key);
      rsa.update(signed(fields).getBytes(UTF_8));
      return rsa.verify(sign) ? new WebhookVerdict.Authentic(serial) : WebhookVerdict.DOES_NOT_FIT;
    } catch (IllegalArgumentException e) {
      return new WebhookVerdict.Refused(true, "form");
    } catch (GeneralSecurityException e) {
      return WebhookVerdict.DOES_NOT_FIT;
    }
  }

  @Override
  public WebhookEvent read(WebhookRequest request, Instant receivedAt)
      throws UnreadableWebhookException {
    Map<String, String> fields = fields(request);
    String status = fields.getOrDefault("trade_status", "");
    if (status.equals("BUG")) {
      throw new IllegalStateException("a bug of the reader");
    }
    String payment = fields.getOrDefault("out_trade_no", "");
    String trade = fields.getOrDefault("trade_no", "");
    if (!status.equals("TRADE_SUCCESS")) {
      throw new UnreadableWebhookException("trade_status is none that is known");
    }
    Fact fact =
        new Fact(
            FactSource.WEBHOOK,
            NAME,
            payment,
            Observation.SUCCEEDED,
            trade,
            new Money(1999, "EUR"),
            null,
            null,
            null,
            receivedAt,
            Map.of());
    TreeMap<String, String> business = new TreeMap<>(fields);
    business.keySet().removeAll(deliveryFields());
    // What is the same on every delivery, and another for another change of the same trade.
    return new WebhookEvent(
        trade + ":" + status, "trade", sha256(business.toString()), payment, List.of(fact), false);
  }

  @Override
  public List<String> keptHeaders() {
    return List.of("content-type", "x-serial");
  }

  @Override
  public Set<String> deliveryFields() {
    return Set.of("notify_time", "sign");
  }

  @Override
  public Answer accepted() {
    return new Answer(200, "text/plain", "success");
  }

  @Override
  public Answer refused(int status, String reason) {
    return new Answer(status, "application/json", "{\"code\":\"FAIL\"}");
  }

  /** All fields but the signature, sorted. */
  static String signed(Map<String, String> fields) {
    StringBuilder text = new StringBuilder();
    new TreeMap<>(fields)
        .forEach(
            (name, value) -> {
              if (!name.equals("sign")) {
                text.append(name).append('=').append(value).append('&');
              }
            });
    return text.toString();
  }

  private static Map<String, String> fields(WebhookRequest request) {
    Map<String, String> fields = new TreeMap<>();
    for (String pair : new String(request.body(), UTF_8).split("&", -1)) {
      int at = pair.indexOf('=');
      if (at > 0) {
        fields.put(pair.substring(0, at), URLDecoder.decode(pair.substring(at + 1), UTF_8));
      }
    }
    return fields;
  }

  private static byte[] sha256(String text) {
    try {
      return MessageDigest.getInstance("SHA-256").digest(text.getBytes(UTF_8));
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException(e);
    }
  }
}

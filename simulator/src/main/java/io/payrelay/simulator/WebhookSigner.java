package io.payrelay.simulator;

import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.util.Base64;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/** Signs webhooks by the Standard Webhooks scheme, version v1. Thread-safe. */
final class WebhookSigner {
  private static final String PREFIX = "whsec_";
  private static final String ALGORITHM = "HmacSHA256";
  // The scheme's own bounds.
  private static final int SECRET_BYTES_MIN = 24;
  private static final int SECRET_BYTES_MAX = 64;

  private final SecretKeySpec key;

  private WebhookSigner(SecretKeySpec key) {
    this.key = key;
  }

  static WebhookSigner withSecret(String secret) {
    if (!secret.startsWith(PREFIX)) {
      throw new IllegalArgumentException("the webhook secret has to start with " + PREFIX);
    }
    byte[] bytes = Base64.getDecoder().decode(secret.substring(PREFIX.length()));
    if (bytes.length < SECRET_BYTES_MIN || bytes.length > SECRET_BYTES_MAX) {
      throw new IllegalArgumentException(
          "the webhook secret has to hold "
              + SECRET_BYTES_MIN
              + " to "
              + SECRET_BYTES_MAX
              + " bytes");
    }
    return new WebhookSigner(new SecretKeySpec(bytes, ALGORITHM));
  }

  String sign(String id, long timestampSeconds, byte[] body) {
    try {
      Mac mac = Mac.getInstance(ALGORITHM);
      mac.init(key);
      mac.update((id + "." + timestampSeconds + ".").getBytes(StandardCharsets.UTF_8));
      return "v1," + Base64.getEncoder().encodeToString(mac.doFinal(body));
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException("every Java platform has " + ALGORITHM, e);
    }
  }
}

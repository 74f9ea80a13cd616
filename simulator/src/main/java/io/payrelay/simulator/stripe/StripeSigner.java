package io.payrelay.simulator.stripe;

import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.util.HexFormat;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/** Signs webhooks by Stripe's scheme, version v1. Thread-safe. */
public final class StripeSigner {
  private static final String ALGORITHM = "HmacSHA256";

  private final SecretKeySpec key;

  /** The whole secret is the key, its whsec_ included. */
  public StripeSigner(String secret) {
    if (!secret.startsWith("whsec_")) {
      throw new IllegalArgumentException("the Stripe webhook secret has to start with whsec_");
    }
    key = new SecretKeySpec(secret.getBytes(StandardCharsets.UTF_8), ALGORITHM);
  }

  /** The value of the header {@code Stripe-Signature}. */
  public String sign(long timestampSeconds, byte[] body) {
    try {
      Mac mac = Mac.getInstance(ALGORITHM);
      mac.init(key);
      mac.update((timestampSeconds + ".").getBytes(StandardCharsets.UTF_8));
      return "t=" + timestampSeconds + ",v1=" + HexFormat.of().formatHex(mac.doFinal(body));
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException("every Java platform has " + ALGORITHM, e);
    }
  }
}

package io.payrelay.providers;

import static java.nio.charset.StandardCharsets.US_ASCII;

import io.payrelay.platform.config.Secret;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.regex.Pattern;

/**
 * Stripe's signature scheme: {@code t=seconds,v1=hex}, the hex of HMAC-SHA256 over {@code t.body}.
 * While Stripe rolls a secret it sends one {@code v1} for each; other schemes ({@code v0}) prove
 * nothing. Immutable, safe for any thread; never throws for anything in a request.
 */
public final class StripeSignatures {

  public static final String SIGNATURE = "stripe-signature";

  private static final int HEADER_LENGTH_MAX = 4096;

  /** The timestamp, one signature a secret of a rotation, and other schemes beside them. */
  private static final int PARTS_MAX = 32;

  private static final Pattern SECONDS = Pattern.compile("[1-9][0-9]{0,11}");

  /** Lower case only, as Stripe writes it and its own libraries demand. */
  private static final Pattern MAC = Pattern.compile("[0-9a-f]{64}");

  /** The whole text is the key, prefix included; Stripe's own are longer than this. */
  private static final Pattern SECRET = Pattern.compile("whsec_[\\x21-\\x7e]{24,250}");

  private final HmacSecrets secrets;
  private final long toleranceSeconds;

  /** What the header holds; no timestamp where it is missing or doubled. */
  private record Parts(String timestamp, List<byte[]> signatures) {}

  /**
   * A verifier.
   *
   * @param tolerance how far a timestamp may be from our clock, either way
   * @throws IllegalArgumentException where a secret is not one, naming its place and never its
   *     value
   */
  public StripeSignatures(List<Secret> secrets, Duration tolerance) {
    this.secrets =
        new HmacSecrets(
            secrets,
            text -> SECRET.matcher(text).matches() ? text.getBytes(US_ASCII) : new byte[0],
            "whsec_ followed by 24 or more characters");
    this.toleranceSeconds = tolerance.toSeconds();
  }

  /** Verifies the header and the raw body against every active secret. */
  public WebhookVerdict verify(WebhookRequest request, Instant now) {
    String header = request.header(SIGNATURE).orElse("");
    if (header.isEmpty() || header.length() > HEADER_LENGTH_MAX) {
      return new WebhookVerdict.Refused(true, "signature");
    }
    String[] parts = header.split(",", PARTS_MAX + 1);
    if (parts.length > PARTS_MAX || !Arrays.stream(parts).allMatch(part -> part.contains("="))) {
      return new WebhookVerdict.Refused(true, "signature");
    }
    Parts read = read(parts);
    if (!SECONDS.matcher(read.timestamp()).matches()) {
      return new WebhookVerdict.Refused(true, "timestamp");
    }
    if (read.signatures().isEmpty()) {
      return new WebhookVerdict.Refused(true, "signature");
    }
    if (Math.abs(now.getEpochSecond() - Long.parseLong(read.timestamp())) > toleranceSeconds) {
      return WebhookVerdict.OUTSIDE_THE_WINDOW;
    }
    String keyId = secrets.fitting(read.timestamp() + ".", request.body(), read.signatures());
    return keyId == null ? WebhookVerdict.DOES_NOT_FIT : new WebhookVerdict.Authentic(keyId);
  }

  private static Parts read(String[] parts) {
    String timestamp = null;
    List<byte[]> signatures = new ArrayList<>();
    for (String part : parts) {
      if (part.startsWith("t=")) {
        // Which of two was signed is not to be guessed.
        timestamp = timestamp == null ? part.substring("t=".length()) : "";
      } else if (part.startsWith("v1=")) {
        String hex = part.substring("v1=".length());
        if (MAC.matcher(hex).matches()) {
          signatures.add(HexFormat.of().parseHex(hex));
        }
      }
    }
    return new Parts(timestamp == null ? "" : timestamp, signatures);
  }
}

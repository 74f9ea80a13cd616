package io.payrelay.providers;

import static java.nio.charset.StandardCharsets.US_ASCII;

import io.payrelay.platform.config.Secret;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * The Standard Webhooks 1.0.0 signature scheme, symmetric form: {@code v1,} and the Base64 of
 * HMAC-SHA256 over {@code id.timestamp.body}. Several secrets may be active while a new one
 * replaces an old one. Immutable, safe for any thread; never throws for anything in a request.
 */
public final class StandardWebhooks {

  public static final String ID = "webhook-id";
  public static final String TIMESTAMP = "webhook-timestamp";
  public static final String SIGNATURE = "webhook-signature";

  private static final String PREFIX = "whsec_";
  private static final String VERSION = "v1,";
  private static final int KEY_BYTES_MIN = 24;
  private static final int KEY_BYTES_MAX = 64;

  /** One signature a secret of a rotation, and other versions beside them: more is an attack. */
  private static final int SIGNATURES_MAX = 16;

  private static final int SIGNATURE_LENGTH_MAX = 4096;

  /** Twelve digits last until the year 33658 and never overflow. */
  private static final Pattern SECONDS = Pattern.compile("[0-9]{1,12}");

  private static final Pattern SPACES = Pattern.compile(" +");

  private final HmacSecrets secrets;
  private final long toleranceSeconds;

  /**
   * A verifier.
   *
   * @param tolerance how far a timestamp may be from our clock, either way
   * @throws IllegalArgumentException where a secret is not one, naming its place and never its
   *     value
   */
  public StandardWebhooks(List<Secret> secrets, Duration tolerance) {
    this.secrets =
        new HmacSecrets(
            secrets, StandardWebhooks::key, "whsec_ followed by the Base64 of 24 to 64 bytes");
    this.toleranceSeconds = tolerance.toSeconds();
  }

  /** Verifies the headers and the raw body against every active secret. */
  public WebhookVerdict verify(WebhookRequest request, Instant now) {
    Optional<String> id = eventId(request);
    String timestamp = request.header(TIMESTAMP).orElse("");
    String signatures = request.header(SIGNATURE).orElse("");
    if (id.isEmpty()) {
      return new WebhookVerdict.Refused(true, "id");
    }
    if (!SECONDS.matcher(timestamp).matches()) {
      return new WebhookVerdict.Refused(true, "timestamp");
    }
    if (signatures.isEmpty() || signatures.length() > SIGNATURE_LENGTH_MAX) {
      return new WebhookVerdict.Refused(true, "signature");
    }
    if (Math.abs(now.getEpochSecond() - Long.parseLong(timestamp)) > toleranceSeconds) {
      return WebhookVerdict.OUTSIDE_THE_WINDOW;
    }
    String keyId =
        secrets.fitting(id.get() + "." + timestamp + ".", request.body(), offered(signatures));
    return keyId == null ? WebhookVerdict.DOES_NOT_FIT : new WebhookVerdict.Authentic(keyId);
  }

  /** The event's id, where the header holds one that can be kept. */
  public static Optional<String> eventId(WebhookRequest request) {
    return request.header(ID).filter(WebhookEvent::isId);
  }

  private static List<byte[]> offered(String header) {
    List<byte[]> offered = new ArrayList<>();
    for (String part : SPACES.split(header, SIGNATURES_MAX + 1)) {
      if (part.startsWith(VERSION) && offered.size() < SIGNATURES_MAX) {
        byte[] decoded = decoded(part.substring(VERSION.length()));
        if (decoded.length == HmacSecrets.MAC_BYTES) {
          offered.add(decoded);
        }
      }
    }
    return offered;
  }

  /** Empty where the text is not Base64: such a signature fits nothing. */
  private static byte[] decoded(String text) {
    try {
      return Base64.getDecoder().decode(text.getBytes(US_ASCII));
    } catch (IllegalArgumentException e) {
      return new byte[0];
    }
  }

  private static byte[] key(String text) {
    byte[] bytes = text.startsWith(PREFIX) ? decoded(text.substring(PREFIX.length())) : new byte[0];
    return bytes.length < KEY_BYTES_MIN || bytes.length > KEY_BYTES_MAX ? new byte[0] : bytes;
  }
}

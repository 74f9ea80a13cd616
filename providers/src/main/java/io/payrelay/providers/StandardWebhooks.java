package io.payrelay.providers;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static java.nio.charset.StandardCharsets.UTF_8;

import io.payrelay.platform.config.Secret;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/**
 * The Standard Webhooks 1.0.0 signature scheme, symmetric form: {@code v1,} and the Base64 of
 * HMAC-SHA256 over {@code id.timestamp.body}. Several secrets may be active while a new one
 * replaces an old one. Immutable, safe for any thread; never throws for anything in a request.
 */
public final class StandardWebhooks {

  public static final String ID = "webhook-id";
  public static final String TIMESTAMP = "webhook-timestamp";
  public static final String SIGNATURE = "webhook-signature";

  /** The column that keeps event ids is no longer. */
  public static final int ID_LENGTH_MAX = 256;

  private static final String ALGORITHM = "HmacSHA256";
  private static final String PREFIX = "whsec_";
  private static final String VERSION = "v1,";
  private static final int KEY_BYTES_MIN = 24;
  private static final int KEY_BYTES_MAX = 64;
  private static final int KEY_ID_BYTES = 4;
  private static final int MAC_BYTES = 32;

  /** One signature a secret of a rotation, and other versions beside them: more is an attack. */
  private static final int SIGNATURES_MAX = 16;

  private static final int SIGNATURE_LENGTH_MAX = 4096;

  /** Twelve digits last until the year 33658 and never overflow. */
  private static final Pattern SECONDS = Pattern.compile("[0-9]{1,12}");

  private static final Pattern EVENT_ID = Pattern.compile("[\\x21-\\x7e]{1," + ID_LENGTH_MAX + "}");
  private static final Pattern SPACES = Pattern.compile(" +");

  private final List<Key> keys;
  private final long toleranceSeconds;

  private record Key(String id, SecretKeySpec spec) {}

  /**
   * A verifier.
   *
   * @param tolerance how far a timestamp may be from our clock, either way
   * @throws IllegalArgumentException where a secret is not one, naming its place and never its
   *     value
   */
  public StandardWebhooks(List<Secret> secrets, Duration tolerance) {
    if (secrets.isEmpty()) {
      throw new IllegalArgumentException("no webhook secret is given: at least one is needed");
    }
    List<Key> parsed = new ArrayList<>();
    for (int i = 0; i < secrets.size(); i++) {
      parsed.add(key(secrets.get(i), i + 1));
    }
    this.keys = List.copyOf(parsed);
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
      return new WebhookVerdict.Refused(false, "timestamp outside the window");
    }
    List<byte[]> offered = offered(signatures);
    String fitting = null;
    for (Key key : keys) {
      byte[] expected = mac(key, id.get(), timestamp, request.body());
      for (byte[] one : offered) {
        // No early end: the time taken says nothing about which secret or signature fitted.
        if (MessageDigest.isEqual(expected, one)) {
          fitting = key.id();
        }
      }
    }
    return fitting == null
        ? new WebhookVerdict.Refused(false, "signature does not fit")
        : new WebhookVerdict.Authentic(fitting);
  }

  /** The event's id, where the header holds one that can be kept. */
  public static Optional<String> eventId(WebhookRequest request) {
    return request.header(ID).filter(id -> EVENT_ID.matcher(id).matches());
  }

  private static List<byte[]> offered(String header) {
    List<byte[]> offered = new ArrayList<>();
    for (String part : SPACES.split(header, SIGNATURES_MAX + 1)) {
      if (part.startsWith(VERSION) && offered.size() < SIGNATURES_MAX) {
        byte[] decoded = decoded(part.substring(VERSION.length()));
        if (decoded.length == MAC_BYTES) {
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

  private static byte[] mac(Key key, String id, String timestamp, byte[] body) {
    try {
      Mac mac = Mac.getInstance(ALGORITHM);
      mac.init(key.spec());
      mac.update((id + "." + timestamp + ".").getBytes(UTF_8));
      return mac.doFinal(body);
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException("every Java has " + ALGORITHM, e);
    }
  }

  private static Key key(Secret secret, int position) {
    String text = secret.reveal();
    byte[] bytes = text.startsWith(PREFIX) ? decoded(text.substring(PREFIX.length())) : new byte[0];
    if (bytes.length < KEY_BYTES_MIN || bytes.length > KEY_BYTES_MAX) {
      throw new IllegalArgumentException(
          "webhook secret number "
              + position
              + " is not whsec_ followed by the Base64 of 24 to 64 bytes");
    }
    try {
      byte[] digest = MessageDigest.getInstance("SHA-256").digest(text.getBytes(UTF_8));
      // A fingerprint of a random secret tells nothing of it: safe to store and to log.
      return new Key(
          HexFormat.of().formatHex(digest, 0, KEY_ID_BYTES), new SecretKeySpec(bytes, ALGORITHM));
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every Java has SHA-256", e);
    }
  }
}

package io.payrelay.providers;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.payrelay.platform.config.Secret;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.function.Function;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.jspecify.annotations.Nullable;

/**
 * The active secrets of an HMAC-SHA256 scheme: several while a new one replaces an old one.
 * Immutable, safe for any thread.
 */
final class HmacSecrets {

  static final int MAC_BYTES = 32;

  private static final String ALGORITHM = "HmacSHA256";
  private static final int KEY_ID_BYTES = 4;

  private final List<Key> keys;

  private record Key(String id, SecretKeySpec spec) {}

  /**
   * Checks the secrets.
   *
   * @param keyOf the key's bytes, or none where the text is no secret of the scheme
   * @param form what a secret looks like
   * @throws IllegalArgumentException where a secret is not one, naming its place and never its
   *     value
   */
  HmacSecrets(List<Secret> secrets, Function<String, byte[]> keyOf, String form) {
    if (secrets.isEmpty()) {
      throw new IllegalArgumentException("no webhook secret is given: at least one is needed");
    }
    List<Key> parsed = new ArrayList<>();
    for (Secret secret : secrets) {
      byte[] bytes = keyOf.apply(secret.reveal());
      if (bytes.length == 0) {
        throw new IllegalArgumentException(
            "webhook secret number " + (parsed.size() + 1) + " is not " + form);
      }
      parsed.add(new Key(id(secret), new SecretKeySpec(bytes, ALGORITHM)));
    }
    this.keys = List.copyOf(parsed);
  }

  /** The id of the secret under which one of the offered signatures fits, or null. */
  @Nullable String fitting(String prefix, byte[] body, List<byte[]> offered) {
    String fitting = null;
    for (Key key : keys) {
      byte[] expected = mac(key, prefix, body);
      for (byte[] one : offered) {
        // No early end: the time taken says nothing about which secret or signature fitted.
        if (MessageDigest.isEqual(expected, one)) {
          fitting = key.id();
        }
      }
    }
    return fitting;
  }

  private static byte[] mac(Key key, String prefix, byte[] body) {
    try {
      Mac mac = Mac.getInstance(ALGORITHM);
      mac.init(key.spec());
      mac.update(prefix.getBytes(UTF_8));
      return mac.doFinal(body);
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException("every Java has " + ALGORITHM, e);
    }
  }

  /** A fingerprint of a random secret tells nothing of it: safe to store and to log. */
  private static String id(Secret secret) {
    try {
      byte[] digest = MessageDigest.getInstance("SHA-256").digest(secret.reveal().getBytes(UTF_8));
      return HexFormat.of().formatHex(digest, 0, KEY_ID_BYTES);
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every Java has SHA-256", e);
    }
  }
}

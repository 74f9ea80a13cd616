package io.payrelay.webhook;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Looks for an id in a body that may write it with escapes of JSON, as {@code txn\/1}; the body
 * need not be JSON that anybody can read. Stateless.
 */
final class EscapedText {

  private static final Pattern ESCAPE = Pattern.compile("\\\\(?:u([0-9a-fA-F]{4})|([/\"\\\\]))");
  private static final int HEX = 16;

  private EscapedText() {}

  static boolean names(byte[] body, String id) {
    String plain = ESCAPE.matcher(new String(body, UTF_8)).replaceAll(EscapedText::meant);
    return plain.contains(id);
  }

  private static String meant(MatchResult escape) {
    String code = escape.group(1);
    String text =
        code == null ? escape.group(2) : String.valueOf((char) Integer.parseInt(code, HEX));
    return Matcher.quoteReplacement(text);
  }
}

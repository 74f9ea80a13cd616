package io.payrelay.app;

import java.util.regex.MatchResult;
import java.util.regex.Pattern;

/** Hides what looks like a card number in text that a person is shown. Stateless. */
final class CardNumbers {

  /** 13 to 19 digits, in one run or spaced or dashed; more of them than the database refuses. */
  private static final Pattern LIKE_ONE =
      Pattern.compile("(?<![0-9])\\d(?:[ -]?\\d){12,18}(?![0-9])");

  private static final int DIGITS_SHOWN = 4;

  private CardNumbers() {}

  /** The text with all but the last four digits of each one hidden. */
  static String masked(String text) {
    return LIKE_ONE.matcher(text).replaceAll(CardNumbers::mask);
  }

  private static String mask(MatchResult found) {
    String digits = found.group().replaceAll("[ -]", "");
    return passesCheck(digits)
        ? "*".repeat(digits.length() - DIGITS_SHOWN)
            + digits.substring(digits.length() - DIGITS_SHOWN)
        : found.group();
  }

  /** ISO/IEC 7812-1, by Luhn. */
  private static boolean passesCheck(String digits) {
    int total = 0;
    for (int i = 0; i < digits.length(); i++) {
      int digit = digits.charAt(digits.length() - 1 - i) - '0';
      if (i % 2 == 1) {
        digit *= 2;
      }
      total += digit > 9 ? digit - 9 : digit;
    }
    return total % 10 == 0;
  }
}

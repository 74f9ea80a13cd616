package io.payrelay.app;

import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;

/** Hides what looks like a card number in text that a person is shown. Stateless. */
final class CardNumbers {

  /** More of them than the database refuses. */
  private static final int DIGITS_MIN = 13;

  private static final int DIGITS_MAX = 19;

  private static final int DIGITS_SHOWN = 4;

  private CardNumbers() {}

  /** Digits side by side; the end is the place after the last one. */
  private record Group(int start, int end) {}

  /**
   * The text with all but the last four digits of each one hidden. One is made of whole groups of
   * digits with one space or dash between them; other groups may stand beside it.
   */
  static String masked(String text) {
    BitSet hidden = new BitSet();
    BitSet separators = new BitSet();
    int at = 0;
    while (at < text.length()) {
      if (isDigit(text, at)) {
        List<Group> run = run(text, at);
        mark(text, run, hidden, separators);
        at = run.get(run.size() - 1).end();
      } else {
        at++;
      }
    }
    if (hidden.isEmpty()) {
      return text;
    }
    StringBuilder shown = new StringBuilder(text.length());
    for (int i = 0; i < text.length(); i++) {
      if (!separators.get(i)) {
        shown.append(hidden.get(i) ? '*' : text.charAt(i));
      }
    }
    return shown.toString();
  }

  private static List<Group> run(String text, int from) {
    List<Group> run = new ArrayList<>();
    int start = from;
    while (isDigit(text, start)) {
      int end = start;
      while (isDigit(text, end)) {
        end++;
      }
      run.add(new Group(start, end));
      boolean separated = end < text.length() && " -".indexOf(text.charAt(end)) >= 0;
      start = separated ? end + 1 : text.length();
    }
    return run;
  }

  /** What any reading of the groups makes one is hidden: they may overlap. */
  private static void mark(String text, List<Group> run, BitSet hidden, BitSet separators) {
    for (int first = 0; first < run.size(); first++) {
      int digits = 0;
      for (int last = first; last < run.size() && digits <= DIGITS_MAX; last++) {
        digits += run.get(last).end() - run.get(last).start();
        if (digits >= DIGITS_MIN
            && digits <= DIGITS_MAX
            && passesCheck(text, run.get(first).start(), run.get(last).end())) {
          mark(text, run.get(first).start(), run.get(last).end(), hidden, separators);
        }
      }
    }
  }

  private static void mark(String text, int start, int end, BitSet hidden, BitSet separators) {
    int seen = 0;
    for (int i = end - 1; i >= start; i--) {
      if (!isDigit(text, i)) {
        separators.set(i);
      } else if (seen++ >= DIGITS_SHOWN) {
        hidden.set(i);
      }
    }
  }

  /** ISO/IEC 7812-1, by Luhn. */
  private static boolean passesCheck(String text, int start, int end) {
    int total = 0;
    int seen = 0;
    for (int i = end - 1; i >= start; i--) {
      if (isDigit(text, i)) {
        int digit = text.charAt(i) - '0';
        if (seen % 2 == 1) {
          digit *= 2;
        }
        total += digit > 9 ? digit - 9 : digit;
        seen++;
      }
    }
    return total % 10 == 0;
  }

  private static boolean isDigit(String text, int at) {
    return at < text.length() && text.charAt(at) >= '0' && text.charAt(at) <= '9';
  }
}

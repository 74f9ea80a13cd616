package io.payrelay.schemas;

/**
 * A payload that its schema does not take, or bytes that are no record of a known schema. The
 * message names the field and what is wrong with it and never repeats a value.
 */
public final class EncodingException extends Exception {

  private static final long serialVersionUID = 1L;

  private final Kind kind;

  /** What is wrong, as far as counting it needs to know. */
  public enum Kind {
    UNKNOWN_TYPE,
    NOT_JSON,
    MISMATCH,
    TOO_LARGE
  }

  /** A payload or record that does not fit. */
  public EncodingException(String message) {
    this(Kind.MISMATCH, message);
  }

  /** A payload that cannot be converted. */
  public EncodingException(Kind kind, String message) {
    // Without a stack trace: the message says it all, and a flood of bad payloads must stay cheap.
    super(message, null, false, false);
    this.kind = kind;
  }

  /** What is wrong. */
  public Kind kind() {
    return kind;
  }
}

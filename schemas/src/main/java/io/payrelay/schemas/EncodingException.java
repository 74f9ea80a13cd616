package io.payrelay.schemas;

/**
 * A payload that its schema does not take, or bytes that are no record of a known schema. The
 * message names the field and what is wrong with it and never repeats a value.
 */
public final class EncodingException extends Exception {

  private static final long serialVersionUID = 1L;

  /** A payload or record that cannot be converted. */
  public EncodingException(String message) {
    super(message);
  }
}

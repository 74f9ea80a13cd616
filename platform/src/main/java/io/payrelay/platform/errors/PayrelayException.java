package io.payrelay.platform.errors;

import org.jspecify.annotations.Nullable;

/** The one exception of Payrelay; its category says what is to be done. Immutable. */
public final class PayrelayException extends RuntimeException {

  private static final long serialVersionUID = 1L;

  private final Category category;

  /** A failure whose message names the cause and, where there is one, the fix. */
  public PayrelayException(Category category, String message) {
    this(category, message, null);
  }

  /** As above, with what caused it. */
  public PayrelayException(Category category, String message, @Nullable Throwable cause) {
    super(message, cause);
    this.category = category;
  }

  /** What is to be done. */
  public Category category() {
    return category;
  }
}

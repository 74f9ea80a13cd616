package io.payrelay.payments.store;

import org.jspecify.annotations.Nullable;

/**
 * Who acts, and why. Immutable.
 *
 * @param by who they say they are
 * @param evidence what they rely on, such as a ticket or the provider's own record
 */
public record Person(String by, String reason, @Nullable String evidence) {

  /** A deed without a name or a reason is not done. */
  public Person {
    if (by.isBlank() || reason.isBlank()) {
      throw new IllegalArgumentException("who and why must be said");
    }
  }
}

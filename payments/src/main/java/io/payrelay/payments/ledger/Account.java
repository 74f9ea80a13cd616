package io.payrelay.payments.ledger;

import java.util.Locale;

/** A ledger account: one kind, one provider, one currency. Immutable. */
public record Account(AccountKind kind, String provider, String currency) {

  /** The key under which the account is stored, such as {@code suspense:simulator:USD}. */
  public String id() {
    return kind.name().toLowerCase(Locale.ROOT) + ":" + provider + ":" + currency;
  }
}

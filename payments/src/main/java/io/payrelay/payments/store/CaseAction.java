package io.payrelay.payments.store;

import io.payrelay.payments.lifecycle.ExceptionKind;
import java.util.Collections;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** What a person may do about an exception case. */
public enum CaseAction {
  /** Have the provider asked now. */
  QUERY,
  /** Say that it succeeded. */
  SUCCEEDED,
  /** Say that it failed. */
  FAILED,
  /** Give money back. */
  REFUND,
  /** Take a provider's payment over as one of ours. */
  ADOPT,
  /** Nothing more is to be done. */
  CLOSE;

  private static final Map<ExceptionKind, Set<CaseAction>> BY_KIND = table();

  /** Which ones fit cases of that kind; a kind that is not in the table can be closed. */
  public static Set<CaseAction> of(ExceptionKind kind) {
    return BY_KIND.getOrDefault(kind, Set.of(CLOSE));
  }

  /** As on the command line. */
  public String option() {
    return switch (this) {
      case QUERY -> "--query";
      case SUCCEEDED -> "--succeeded";
      case FAILED -> "--failed";
      case REFUND -> "--refund";
      case ADOPT -> "--adopt";
      case CLOSE -> "--close";
    };
  }

  private static Map<ExceptionKind, Set<CaseAction>> table() {
    Map<ExceptionKind, Set<CaseAction>> table = new EnumMap<>(ExceptionKind.class);
    // The payment has its end: money that came besides can only go back, or is explained elsewhere.
    for (ExceptionKind kind : List.of(ExceptionKind.LATE_SUCCESS, ExceptionKind.DOUBLE_CHARGE)) {
      table.put(kind, set(REFUND, CLOSE));
    }
    // The payment may still be open, and money may lie in suspense.
    for (ExceptionKind kind :
        List.of(
            ExceptionKind.FAILED_AFTER_CAPTURE,
            ExceptionKind.AMOUNT_MISMATCH,
            ExceptionKind.CURRENCY_MISMATCH,
            ExceptionKind.PAYEE_MISMATCH,
            ExceptionKind.PROVIDER_MISMATCH)) {
      table.put(kind, set(QUERY, SUCCEEDED, FAILED, REFUND, CLOSE));
    }
    // The payment may still be open, and no money of it is booked.
    for (ExceptionKind kind :
        List.of(
            ExceptionKind.TRANSACTION_CLAIMED_TWICE,
            ExceptionKind.UNRESOLVED,
            ExceptionKind.KEY_REFUSED,
            ExceptionKind.PAYLOAD_MISMATCH,
            ExceptionKind.UNKNOWN_PROVIDER,
            ExceptionKind.MISSING_EVENT,
            ExceptionKind.WEBHOOK_FAILED,
            ExceptionKind.WEBHOOK_CONFLICT)) {
      table.put(kind, set(QUERY, SUCCEEDED, FAILED, CLOSE));
    }
    table.put(ExceptionKind.UNMATCHED_PROVIDER_PAYMENT, set(ADOPT, REFUND, CLOSE));
    return table;
  }

  private static Set<CaseAction> set(CaseAction first, CaseAction... more) {
    return Collections.unmodifiableSet(EnumSet.of(first, more));
  }
}

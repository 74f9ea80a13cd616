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

  /** Cases about refunds that gave nothing back. */
  private static final Set<ExceptionKind> MONEY_IS_HERE =
      EnumSet.of(ExceptionKind.REFUND_FAILED, ExceptionKind.REFUND_RETURNED);

  /** Which ones fit cases of that kind; a kind that is not in the table can be closed. */
  public static Set<CaseAction> of(ExceptionKind kind) {
    return BY_KIND.getOrDefault(kind, Set.of(CLOSE));
  }

  /** Which ones fit that case: money of a refund is given back again only where it is here. */
  public static Set<CaseAction> of(StoredCase found) {
    Set<CaseAction> fitting = of(found.kind());
    if (found.refundId() == null || MONEY_IS_HERE.contains(found.kind())) {
      return fitting;
    }
    Set<CaseAction> without = EnumSet.copyOf(fitting);
    without.remove(REFUND);
    return without;
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
    for (ExceptionKind kind :
        List.of(
            ExceptionKind.LATE_SUCCESS,
            ExceptionKind.DOUBLE_CHARGE,
            ExceptionKind.REFUND_FAILED,
            ExceptionKind.REFUND_RETURNED)) {
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
            ExceptionKind.DOUBLE_REFUND,
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

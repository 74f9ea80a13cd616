package io.payrelay.payments.store;

import io.payrelay.payments.lifecycle.ExceptionCase;
import io.payrelay.payments.lifecycle.Payment;
import io.payrelay.payments.money.Money;
import io.payrelay.platform.errors.Category;
import io.payrelay.platform.errors.PayrelayException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jdbi.v3.core.Handle;
import org.jspecify.annotations.Nullable;

/**
 * What an action on a case needs, and how it is spoken of. Belongs to the transaction.
 *
 * @param payment as it is locked; null: the case is about none of ours
 */
record CaseWork(
    Handle tx, StoredCase found, @Nullable Payment payment, Person person, Instant now) {

  Payment known(CaseAction action) {
    if (payment == null) {
      throw refused(
          "Case %d is about no payment of ours: %s needs one"
              .formatted(found.id(), action.option()));
    }
    return payment;
  }

  /** A person's word, as evidence of a fact. */
  Map<String, String> evidence() {
    Map<String, String> evidence = new HashMap<>();
    evidence.put("by", person.by());
    evidence.put("reason", person.reason());
    evidence.put("exception_case_id", Long.toString(found.id()));
    if (person.evidence() != null) {
      evidence.put("evidence", person.evidence());
    }
    return evidence;
  }

  /**
   * Why a person's word was not taken.
   *
   * @param exceptions what it would raise
   * @param more whether the ledger objects too
   */
  static String why(List<ExceptionCase> exceptions, boolean more) {
    List<String> reasons = new ArrayList<>();
    for (ExceptionCase one : exceptions) {
      String claimedBy = one.evidence().get("claimed_by_payment_id");
      Money expected = one.expected();
      Money observed = one.observed();
      String terms =
          expected == null || observed == null
              ? ""
              : " (%s asked for, %s said)".formatted(text(expected), text(observed));
      reasons.add(
          claimedBy == null ? one.kind() + terms : one.kind() + " (by payment " + claimedBy + ")");
    }
    if (reasons.isEmpty() && more) {
      reasons.add("the ledger holds that transaction with another amount");
    }
    return reasons.isEmpty() ? "terminal states do not move" : String.join(", ", reasons);
  }

  static String text(Money money) {
    return money.amountMinor() + " " + money.currency();
  }

  static PayrelayException refused(String sentence) {
    return new PayrelayException(Category.REJECTED, sentence);
  }
}

package io.payrelay.workbench;

import com.fasterxml.jackson.annotation.JsonIgnore;
import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.annotation.JsonUnwrapped;
import java.util.ArrayList;
import java.util.List;

/**
 * What became of all payments, counted from three sides: the database, the provider's own ledger,
 * and the status topic as a read_committed consumer sees it. Immutable.
 *
 * @param failedButCharged FAILED payments whose money moved, and no case of a late success says so;
 *     they are also among those that were charged and are not SUCCEEDED
 * @param doubleCharges charges with moved money beyond the first of a payment
 * @param missingStatusEvents changes in payment_event without a record
 * @param duplicateStatusEvents records beyond the first of a (payment_id, version)
 * @param ledgerDifferences provider transactions whose money the ledger does not show, or shows
 *     otherwise
 * @param exceptionCases but those of refunds whose money came back, which must be there
 * @param webhooksReceived authentic ones, each event once
 */
public record Report(
    @JsonProperty("payments") long payments,
    @JsonProperty("succeeded") long succeeded,
    @JsonProperty("failed") long failed,
    @JsonProperty("unresolved") long unresolved,
    @JsonProperty("provider_charges") long providerCharges,
    @JsonProperty("double_charges") long doubleCharges,
    @JsonProperty("charged_but_not_succeeded") long chargedButNotSucceeded,
    @JsonProperty("succeeded_but_not_charged") long succeededButNotCharged,
    @JsonProperty("failed_but_charged") long failedButCharged,
    @JsonProperty("status_events") long statusEvents,
    @JsonProperty("duplicate_status_events") long duplicateStatusEvents,
    @JsonProperty("missing_status_events") long missingStatusEvents,
    @JsonProperty("out_of_order_status_events") long outOfOrderStatusEvents,
    @JsonProperty("unbalanced_postings") long unbalancedPostings,
    @JsonProperty("ledger_differences") long ledgerDifferences,
    @JsonProperty("exception_cases") long exceptionCases,
    @JsonProperty("webhooks_received") long webhooksReceived,
    @JsonUnwrapped RefundCounts refunds,
    @JsonProperty("elapsed_s") double elapsedS) {

  /** The invariants that do not hold, each as a sentence; empty where all do. */
  @JsonIgnore
  public List<String> violations() {
    List<String> violations = new ArrayList<>();
    add(violations, unresolved, "payments have no end");
    add(violations, doubleCharges, "charges were made twice");
    add(violations, chargedButNotSucceeded, "payments were charged and are not SUCCEEDED");
    add(violations, succeededButNotCharged, "payments are SUCCEEDED and were not charged");
    add(violations, failedButCharged, "payments are FAILED, were charged, and nobody is told");
    add(violations, duplicateStatusEvents, "status events came twice");
    add(violations, missingStatusEvents, "status changes have no event");
    add(violations, outOfOrderStatusEvents, "status events came out of order");
    add(violations, unbalancedPostings, "postings do not balance");
    add(violations, ledgerDifferences, "provider transactions and the ledger differ");
    add(violations, exceptionCases, "exception cases were raised");
    violations.addAll(refunds.violations());
    return violations;
  }

  static void add(List<String> violations, long count, String sentence) {
    if (count != 0) {
      violations.add(count + " " + sentence);
    }
  }
}

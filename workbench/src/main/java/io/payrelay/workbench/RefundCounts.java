package io.payrelay.workbench;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.ArrayList;
import java.util.List;

/**
 * What became of all refunds, counted from the same three sides as payments. Immutable.
 *
 * @param beyondCaptured captured transactions of which refunds that are not over took more than was
 *     captured
 * @param doubleRefunds refunds of ours that the provider made more than once
 * @param differences refunds that the provider made and we do not show, or the other way round, in
 *     status, amount or ledger
 * @param returnedWithoutCase refunds whose money came back, and nobody is told
 */
public record RefundCounts(
    @JsonProperty("refunds") long refunds,
    @JsonProperty("refunds_succeeded") long succeeded,
    @JsonProperty("refunds_failed") long failed,
    @JsonProperty("refunds_returned") long returned,
    @JsonProperty("refund_events") long events,
    @JsonProperty("unresolved_refunds") long unresolved,
    @JsonProperty("refunds_beyond_captured") long beyondCaptured,
    @JsonProperty("double_refunds") long doubleRefunds,
    @JsonProperty("refund_differences") long differences,
    @JsonProperty("refunds_returned_without_case") long returnedWithoutCase,
    @JsonProperty("missing_refund_events") long missingEvents,
    @JsonProperty("duplicate_refund_events") long duplicateEvents,
    @JsonProperty("out_of_order_refund_events") long outOfOrderEvents) {

  /** Of a run that asks for none. */
  static final RefundCounts NONE = new RefundCounts(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);

  List<String> violations() {
    List<String> violations = new ArrayList<>();
    Report.add(violations, unresolved, "refunds have no end");
    Report.add(violations, beyondCaptured, "charges were refunded beyond what was captured");
    Report.add(violations, doubleRefunds, "refunds were made twice");
    Report.add(violations, differences, "refunds differ from the provider's");
    Report.add(violations, returnedWithoutCase, "refunds came back, and nobody is told");
    Report.add(violations, missingEvents, "changes of refunds have no event");
    Report.add(violations, duplicateEvents, "refund events came twice");
    Report.add(violations, outOfOrderEvents, "refund events came out of order");
    return violations;
  }
}

package io.payrelay.chargeworker;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;

/** Accepts what was read, charges and refunds each in their own way. Safe for any thread. */
final class Requests {

  private final Acceptance charges;
  private final RefundAcceptance refunds;

  Requests(Acceptance charges, RefundAcceptance refunds) {
    this.charges = charges;
    this.refunds = refunds;
  }

  /** Accepts the triggers and says what became of each, in the same order. */
  List<Verdict> accept(List<Trigger> triggers) {
    List<Trigger> ofCharges = new ArrayList<>(triggers.size());
    List<RefundTrigger> ofRefunds = new ArrayList<>();
    for (Trigger trigger : triggers) {
      RefundTrigger refund = trigger.refund();
      if (refund == null) {
        ofCharges.add(trigger);
      } else {
        ofRefunds.add(refund);
      }
    }
    if (ofRefunds.isEmpty()) {
      return charges.accept(triggers);
    }
    Iterator<Verdict> charged =
        ofCharges.isEmpty() ? List.<Verdict>of().iterator() : charges.accept(ofCharges).iterator();
    Iterator<Verdict> refunded = refunds.accept(ofRefunds).iterator();
    List<Verdict> verdicts = new ArrayList<>(triggers.size());
    triggers.forEach(
        trigger -> verdicts.add(trigger.refund() == null ? charged.next() : refunded.next()));
    return verdicts;
  }
}

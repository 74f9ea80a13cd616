package io.payrelay.payments.lifecycle;

import io.payrelay.payments.ledger.Posting;
import io.payrelay.payments.lifecycle.Decision.NextAction;
import io.payrelay.payments.lifecycle.Decision.Note;
import java.util.List;

/**
 * What follows from a fact about a refund: to be applied as a whole, in one transaction, or not at
 * all. Immutable.
 *
 * @param states the refund after each status change, in order; empty where it stays as it is
 * @param result the refund after everything; where its status stays it may be identified now
 * @param note how the fact is remembered where it changes no status
 * @param next what the resolver has to do
 */
public record RefundDecision(
    List<Refund> states,
    Refund result,
    Note note,
    List<Posting> postings,
    List<ExceptionCase> exceptions,
    NextAction next) {

  /** Copies the lists. */
  public RefundDecision {
    states = List.copyOf(states);
    postings = List.copyOf(postings);
    exceptions = List.copyOf(exceptions);
  }

  /** What of it concerns the payment, whose status no refund changes. */
  public Decision ofPayment() {
    return new Decision(List.of(), note, postings, exceptions, next);
  }
}

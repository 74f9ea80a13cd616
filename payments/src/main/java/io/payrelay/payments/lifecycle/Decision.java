package io.payrelay.payments.lifecycle;

import io.payrelay.payments.ledger.Posting;
import java.util.List;

/**
 * What follows from a fact: to be applied as a whole, in one transaction, or not at all. Immutable.
 *
 * @param states the payment after each status change, in order; empty where it stays as it is
 * @param note how the fact is remembered where it changes no status
 * @param next what the resolver has to do
 */
public record Decision(
    List<Payment> states,
    Note note,
    List<Posting> postings,
    List<ExceptionCase> exceptions,
    NextAction next) {

  /** How a fact that changes no status is remembered. */
  public enum Note {
    /** Not at all: it said what was known. */
    NONE,
    /** As an event: it came too late to count. */
    IGNORED,
    /** As an event: it contradicts, and a case was raised. */
    CONFLICTING,
    /** As an event: money left or came back after success. */
    MONEY_REVERSED
  }

  /** What is left to do with the provider. */
  public enum NextAction {
    /** Nothing: terminal, or a person's. */
    NONE,
    /** Find out later. */
    QUERY
  }

  /** Copies the lists. */
  public Decision {
    states = List.copyOf(states);
    postings = List.copyOf(postings);
    exceptions = List.copyOf(exceptions);
  }

  /** The payment after everything. */
  public Payment result(Payment before) {
    return states.isEmpty() ? before : states.get(states.size() - 1);
  }
}

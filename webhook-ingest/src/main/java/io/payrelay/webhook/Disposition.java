package io.payrelay.webhook;

/** What became of an event. */
public enum Disposition {
  /** It moved its payment, or money of it was booked. */
  APPLIED,
  /** It said what was known, or came too late to count. */
  NO_CHANGE,
  /** It contradicts what we hold: a case was raised. */
  CONFLICT,
  /** Its payment is not there yet. */
  PARKED,
  /** Its payment never came: a case was raised. */
  UNMATCHED,
  /** It could not be read or decided on: a case was raised, {@code reprocess} applies it later. */
  FAILED,
  /** A type, or a state of one, that we do not act on. */
  UNKNOWN_TYPE
}

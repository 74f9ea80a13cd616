package io.payrelay.platform.errors;

/** What is to be done about a failure. */
public enum Category {
  /** It heals by itself: back off and try again. */
  RETRIABLE,
  /** Trying again cannot help: set the item aside with its reason and go on. */
  REJECTED,
  /** It may have been done: find out, never send blindly again. */
  UNKNOWN_OUTCOME,
  /** A human must act: stop the process with a sentence. */
  FATAL
}

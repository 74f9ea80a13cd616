package io.payrelay.chargeworker;

/** What became of a trigger. */
enum Verdict {
  /** There is an operation now, or there was one, or none is needed. */
  DONE,
  /** A case, or an end that is FAILED, says why there is none. */
  REFUSED,
  /** There is no such payment or refund, as far as we can see now. */
  NOT_VISIBLE,
  /** Somebody holds the payment at this moment: to be tried again, however long that takes. */
  HELD,
  /** The adapter or the database fails on what it leads to, and will again. */
  REJECTED
}

package io.payrelay.simulator;

/** What becomes of a charge that is executed. */
enum Outcome {
  SUCCEEDED,
  DECLINED,
  PENDING_THEN_SUCCEEDED,
  PENDING_THEN_FAILED
}

package io.payrelay.simulator;

/** What happens to one webhook event, beside its prompt delivery. */
public enum WebhookFault {
  /** Delivered at once. */
  NONE,
  /** Never delivered. */
  LOST,
  /** Delivered twice under one webhook-id. */
  DOUBLED,
  /** Two events with different webhook-ids for one change, as some providers do. */
  DOUBLED_OTHER_ID,
  /** Held back until a following event of the same charge has had time to overtake it. */
  REORDERED,
  /** Delivered long after the change. */
  LATE
}

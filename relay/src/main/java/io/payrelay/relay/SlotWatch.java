package io.payrelay.relay;

/**
 * How much WAL lies between the slot and its two ends. Immutable.
 *
 * @param lagBytes written since the slot's confirmed position; NaN: not known
 * @param safeWalBytes that can be written before PostgreSQL gives the slot up; NaN: no limit is set
 */
record SlotWatch(double lagBytes, double safeWalBytes) {

  static final SlotWatch UNKNOWN = new SlotWatch(Double.NaN, Double.NaN);
}

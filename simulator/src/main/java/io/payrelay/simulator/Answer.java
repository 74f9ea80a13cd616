package io.payrelay.simulator;

import org.jspecify.annotations.Nullable;

/**
 * Status and content of an answer; rendered to the same bytes each time. Stored under an
 * idempotency key in this form, which is a third of the size of the bytes.
 */
record Answer(
    int status, @Nullable ApiError error, @Nullable Charge charge, @Nullable Refund refund)
    implements Response {

  /** The error object of the protocol. */
  record ApiError(String type, @Nullable String code, @Nullable String message) {}

  static Answer ok(Charge charge) {
    return new Answer(200, null, charge, null);
  }

  static Answer ok(Refund refund) {
    return new Answer(200, null, null, refund);
  }

  static Answer error(int status, String type) {
    return new Answer(status, new ApiError(type, null, null), null, null);
  }

  static Answer error(int status, String type, String code, @Nullable String message) {
    return new Answer(status, new ApiError(type, code, message), null, null);
  }

  static Answer error(int status, String type, Charge charge) {
    return new Answer(status, new ApiError(type, null, null), charge, null);
  }

  static Answer declined(Charge charge, String code) {
    return new Answer(
        402, new ApiError("card_declined", code, "The payment method was declined."), charge, null);
  }

  @Override
  public byte[] body() {
    return SimulatorJson.answer(this);
  }
}

package io.payrelay.simulator.stripe;

import org.jspecify.annotations.Nullable;

/** An error as Stripe answers it. Immutable. */
public final class StripeError extends RuntimeException {
  private static final long serialVersionUID = 1L;
  private static final String INVALID = "invalid_request_error";

  private final int status;
  private final String type;
  private final @Nullable String code;
  private final @Nullable String param;
  private final @Nullable String declineCode;
  private final transient @Nullable StripeIntent intent;

  private StripeError(
      int status,
      String type,
      @Nullable String code,
      @Nullable String param,
      @Nullable String declineCode,
      String message,
      @Nullable StripeIntent intent) {
    super(message);
    this.status = status;
    this.type = type;
    this.code = code;
    this.param = param;
    this.declineCode = declineCode;
    this.intent = intent;
  }

  /** A parameter is wrong or missing. */
  public static StripeError invalid(@Nullable String code, @Nullable String param, String message) {
    return new StripeError(400, INVALID, code, param, null, message, null);
  }

  /** There is no such object. */
  public static StripeError missing(String object, String id) {
    return new StripeError(
        404,
        INVALID,
        "resource_missing",
        object,
        null,
        "No such " + object + ": '" + id + "'",
        null);
  }

  /** The intent is not in a state for that. */
  public static StripeError unexpectedState(StripeIntent intent) {
    return new StripeError(
        400,
        INVALID,
        "payment_intent_unexpected_state",
        "intent",
        null,
        "You cannot do this to this PaymentIntent because it has a status of "
            + intent.status()
            + ".",
        intent);
  }

  /** The bank said no; the intent can be tried again. */
  public static StripeError declined(StripeFailure failure, StripeIntent intent) {
    return new StripeError(
        402, "card_error", failure.code(), null, failure.declineCode(), failure.message(), intent);
  }

  /** Something else with a type and a code. */
  public static StripeError of(int status, String type, @Nullable String code, String message) {
    return new StripeError(status, type, code, null, null, message, null);
  }

  /** The key is not ours. */
  public static StripeError authentication() {
    return of(401, INVALID, null, "Invalid API Key provided.");
  }

  public int status() {
    return status;
  }

  public String type() {
    return type;
  }

  public @Nullable String code() {
    return code;
  }

  public @Nullable String param() {
    return param;
  }

  public @Nullable String declineCode() {
    return declineCode;
  }

  public @Nullable StripeIntent intent() {
    return intent;
  }

  /** What is wrong, as a person reads it. */
  public String text() {
    return String.valueOf(getMessage());
  }
}

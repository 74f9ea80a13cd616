package io.payrelay.simulator;

/** A request that the provider refuses by its form; nothing is executed or stored. */
final class InvalidRequestException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private final int status;
  private final String code;

  InvalidRequestException(int status, String code, String message) {
    super(message);
    this.status = status;
    this.code = code;
  }

  static InvalidRequestException badRequest(String code, String message) {
    return new InvalidRequestException(400, code, message);
  }

  Answer answer() {
    return Answer.error(status, "invalid_request", code, getMessage());
  }
}

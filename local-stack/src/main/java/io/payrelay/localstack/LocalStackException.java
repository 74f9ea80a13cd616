package io.payrelay.localstack;

/** The local stack could not do what was asked; the message names the cause and what to do. */
public final class LocalStackException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private final boolean portInUse;

  LocalStackException(String message) {
    super(message);
    this.portInUse = false;
  }

  LocalStackException(String message, Throwable cause) {
    super(message, cause);
    this.portInUse = false;
  }

  private LocalStackException(String message, boolean portInUse) {
    super(message);
    this.portInUse = portInUse;
  }

  static LocalStackException portInUse(String what, int port) {
    return new LocalStackException(
        "Port "
            + port
            + " on 127.0.0.1 is in use, so "
            + what
            + " cannot listen there. Stop the program that holds it or choose another port.",
        true);
  }

  /** True when another port may help. */
  boolean isPortInUse() {
    return portInUse;
  }
}

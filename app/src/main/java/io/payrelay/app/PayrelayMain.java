package io.payrelay.app;

/** Entry point of the production image. */
public final class PayrelayMain {

  private PayrelayMain() {}

  /** Runs one command and ends the process with its exit code. */
  public static void main(String[] args) {
    System.exit(CommandLines.of(new PayrelayCommand(System.getenv())).execute(args));
  }
}

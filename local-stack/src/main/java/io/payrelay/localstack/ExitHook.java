package io.payrelay.localstack;

/** Closes something when the JVM exits, unless it was closed before. */
final class ExitHook {
  private final Thread thread;

  private ExitHook(Thread thread) {
    this.thread = thread;
  }

  static ExitHook register(String name, Runnable close) {
    Thread thread = new Thread(close, name);
    Runtime.getRuntime().addShutdownHook(thread);
    return new ExitHook(thread);
  }

  void cancel() {
    try {
      Runtime.getRuntime().removeShutdownHook(thread);
    } catch (IllegalStateException alreadyExiting) {
      // The JVM is going down: the hook runs, or has run, and finds nothing left to close.
      return;
    }
  }
}

package io.payrelay.app;

import java.io.PrintWriter;
import java.util.concurrent.CompletionException;

/** Runs a part as a process: until it fails for good, or SIGTERM or Ctrl-C asks for its end. */
final class PartRunner {

  private PartRunner() {}

  /**
   * Prints the ready line and blocks.
   *
   * @return the exit code
   */
  static int run(Part part, PrintWriter out) {
    // The process ends when the hook has ended: what is under way is finished first.
    Runtime.getRuntime().addShutdownHook(new Thread(part::close, "shutdown"));
    out.println(part.ready());
    out.flush();
    try {
      part.ended().join();
      return 0;
    } catch (CompletionException e) {
      if (e.getCause() instanceof RuntimeException cause) {
        throw cause;
      }
      throw e;
    }
  }
}

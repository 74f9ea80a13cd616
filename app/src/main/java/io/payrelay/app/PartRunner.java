package io.payrelay.app;

import java.io.PrintWriter;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;

/** Runs a part as a process: until it fails for good, or SIGTERM or Ctrl-C asks for its end. */
public final class PartRunner {

  private static final long ASK_AGAIN_MS = 100;

  private PartRunner() {}

  /**
   * Prints what the part waits for, then the ready line, and blocks.
   *
   * @return the exit code
   */
  static int run(Part part, PrintWriter out) {
    // The process ends when the hook has ended: what is under way is finished first.
    Runtime.getRuntime().addShutdownHook(new Thread(part::close, "shutdown"));
    boolean ready =
        awaitReady(
            part,
            reason -> {
              out.println("waiting " + part.name() + " " + reason);
              out.flush();
            });
    if (ready) {
      out.println(part.ready());
      out.flush();
    }
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

  /**
   * Waits until the part can do its work.
   *
   * @param waiting is told each new reason why it cannot yet
   * @return false where it has ended instead
   */
  public static boolean awaitReady(Part part, Consumer<String> waiting) {
    String said = "";
    while (true) {
      String reason = part.readiness();
      if (reason.equals("ok")) {
        return true;
      }
      if (ended(part)) {
        return false;
      }
      if (!reason.equals(said)) {
        waiting.accept(reason);
        said = reason;
      }
    }
  }

  private static boolean ended(Part part) {
    try {
      part.ended().get(ASK_AGAIN_MS, TimeUnit.MILLISECONDS);
      return true;
    } catch (TimeoutException e) {
      return false;
    } catch (ExecutionException e) {
      return true;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return true;
    }
  }
}

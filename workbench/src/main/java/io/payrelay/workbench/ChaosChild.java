package io.payrelay.workbench;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.payrelay.app.Part;
import io.payrelay.platform.errors.Failures;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintWriter;
import java.io.UncheckedIOException;
import java.util.concurrent.CompletionException;
import java.util.function.Function;
import org.slf4j.LoggerFactory;

/**
 * The life of a part as in production, but that it dies at a named point when it is told so on its
 * standard input; and with its parent, whose end closes that input. Stateless.
 */
final class ChaosChild {

  /** The order to end as on SIGTERM. */
  static final String STOP = "STOP";

  /**
   * It died at once, at the point where it was told to. No code that anything else ends with: out
   * of memory is 3, or 137 where the kernel kills.
   */
  static final int EXIT_ORDERED = 86;

  private ChaosChild() {}

  /**
   * Starts the part, says that it is ready, and stays until its end.
   *
   * @return the exit code
   */
  static int live(PrintWriter out, Function<DeathOrder, Part> start) {
    DeathOrder order = new DeathOrder(() -> Runtime.getRuntime().halt(EXIT_ORDERED));
    Part part = start.apply(order);
    Thread orders = new Thread(() -> obey(order, part), "chaos-orders");
    orders.setDaemon(true);
    orders.start();
    out.println(part.ready());
    out.flush();
    try {
      part.ended().join();
      return 0;
    } catch (CompletionException e) {
      LoggerFactory.getLogger(ChaosChild.class)
          .error("the {} has ended: {}", part.name(), Failures.categoryOf(e), e);
      return 1;
    }
  }

  /** One line is one order: to stop, or the point's name and the pass to die at. */
  private static void obey(DeathOrder order, Part part) {
    try (BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, UTF_8))) {
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        if (line.equals(STOP)) {
          part.close();
          return;
        }
        String[] words = line.split(" ", 2);
        order.dieAt(words[0], Integer.parseInt(words[1]));
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    // The parent has gone: nobody may be left behind.
    Runtime.getRuntime().halt(1);
  }
}

package io.payrelay.workbench;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.payrelay.app.Part;
import io.payrelay.app.Parts;
import io.payrelay.app.PayrelayCommand;
import io.payrelay.platform.errors.Failures;
import io.payrelay.relay.RelayFaults;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintWriter;
import java.io.UncheckedIOException;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletionException;
import org.slf4j.LoggerFactory;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParentCommand;
import picocli.CommandLine.Spec;

/**
 * A relay as in production, but that it dies at a named point when it is told so on its standard
 * input; and with its parent, whose end closes that input.
 */
@Command(
    name = ChaosRelayChild.NAME,
    hidden = true,
    description = "The relay process of `chaos relay`; nothing to be run by hand.")
@SuppressWarnings("NullAway.Init") // picocli injects.
final class ChaosRelayChild implements Callable<Integer> {

  static final String NAME = "chaos-relay-child";

  /** The order to end as on SIGTERM. */
  static final String STOP = "STOP";

  /** As kill -9 leaves it. */
  static final int EXIT_KILLED = 137;

  @ParentCommand private PayrelayCommand parent;
  @Spec private CommandSpec spec;

  @Override
  public Integer call() {
    DeathOrder order = new DeathOrder(() -> Runtime.getRuntime().halt(EXIT_KILLED));
    Part part = Parts.relay(parent.environment(), order);
    Thread orders = new Thread(() -> obey(order, part), "chaos-orders");
    orders.setDaemon(true);
    orders.start();
    PrintWriter out = spec.commandLine().getOut();
    out.println(part.ready());
    out.flush();
    try {
      part.ended().join();
      return 0;
    } catch (CompletionException e) {
      LoggerFactory.getLogger(ChaosRelayChild.class)
          .error("the relay has ended: {}", Failures.categoryOf(e), e);
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
        order.dieAt(RelayFaults.Point.valueOf(words[0]), Integer.parseInt(words[1]));
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    // The parent has gone: nobody may be left behind.
    Runtime.getRuntime().halt(1);
  }
}

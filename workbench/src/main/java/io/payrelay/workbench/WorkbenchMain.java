package io.payrelay.workbench;

import io.payrelay.app.CommandLines;
import io.payrelay.app.PayrelayCommand;
import io.payrelay.workbench.bench.BenchCommand;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;

/**
 * Entry point of the launcher: the production commands, and what only makes sense on one machine.
 */
public final class WorkbenchMain {

  private static final Set<String> QUIET = Set.of("demo", "up", "chaos");

  private WorkbenchMain() {}

  /** Runs one command and ends the process with its exit code. */
  public static void main(String[] args) {
    Map<String, String> environment = System.getenv();
    endWith(System.getProperty("payrelay.endsWith"));
    if (args.length > 0 && QUIET.contains(args[0])) {
      // The storm is meant to fail: what heals by itself would bury the progress.
      quiet(environment, "PAYRELAY_LOG_LEVEL", "ERROR");
      quiet(environment, "PAYRELAY_LIBRARY_LOG_LEVEL", "OFF");
    } else if (args.length > 0 && (args[0].equals("infra") || args[0].equals("bench"))) {
      quiet(environment, "PAYRELAY_LOG_LEVEL", "WARN");
    }
    System.exit(commandLine(environment).execute(args));
  }

  /** A benchmark's child must not outlive it, however that ended. */
  private static void endWith(@Nullable String pid) {
    if (pid != null) {
      var unused =
          ProcessHandle.of(Long.parseLong(pid))
              .map(ProcessHandle::onExit)
              .orElseGet(() -> CompletableFuture.completedFuture(null))
              .thenRun(() -> System.exit(CommandLines.EXIT_FATAL));
    }
  }

  private static void quiet(Map<String, String> environment, String setting, String level) {
    if (!environment.containsKey(setting)) {
      System.setProperty(setting, level);
    }
  }

  static CommandLine commandLine(Map<String, String> environment) {
    return CommandLines.of(
        new PayrelayCommand(environment),
        new DemoCommand(),
        new UpCommand(),
        new InfraCommand(),
        new SimulatorCommand(),
        new BenchCommand(),
        new ChaosCommand(),
        new ChaosRelayChild(),
        new ChaosWorkerChild());
  }
}

package io.payrelay.app;

import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParentCommand;
import picocli.CommandLine.Spec;

/** Charges requested payments and finds out what became of them. */
@Command(
    name = "charge-worker",
    mixinStandardHelpOptions = true,
    description =
        "Charges requested payments and finds out what became of them. Runs until it is stopped.")
@SuppressWarnings("NullAway.Init") // picocli injects.
final class ChargeWorkerCommand implements Callable<Integer> {

  @ParentCommand private PayrelayCommand parent;
  @Spec private CommandSpec spec;

  @Override
  public Integer call() {
    return PartRunner.run(Parts.chargeWorker(parent.environment()), spec.commandLine().getOut());
  }
}

package io.payrelay.workbench;

import io.payrelay.app.Parts;
import io.payrelay.app.PayrelayCommand;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParentCommand;
import picocli.CommandLine.Spec;

/** A charge worker that its parent kills: see {@link ChaosChild}. */
@Command(
    name = ChaosWorkerChild.NAME,
    hidden = true,
    description = "The charge worker process of a chaos run; nothing to be run by hand.")
@SuppressWarnings("NullAway.Init") // picocli injects.
final class ChaosWorkerChild implements Callable<Integer> {

  static final String NAME = "chaos-worker-child";

  @ParentCommand private PayrelayCommand parent;
  @Spec private CommandSpec spec;

  @Override
  public Integer call() {
    return ChaosChild.live(
        spec.commandLine().getOut(),
        order -> Parts.chargeWorker(parent.environment(), order::reached));
  }
}

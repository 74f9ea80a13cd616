package io.payrelay.localstack;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.locks.LockSupport;

/** Waits for processes that need not be children of this JVM. */
final class Processes {
  private static final long POLL_NS = Duration.ofMillis(10).toNanos();

  private Processes() {}

  /**
   * True if the process is gone in time. Polls, because the JDK looks at processes that are not its
   * children only every few hundred milliseconds. Interruption does not end it: a server must not
   * be left behind because its owner is in a hurry.
   */
  static boolean awaitGone(ProcessHandle process, Duration timeout) {
    boolean interrupted = false;
    long startedAt = System.nanoTime();
    while (runs(process)) {
      if (System.nanoTime() - startedAt > timeout.toNanos()) {
        return false;
      }
      LockSupport.parkNanos(POLL_NS);
      interrupted |= Thread.interrupted();
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
    return true;
  }

  /** False also for a dead process that nobody has reaped, as orphans in a container may stay. */
  static boolean runs(ProcessHandle process) {
    if (!process.isAlive()) {
      return false;
    }
    try {
      String stat = Files.readString(Path.of("/proc", Long.toString(process.pid()), "stat"));
      // The state follows the name, which is in brackets and may hold any character.
      return stat.charAt(stat.lastIndexOf(')') + 2) != 'Z';
    } catch (IOException goneMeanwhileOrNoProcFiles) {
      return process.isAlive();
    }
  }
}

package io.payrelay.workbench.bench;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;

/** CPU time of processes that are not ours, as Linux tells it. Stateless. */
final class ProcessCpu {

  /** The unit of /proc on every common build of Linux. */
  private static final long TICK_MS = 10;

  /** Places after the name, which is in parentheses and may hold blanks. */
  private static final int USER = 11;

  private static final int ENDED_CHILDREN_SYSTEM = 14;

  private ProcessCpu() {}

  /** Of the process itself and of its children that have ended; zero where it cannot be read. */
  static Duration withEnded(long pid) {
    try {
      String stat =
          new String(
              Files.readAllBytes(Path.of("/proc", Long.toString(pid), "stat")),
              StandardCharsets.ISO_8859_1);
      String[] words = stat.substring(stat.lastIndexOf(')') + 2).split(" ", -1);
      long ticks = 0;
      for (int i = USER; i <= ENDED_CHILDREN_SYSTEM; i++) {
        ticks += Long.parseLong(words[i]);
      }
      return Duration.ofMillis(ticks * TICK_MS);
    } catch (IOException e) {
      // It has ended this moment, or this is no Linux.
      return Duration.ZERO;
    }
  }
}

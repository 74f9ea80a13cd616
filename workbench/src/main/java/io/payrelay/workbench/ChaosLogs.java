package io.payrelay.workbench;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.stream.Stream;

/** A folder for what the processes of a chaos run say, gone at the end unless somebody needs it. */
final class ChaosLogs implements AutoCloseable {

  private final Path folder;
  private volatile boolean kept;

  ChaosLogs() {
    try {
      folder = Files.createTempDirectory("payrelay-chaos-");
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  Path folder() {
    return folder;
  }

  /** Leaves the folder where it is, and says where that is. */
  Path keep() {
    kept = true;
    return folder;
  }

  @Override
  public void close() {
    if (kept) {
      return;
    }
    try (Stream<Path> files = Files.walk(folder)) {
      for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
        Files.deleteIfExists(file);
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}

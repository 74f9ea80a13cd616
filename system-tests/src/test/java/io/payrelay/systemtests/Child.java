package io.payrelay.systemtests;

import static org.assertj.core.api.Assertions.fail;
import static org.awaitility.Awaitility.await;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/** A payrelay command as a process of its own, which can be killed like one. */
final class Child implements AutoCloseable {

  private static final Duration READY = Duration.ofSeconds(90);
  private static final int HEAP_MB = 512;

  private final List<String> command;
  private final Map<String, String> environment;
  private final Path out;
  private final Path err;
  private Process process;

  private Child(List<String> command, Map<String, String> environment, Path folder, String name)
      throws IOException {
    this.command = command;
    this.environment = environment;
    this.out = Files.createTempFile(folder, name, ".out");
    this.err = Files.createTempFile(folder, name, ".err");
    this.process = launch();
  }

  /** Starts the workbench's command line; it has no other PAYRELAY variables than those given. */
  static Child start(Path folder, Map<String, String> environment, String... arguments)
      throws IOException {
    return startOn(System.getProperty("java.home"), folder, environment, arguments);
  }

  /** The same on the JDK of that folder. */
  static Child startOn(
      String javaHome, Path folder, Map<String, String> environment, String... arguments)
      throws IOException {
    return start(javaHome, HEAP_MB, folder, environment, arguments);
  }

  /** The same with that much heap. */
  static Child startWithHeap(
      int heapMb, Path folder, Map<String, String> environment, String... arguments)
      throws IOException {
    return start(System.getProperty("java.home"), heapMb, folder, environment, arguments);
  }

  private static Child start(
      String javaHome,
      int heapMb,
      Path folder,
      Map<String, String> environment,
      String... arguments)
      throws IOException {
    List<String> command = new ArrayList<>();
    command.add(Path.of(javaHome, "bin", "java").toString());
    command.addAll(List.of("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"));
    command.add("-Xmx" + heapMb + "m");
    command.addAll(List.of("-cp", System.getProperty("java.class.path")));
    command.add("io.payrelay.workbench.WorkbenchMain");
    command.addAll(List.of(arguments));
    return new Child(command, environment, folder, arguments[0]);
  }

  private Process launch() throws IOException {
    ProcessBuilder builder =
        new ProcessBuilder(command)
            .redirectOutput(ProcessBuilder.Redirect.appendTo(out.toFile()))
            .redirectError(ProcessBuilder.Redirect.appendTo(err.toFile()));
    builder.environment().keySet().removeIf(name -> name.startsWith("PAYRELAY_"));
    builder.environment().putAll(environment);
    return builder.start();
  }

  /** Waits for the line that says it is ready, and returns it. */
  String awaitReady() {
    return awaitReady(1);
  }

  /** Waits until it has become ready that many times over all its lives. */
  String awaitReady(int times) {
    await()
        .atMost(READY)
        .until(
            () -> {
              if (!process.isAlive()) {
                fail("%s ended with %d:%n%s", command, process.exitValue(), errors());
              }
              return readyLines().size() >= times;
            });
    return readyLines().get(times - 1);
  }

  /** kill -9, and a new process with the same configuration. */
  void killAndRestart() throws IOException, InterruptedException {
    kill();
    restart();
  }

  /** A new process with the same configuration; the one before must have ended. */
  void restart() throws IOException {
    process = launch();
  }

  /** Sends a signal by its name: STOP freezes the process, CONT wakes it. */
  void signal(String name) throws IOException, InterruptedException {
    // The shell's own kill: nothing has to be installed.
    Process shell = new ProcessBuilder("sh", "-c", "kill -" + name + " " + pid()).start();
    if (shell.waitFor() != 0) {
      fail("signal %s cannot be sent to %d", name, pid());
    }
  }

  long pid() {
    return process.pid();
  }

  void kill() throws InterruptedException {
    process.destroyForcibly();
    process.waitFor();
  }

  int exitCode(Duration limit) throws InterruptedException {
    if (!process.waitFor(limit.toSeconds(), TimeUnit.SECONDS)) {
      process.destroyForcibly();
      fail("%s does not end within %s:%n%s%n%s", command, limit, output(), errors());
    }
    return process.exitValue();
  }

  boolean alive() {
    return process.isAlive();
  }

  String output() {
    return read(out);
  }

  String errors() {
    return read(err);
  }

  /** The value behind {@code name=} in a ready line. */
  static String value(String ready, String name) {
    return Optional.of(ready.split(name + "=", -1))
        .filter(parts -> parts.length == 2)
        .map(parts -> parts[1].split(" ", -1)[0])
        .orElseThrow();
  }

  /** SIGTERM, as a supervisor does; then kill -9. */
  @Override
  public void close() {
    process.destroy();
    try {
      if (!process.waitFor(20, TimeUnit.SECONDS)) {
        process.destroyForcibly().waitFor();
      }
    } catch (InterruptedException e) {
      process.destroyForcibly();
      Thread.currentThread().interrupt();
    }
  }

  private List<String> readyLines() {
    return output().lines().filter(line -> line.startsWith("ready ")).toList();
  }

  private static String read(Path file) {
    try {
      return Files.readString(file);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}

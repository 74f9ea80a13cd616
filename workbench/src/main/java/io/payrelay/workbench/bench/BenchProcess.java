package io.payrelay.workbench.bench;

import io.payrelay.platform.errors.Category;
import io.payrelay.platform.errors.PayrelayException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/** A process of its own, whose CPU time and memory are measured. Safe for any thread. */
final class BenchProcess implements AutoCloseable {

  /** What a child ends with, however its parent ends: see the workbench's main class. */
  static final String ENDS_WITH_PROPERTY = "payrelay.endsWith";

  private static final String MAIN = "io.payrelay.workbench.WorkbenchMain";
  private static final long STEP_MS = 20;
  private static final long END_LIMIT_S = 30;
  private static final int LINES_SHOWN = 15;

  private final String name;
  private final Process process;
  private final Path out;
  private final Path err;
  private final Thread hook;

  private BenchProcess(String name, Process process, Path out, Path err) {
    this.name = name;
    this.process = process;
    this.out = out;
    this.err = err;
    this.hook = new Thread(process::destroy, "end-" + name);
    Runtime.getRuntime().addShutdownHook(hook);
  }

  /** A command of this command line, with no other PAYRELAY variables than those given. */
  static BenchProcess ours(
      Path folder, List<String> javaOptions, Map<String, String> environment, String command) {
    List<String> line = new ArrayList<>();
    line.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    line.addAll(javaOptions);
    line.add("-D" + ENDS_WITH_PROPERTY + "=" + ProcessHandle.current().pid());
    line.addAll(List.of("-cp", System.getProperty("java.class.path"), MAIN, command));
    return start(folder, command, line, environment);
  }

  /** Any command; what it says is kept in the folder, which is its working directory. */
  static BenchProcess start(
      Path folder, String name, List<String> line, Map<String, String> environment) {
    Path out = folder.resolve(name + ".out");
    Path err = folder.resolve(name + ".err");
    ProcessBuilder builder =
        new ProcessBuilder(line)
            .directory(folder.toFile())
            .redirectOutput(out.toFile())
            .redirectError(err.toFile());
    builder
        .environment()
        .keySet()
        .removeIf(key -> key.startsWith("PAYRELAY_") || key.endsWith("_OPTS"));
    builder.environment().putAll(environment);
    try {
      return new BenchProcess(name, builder.start(), out, err);
    } catch (IOException e) {
      throw new PayrelayException(Category.FATAL, "%s cannot be started".formatted(name), e);
    }
  }

  /** Waits for a line with that beginning. */
  String awaitLine(String beginning, Duration limit) {
    long deadlineNs = System.nanoTime() + limit.toNanos();
    while (true) {
      Optional<String> line = read(out).lines().filter(one -> one.startsWith(beginning)).findAny();
      if (line.isPresent()) {
        return line.get();
      }
      requireAlive();
      if (System.nanoTime() - deadlineNs > 0) {
        throw failed("is not ready after %d s".formatted(limit.toSeconds()));
      }
      pause();
    }
  }

  /** Fails with what it said last, if it has ended. */
  void requireAlive() {
    if (!process.isAlive()) {
      throw failed("ended with exit code %d".formatted(process.exitValue()));
    }
  }

  PayrelayException failed(String what) {
    return new PayrelayException(
        Category.FATAL, "%s %s:%n%s%n%s".formatted(name, what, last(out), last(err)));
  }

  /** CPU time that it has used so far, in all of its threads. */
  Duration cpu() {
    return process.info().totalCpuDuration().orElse(Duration.ZERO);
  }

  /** CPU time that the living processes it started have used so far, and those started by them. */
  Duration descendantsCpu() {
    return process
        .descendants()
        .map(one -> one.info().totalCpuDuration().orElse(Duration.ZERO))
        .reduce(Duration.ZERO, Duration::plus);
  }

  /** The most memory it has had resident; 0 where the system does not tell. */
  double peakMemoryMb() {
    Path status = Path.of("/proc", Long.toString(process.pid()), "status");
    if (!Files.isReadable(status)) {
      return 0;
    }
    return read(status)
        .lines()
        .filter(line -> line.startsWith("VmHWM:"))
        .mapToDouble(line -> Long.parseLong(line.replaceAll("\\D", "")) / 1024.0)
        .findAny()
        .orElse(0);
  }

  /** SIGTERM; then kill -9. */
  @Override
  public void close() {
    process.destroy();
    try {
      if (!process.waitFor(END_LIMIT_S, TimeUnit.SECONDS)) {
        process.destroyForcibly().waitFor();
      }
      Runtime.getRuntime().removeShutdownHook(hook);
    } catch (InterruptedException e) {
      process.destroyForcibly();
      Thread.currentThread().interrupt();
    }
  }

  private void pause() {
    try {
      // Returns early where it ends: that is what there is to wait for besides its output.
      boolean unused = process.waitFor(STEP_MS, TimeUnit.MILLISECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new PayrelayException(Category.RETRIABLE, "Interrupted while starting " + name, e);
    }
  }

  private static String last(Path file) {
    List<String> lines = read(file).lines().toList();
    return String.join("\n", lines.subList(Math.max(0, lines.size() - LINES_SHOWN), lines.size()));
  }

  private static String read(Path file) {
    try {
      // A process may write what is no text.
      return new String(Files.readAllBytes(file), StandardCharsets.UTF_8);
    } catch (IOException e) {
      throw new PayrelayException(Category.FATAL, file + " cannot be read", e);
    }
  }
}

package io.payrelay.workbench;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * A part in a JVM of its own that can be killed, frozen and started again. Each life has a name of
 * its own, which its leases then show. Belongs to one thread, but for {@link #close}.
 */
final class ChaosProcess implements AutoCloseable {

  /** As the JVM tells of a child that ended by SIGKILL. */
  private static final int EXIT_SIGKILL = 137;

  private final Kind kind;
  private final String name;
  private final Map<String, String> environment;
  private final Path log;
  private final String archiveOption;
  private int lives;
  private volatile Process process;
  private volatile @Nullable Process freezer;
  private CompletableFuture<Death> death;
  private Blows blows;
  private volatile boolean ready;

  /** What runs in it: a hidden command, and the variable that names a life. */
  enum Kind {
    RELAY(ChaosRelayChild.NAME, "PAYRELAY_RELAY_INSTANCE_NAME"),
    WORKER(ChaosWorkerChild.NAME, "PAYRELAY_CHARGE_INSTANCE");

    private final String command;
    private final String nameVariable;

    Kind(String command, String nameVariable) {
      this.command = command;
      this.nameVariable = nameVariable;
    }
  }

  /**
   * When and how a process ended.
   *
   * @param killed by us: with kill -9 while it was alive, or at the point where we had told it to
   *     die. Whatever else it was, the kernel's own kill for want of memory included, is its own
   *     end
   */
  record Death(long atNs, long wallMs, int exitCode, boolean killed) {}

  /** What was done to one life. */
  private static final class Blows {
    private volatile boolean ordered;
    private volatile boolean killed;

    boolean explain(int exitCode) {
      return isOurs(killed, ordered, exitCode);
    }
  }

  /** Whether an end is of our doing. */
  static boolean isOurs(boolean killed, boolean ordered, int exitCode) {
    return (killed && exitCode == EXIT_SIGKILL) || (ordered && exitCode == ChaosChild.EXIT_ORDERED);
  }

  @SuppressWarnings("NullAway.Init") // launch() sets them.
  private ChaosProcess(
      Kind kind, String name, Map<String, String> environment, Path folder, String archiveOption) {
    this.kind = kind;
    this.name = name;
    this.environment = environment;
    this.log = folder.resolve(name + ".log");
    this.archiveOption = archiveOption + folder.resolve("classes.jsa");
    launch();
  }

  /** Starts the first life; each life takes its classes from what a rehearsal left behind. */
  static ChaosProcess start(Kind kind, String name, Map<String, String> environment, Path folder) {
    return new ChaosProcess(kind, name, environment, folder, "-XX:SharedArchiveFile=");
  }

  /**
   * Starts one that leaves its loaded classes in the folder when it is stopped: later ones need
   * half the processor time to be there again.
   */
  static ChaosProcess startRehearsal(Kind kind, Map<String, String> environment, Path folder) {
    return new ChaosProcess(kind, "rehearsal", environment, folder, "-XX:ArchiveClassesAtExit=");
  }

  /** Starts the next life; the one before must have ended. */
  void launch() {
    lives++;
    ready = false;
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    // Quick to start: most of its lives are short.
    command.addAll(List.of("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"));
    // Half a process would be judged as a whole one.
    command.add("-XX:+ExitOnOutOfMemoryError");
    command.addAll(List.of("-Xlog:disable", archiveOption));
    command.addAll(List.of("-cp", System.getProperty("java.class.path")));
    command.addAll(List.of(WorkbenchMain.class.getName(), kind.command));
    ProcessBuilder builder =
        new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.appendTo(log.toFile()));
    Map<String, String> variables = new HashMap<>(environment);
    variables.put(kind.nameVariable, lifeName());
    builder.environment().keySet().removeIf(variable -> variable.startsWith("PAYRELAY_"));
    builder.environment().putAll(variables);
    try {
      Process started = builder.start();
      process = started;
      Blows suffered = new Blows();
      blows = suffered;
      death =
          started
              .onExit()
              .thenApply(
                  ended ->
                      new Death(
                          System.nanoTime(),
                          System.currentTimeMillis(),
                          ended.exitValue(),
                          suffered.explain(ended.exitValue())));
      Thread reader = new Thread(() -> readLines(started), "chaos-" + lifeName());
      reader.setDaemon(true);
      reader.start();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** As the owner of its leases begins. */
  String lifeName() {
    return name + "." + lives;
  }

  /** Whether it has said that it is. */
  boolean ready() {
    return ready && process.isAlive();
  }

  /** Completes when this life has ended. */
  CompletableFuture<Death> death() {
    return death;
  }

  /** Tells it to die at a point; it may end before it reads that. */
  void dieAt(Enum<?> point, int pass) {
    blows.ordered = true;
    order(point.name() + " " + pass);
  }

  /** Takes that back: it did not come to the point. */
  void spare(Enum<?> point) {
    order(point.name() + " " + Integer.MAX_VALUE);
  }

  /** Tells it to end in order. */
  void stop() {
    order(ChaosChild.STOP);
  }

  private void order(String line) {
    try {
      Writer orders = process.outputWriter(UTF_8);
      orders.write(line + "\n");
      orders.flush();
    } catch (IOException e) {
      // It is dead already: its death says how.
      death.join();
    }
  }

  /** kill -9; returns when that was done and when it was dead. One that is dead is left so. */
  Death kill() {
    if (!process.isAlive()) {
      return death.join();
    }
    long killedNs = System.nanoTime();
    blows.killed = true;
    process.destroyForcibly();
    Death found = death.join();
    return new Death(killedNs, found.wallMs(), found.exitCode(), found.killed());
  }

  /**
   * SIGSTOP now, SIGCONT after so many seconds. One process of the shell does both: should we end
   * meanwhile, nothing stays frozen.
   */
  void freeze(int seconds) {
    long pid = process.pid();
    String script = "kill -STOP " + pid + "; sleep " + seconds + "; kill -CONT " + pid;
    try {
      freezer = new ProcessBuilder("sh", "-c", script).start();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Whether it cannot do anything now. */
  boolean frozen() {
    Process running = freezer;
    return running != null && running.isAlive();
  }

  @Override
  public void close() {
    process.destroyForcibly();
    Process running = freezer;
    if (running != null) {
      running.descendants().forEach(ProcessHandle::destroyForcibly);
      running.destroyForcibly();
    }
  }

  private void readLines(Process from) {
    try (BufferedReader lines = from.inputReader(UTF_8)) {
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        if (line.startsWith("ready ") && from == process) {
          ready = true;
        }
      }
    } catch (IOException e) {
      // It was killed while it wrote.
      return;
    }
  }
}

package io.payrelay.localstack;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.channels.SeekableByteChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** One run of a PostgreSQL server under its guard. Used by one thread at a time. */
final class PostgresProcess {
  private static final String GUARD = guardScript();
  private static final int READY_POLL_MS = 10;
  private static final int LOG_TAIL_BYTES = 4096;
  // More than the 15 seconds after which the guard turns to the immediate stop.
  private static final Duration STOP_TIMEOUT = Duration.ofSeconds(30);

  private final PostgresCluster cluster;
  private final Process guard;

  private PostgresProcess(PostgresCluster cluster, Process guard) {
    this.cluster = cluster;
    this.guard = guard;
  }

  /** Starts the server and waits until it takes connections. */
  static PostgresProcess start(
      PostgresCluster cluster, int port, @Nullable Path deleteIfOrphaned, Duration timeout)
      throws IOException {
    long logStart = Files.exists(cluster.log()) ? Files.size(cluster.log()) : 0;
    List<String> command =
        new ArrayList<>(
            List.of(
                "sh",
                "-c",
                GUARD,
                "payrelay-postgres-guard",
                cluster.orphanMarker().toString(),
                deleteIfOrphaned == null ? "" : deleteIfOrphaned.toString()));
    command.addAll(cluster.serverCommand(port));
    Process guard =
        new ProcessBuilder(cluster.user().command(command))
            .directory(cluster.root().toFile())
            .redirectErrorStream(true)
            .redirectOutput(ProcessBuilder.Redirect.appendTo(cluster.log().toFile()))
            .start();
    PostgresProcess process = new PostgresProcess(cluster, guard);
    boolean ready = false;
    try {
      process.awaitReady(port, logStart, timeout);
      ready = true;
      return process;
    } finally {
      if (!ready) {
        process.stop();
      }
    }
  }

  boolean alive() {
    return guard.isAlive();
  }

  /** Fast shutdown: open sessions are ended, everything is written. */
  void stop() {
    try (OutputStream pipe = guard.getOutputStream()) {
      pipe.write("stop\n".getBytes(UTF_8));
    } catch (IOException alreadyEnded) {
      // The guard ends with its server; waiting below tells.
    }
    if (!Processes.awaitGone(guard.toHandle(), STOP_TIMEOUT)) {
      kill();
    }
  }

  /** Kill -9 of the server and all its children: what a crash of the machine does to it. */
  void kill() {
    List<ProcessHandle> victims = new ArrayList<>();
    server()
        .ifPresent(
            server -> {
              victims.add(server);
              server.descendants().forEach(victims::add);
            });
    // The server first, or it would see its children die and recover.
    victims.forEach(ProcessHandle::destroyForcibly);
    // The guard leaves by itself as soon as its server is gone.
    if (!Processes.awaitGone(guard.toHandle(), STOP_TIMEOUT)) {
      guard.descendants().forEach(ProcessHandle::destroyForcibly);
      guard.destroyForcibly();
    }
    for (ProcessHandle victim : victims) {
      if (!Processes.awaitGone(victim, STOP_TIMEOUT)) {
        throw new LocalStackException("Process " + victim.pid() + " survived kill -9.");
      }
    }
  }

  /** What usually is behind such output, as the end of a sentence. */
  static String hint(String output) {
    if (output.contains("Permission denied") || output.contains("could not access directory")) {
      return ": the user that PostgreSQL runs as cannot use that directory. As root without user"
          + " namespaces that is \"nobody\": choose a data directory outside of /root.";
    }
    if (output.contains("No space left")) {
      return ": the disk is full.";
    }
    if (output.contains("not found") || output.contains("cannot execute")) {
      return ": the programs do not run on this system (they need glibc).";
    }
    return ":";
  }

  private void awaitReady(int port, long logStart, Duration timeout) throws IOException {
    long deadline = System.nanoTime() + timeout.toNanos();
    while (!cluster.ready()) {
      if (waitForExit(READY_POLL_MS)) {
        throw startFailure(port, logStart, "PostgreSQL did not start");
      }
      if (System.nanoTime() > deadline) {
        throw startFailure(
            port, logStart, "PostgreSQL was not ready after " + timeout.toSeconds() + " s");
      }
    }
  }

  private LocalStackException startFailure(int port, long logStart, String what)
      throws IOException {
    String output = logTail(logStart);
    if (output.contains("could not bind") || output.contains("Address already in use")) {
      return LocalStackException.portInUse("PostgreSQL", port);
    }
    return new LocalStackException(
        what + " in " + cluster.data() + hint(output) + "\n" + output + "(" + cluster.log() + ")");
  }

  private boolean waitForExit(int timeoutMs) {
    try {
      return guard.waitFor(timeoutMs, TimeUnit.MILLISECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new LocalStackException("Interrupted while starting PostgreSQL.", e);
    }
  }

  private Optional<ProcessHandle> server() {
    try {
      return cluster.serverProcess();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private String logTail(long logStart) throws IOException {
    try (SeekableByteChannel channel = Files.newByteChannel(cluster.log());
        InputStream in = java.nio.channels.Channels.newInputStream(channel)) {
      channel.position(Math.max(logStart, channel.size() - LOG_TAIL_BYTES));
      return new String(in.readAllBytes(), UTF_8);
    }
  }

  private static String guardScript() {
    try (InputStream in = PostgresProcess.class.getResourceAsStream("postgres-guard.sh")) {
      if (in == null) {
        throw new IllegalStateException("postgres-guard.sh is missing on the class path");
      }
      return new String(in.readAllBytes(), UTF_8);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}

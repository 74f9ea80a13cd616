package io.payrelay.localstack;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/** The files of one PostgreSQL cluster: made by initdb, configured, cleared of a dead server. */
final class PostgresCluster {
  static final String SUPERUSER = "payrelay";

  /** The first with a locale provider of its own. */
  private static final int BUILTIN_LOCALES_SINCE = 17;

  private static final Duration ORPHAN_STOP_TIMEOUT = Duration.ofSeconds(30);
  private static final Map<String, String> SETTINGS =
      Map.ofEntries(
          Map.entry("listen_addresses", "127.0.0.1"),
          // No socket file: its path is limited to about 100 characters.
          Map.entry("unix_socket_directories", ""),
          Map.entry("fsync", "on"),
          Map.entry("synchronous_commit", "on"),
          Map.entry("full_page_writes", "on"),
          Map.entry("wal_level", "logical"),
          Map.entry("max_wal_senders", "30"),
          Map.entry("max_replication_slots", "30"),
          Map.entry("max_connections", "200"),
          Map.entry("shared_buffers", "256MB"),
          Map.entry("timezone", "UTC"),
          Map.entry("log_timezone", "UTC"),
          Map.entry("log_line_prefix", "%m [%p] "));

  private final Path root;
  private final Path home;
  private final ServerUser user;
  private final int majorVersion;

  PostgresCluster(Path root, Path home, ServerUser user) {
    this.root = root;
    this.home = home;
    this.user = user;
    this.majorVersion = PostgresBinaries.majorVersion(home);
  }

  Path root() {
    return root;
  }

  Path data() {
    return root.resolve("data");
  }

  Path log() {
    return root.resolve("postgres.log");
  }

  Path orphanMarker() {
    return root.resolve("orphaned");
  }

  ServerUser user() {
    return user;
  }

  int majorVersion() {
    return majorVersion;
  }

  List<String> serverCommand(int port) {
    return List.of(
        home.resolve("bin/postgres").toString(),
        "-D",
        data().toString(),
        "-p",
        Integer.toString(port));
  }

  /**
   * Makes the files ready for a start; settings of the caller come before the ones of the stack.
   */
  void prepare(Map<String, String> settings) throws IOException {
    if (Files.isDirectory(data())) {
      requireVersion();
      clearDeadServer();
      user.own(root);
    } else {
      initialize();
    }
    Map<String, String> all = new TreeMap<>(SETTINGS);
    all.putAll(settings);
    List<String> lines = new ArrayList<>();
    all.forEach((name, value) -> lines.add(name + " = '" + value.replace("'", "''") + "'"));
    // Included, not on the command line, so that a test can still use ALTER SYSTEM.
    Files.write(data().resolve("payrelay.conf"), lines, UTF_8);
    user.own(data().resolve("payrelay.conf"));
  }

  /** The server's process id as it wrote it itself. */
  Optional<ProcessHandle> serverProcess() throws IOException {
    Path pidFile = data().resolve("postmaster.pid");
    if (!Files.exists(pidFile)) {
      return Optional.empty();
    }
    List<String> lines = Files.readAllLines(pidFile, UTF_8);
    return lines.isEmpty() || lines.get(0).isBlank()
        ? Optional.empty()
        : ProcessHandle.of(Long.parseLong(lines.get(0).trim()));
  }

  /** True once the server says in its pid file that it takes connections. */
  boolean ready() throws IOException {
    Path pidFile = data().resolve("postmaster.pid");
    if (!Files.exists(pidFile)) {
      return false;
    }
    List<String> lines = Files.readAllLines(pidFile, UTF_8);
    return lines.size() >= 8 && lines.get(7).trim().equals("ready");
  }

  private void requireVersion() throws IOException {
    Path versionFile = data().resolve("PG_VERSION");
    String version = Files.exists(versionFile) ? Files.readString(versionFile).trim() : "unknown";
    if (!version.equals(Integer.toString(majorVersion))) {
      throw new LocalStackException(
          data()
              + " holds data of PostgreSQL "
              + version
              + ", this is "
              + majorVersion
              + ". Choose another data directory.");
    }
  }

  /**
   * Kill -9 of the JVM leaves a server that is just being stopped by its guard, or only its pid
   * file. We hold the lock of the directory, so nobody else can want that server.
   */
  private void clearDeadServer() throws IOException {
    Optional<ProcessHandle> server = serverProcess().filter(this::servesThisData);
    if (server.isPresent()) {
      awaitExit(server.get());
    }
    // Whatever process has this id by now, it is not our server: PostgreSQL itself cannot tell.
    Files.deleteIfExists(data().resolve("postmaster.pid"));
  }

  private void awaitExit(ProcessHandle server) {
    if (!Processes.awaitGone(server, ORPHAN_STOP_TIMEOUT)) {
      throw new LocalStackException(
          "A PostgreSQL server, process "
              + server.pid()
              + ", still runs on "
              + data()
              + ". Stop it, or choose another data directory.");
    }
  }

  private boolean servesThisData(ProcessHandle process) {
    boolean postgres =
        process.info().command().map(command -> command.endsWith("/postgres")).orElse(false);
    Path workingDirectory = Path.of("/proc", Long.toString(process.pid()), "cwd");
    if (!postgres || !Files.exists(workingDirectory)) {
      return postgres;
    }
    try {
      return Files.isSameFile(workingDirectory, data());
    } catch (IOException endedMeanwhile) {
      return false;
    }
  }

  private void initialize() throws IOException {
    Path unfinished = root.resolve("data.unfinished");
    DataDirectory.deleteTree(unfinished);
    user.own(root);
    List<String> command =
        new ArrayList<>(
            List.of(
                home.resolve("bin/initdb").toString(),
                "--pgdata=" + unfinished,
                "--username=" + SUPERUSER,
                "--auth=trust",
                "--encoding=UTF8",
                "--locale=C",
                "--no-instructions",
                // Only a crash of the machine within seconds could tell, and only an empty cluster
                // could be lost; it costs up to several seconds beside other work.
                "--no-sync"));
    if (majorVersion >= BUILTIN_LOCALES_SINCE) {
      command.addAll(List.of("--locale-provider=builtin", "--builtin-locale=C.UTF-8"));
    }
    Process initdb =
        new ProcessBuilder(user.command(command))
            .redirectErrorStream(true)
            .directory(root.toFile())
            .start();
    initdb.getOutputStream().close();
    String output = new String(initdb.getInputStream().readAllBytes(), UTF_8);
    if (exitValue(initdb) != 0) {
      throw new LocalStackException(
          "PostgreSQL's initdb failed in " + root + PostgresProcess.hint(output) + "\n" + output);
    }
    Path configuration = unfinished.resolve("postgresql.conf");
    Files.writeString(
        configuration, Files.readString(configuration) + "\ninclude 'payrelay.conf'\n");
    Files.move(unfinished, data(), StandardCopyOption.ATOMIC_MOVE);
  }

  private static int exitValue(Process process) {
    try {
      return process.waitFor();
    } catch (InterruptedException e) {
      process.destroyForcibly();
      Thread.currentThread().interrupt();
      throw new LocalStackException("Interrupted while starting PostgreSQL.", e);
    }
  }
}

package io.payrelay.localstack;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.PosixFilePermissions;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/** Copies a running server's files for a standby; what pg_basebackup does. Stateless. */
final class StandbyCopy {
  /** Its name is also that of the physical slot, for synchronized_standby_slots. */
  private static final String SLOT = "local_standby";

  private static final int SLOT_SYNC_SINCE = 17;

  /** Folders that must be there and empty: the server fills them. */
  private static final Set<String> CONTENT_LEFT_OUT =
      Set.of(
          "pg_wal",
          "pg_replslot",
          "pg_dynshmem",
          "pg_notify",
          "pg_serial",
          "pg_snapshots",
          "pg_stat_tmp",
          "pg_subtrans");

  private static final Set<String> FILES_LEFT_OUT =
      Set.of("postmaster.pid", "postmaster.opts", "pg_internal.init", "postgresql.auto.conf");

  private StandbyCopy() {}

  /** Makes the files, unless they are there already, and returns the settings of the standby. */
  static Map<String, String> make(LocalPostgres primary, PostgresCluster standby) {
    if (!Files.isDirectory(standby.data())) {
      try (Connection connection = primary.connect();
          Statement statement = connection.createStatement()) {
        statement.execute("select pg_create_physical_replication_slot('" + SLOT + "', true)");
        statement.execute("select pg_backup_start('" + SLOT + "', true)");
        copy(primary.data(), standby.data());
        String label;
        try (ResultSet rows = statement.executeQuery("select labelfile from pg_backup_stop()")) {
          rows.next();
          label = rows.getString(1);
        }
        Files.writeString(standby.data().resolve("backup_label"), label, UTF_8);
        Files.createFile(standby.data().resolve("standby.signal"));
        Files.createFile(standby.data().resolve("postgresql.auto.conf"));
      } catch (SQLException | IOException e) {
        throw new LocalStackException("No standby can be made: " + e.getMessage(), e);
      }
    }
    Map<String, String> settings = new TreeMap<>();
    settings.put(
        "primary_conninfo",
        "host=127.0.0.1 port=%d user=%s dbname=postgres application_name=%s"
            .formatted(primary.port(), primary.user(), SLOT));
    settings.put("primary_slot_name", SLOT);
    settings.put("hot_standby_feedback", "on");
    if (standby.majorVersion() >= SLOT_SYNC_SINCE) {
      settings.put("sync_replication_slots", "on");
    }
    return settings;
  }

  private static void copy(Path from, Path to) throws IOException {
    Files.walkFileTree(
        from,
        new SimpleFileVisitor<>() {
          @Override
          public FileVisitResult preVisitDirectory(Path dir, BasicFileAttributes attributes)
              throws IOException {
            Path relative = from.relativize(dir);
            if (relative.getNameCount() > 1
                && CONTENT_LEFT_OUT.contains(relative.getName(0).toString())) {
              return FileVisitResult.SKIP_SUBTREE;
            }
            Path made = Files.createDirectories(to.resolve(relative));
            Files.setPosixFilePermissions(made, PosixFilePermissions.fromString("rwx------"));
            return FileVisitResult.CONTINUE;
          }

          @Override
          public FileVisitResult visitFile(Path file, BasicFileAttributes attributes)
              throws IOException {
            Path relative = from.relativize(file);
            boolean leftOut =
                FILES_LEFT_OUT.contains(relative.getFileName().toString())
                    || CONTENT_LEFT_OUT.contains(relative.getName(0).toString());
            return leftOut ? FileVisitResult.CONTINUE : copyFile(file, to.resolve(relative));
          }

          @Override
          public FileVisitResult visitFileFailed(Path file, IOException e) throws IOException {
            return vanished(e);
          }
        });
  }

  private static FileVisitResult copyFile(Path file, Path copy) throws IOException {
    try {
      Files.copy(file, copy);
    } catch (NoSuchFileException e) {
      return vanished(e);
    }
    return FileVisitResult.CONTINUE;
  }

  /** A running server deletes files; the WAL from the backup's start on has what matters. */
  private static FileVisitResult vanished(IOException e) throws IOException {
    if (e instanceof NoSuchFileException) {
      return FileVisitResult.CONTINUE;
    }
    throw e;
  }
}

package io.payrelay.localstack;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * How PostgreSQL is run: it refuses the user id 0, so for root a command comes before it that puts
 * it into a user namespace, where root's files stay its own, or else makes it the user nobody.
 */
record ServerUser(List<String> prefix, int fileOwner) {
  private static final int NOBODY = 65534;
  private static final List<ServerUser> WAYS_FOR_ROOT =
      List.of(
          new ServerUser(List.of("unshare", "-U"), 0),
          new ServerUser(
              List.of("setpriv", "--reuid=" + NOBODY, "--regid=" + NOBODY, "--clear-groups"),
              NOBODY),
          new ServerUser(
              List.of("su", "-s", "/bin/sh", "-c", "exec \"$0\" \"$@\"", "--", "nobody"), NOBODY));

  static ServerUser detect() {
    int uid = currentUid();
    return uid == 0 ? firstUsable(WAYS_FOR_ROOT) : new ServerUser(List.of(), uid);
  }

  static ServerUser firstUsable(List<ServerUser> ways) {
    return ways.stream()
        .filter(ServerUser::usable)
        .findFirst()
        .orElseThrow(
            () ->
                new LocalStackException(
                    "PostgreSQL refuses to run as root, and neither unshare -U nor setpriv nor su"
                        + " works here. Run as another user."));
  }

  /** False for the way that keeps root's access to its own files. */
  boolean needsOpenPaths() {
    return !prefix.isEmpty() && fileOwner != 0;
  }

  List<String> command(List<String> command) {
    List<String> whole = new ArrayList<>(prefix);
    whole.addAll(command);
    return whole;
  }

  /** Gives the directory to the user that PostgreSQL runs as; an earlier run may have differed. */
  void own(Path dir) throws IOException {
    if (prefix.isEmpty()) {
      return;
    }
    Files.walkFileTree(
        dir,
        new SimpleFileVisitor<>() {
          @Override
          public FileVisitResult preVisitDirectory(Path path, BasicFileAttributes attributes)
              throws IOException {
            return chown(path);
          }

          @Override
          public FileVisitResult visitFile(Path path, BasicFileAttributes attributes)
              throws IOException {
            return chown(path);
          }
        });
  }

  private FileVisitResult chown(Path path) throws IOException {
    if (!Files.getAttribute(path, "unix:uid").equals(fileOwner)) {
      Files.setAttribute(path, "unix:uid", fileOwner);
    }
    return FileVisitResult.CONTINUE;
  }

  private boolean usable() {
    try {
      Process probe =
          new ProcessBuilder(command(List.of("sh", "-c", "test \"$(id -u)\" -ne 0")))
              .redirectErrorStream(true)
              .redirectOutput(ProcessBuilder.Redirect.DISCARD)
              .start();
      probe.getOutputStream().close();
      if (probe.waitFor(10, TimeUnit.SECONDS)) {
        return probe.exitValue() == 0;
      }
      probe.destroyForcibly();
      return false;
    } catch (IOException notInstalled) {
      return false;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new LocalStackException("Interrupted while starting PostgreSQL.", e);
    }
  }

  private static int currentUid() {
    try {
      Path probe = Files.createTempFile("payrelay-uid", "");
      try {
        return (Integer) Files.getAttribute(probe, "unix:uid");
      } finally {
        Files.delete(probe);
      }
    } catch (IOException e) {
      throw new UncheckedIOException("The temporary directory cannot be written.", e);
    }
  }
}

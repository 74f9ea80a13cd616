package io.payrelay.localstack;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.PosixFilePermissions;
import org.jspecify.annotations.Nullable;

/**
 * A directory that one process owns at a time: given and kept, or temporary and deleted on close.
 * The lock is the operating system's, so it ends with the process however that dies.
 */
final class DataDirectory implements AutoCloseable {
  private final Path path;
  private final boolean temporary;
  private final FileChannel lockChannel;

  private DataDirectory(Path path, boolean temporary, FileChannel lockChannel) {
    this.path = path;
    this.temporary = temporary;
    this.lockChannel = lockChannel;
  }

  static DataDirectory open(@Nullable Path given) {
    Path path;
    try {
      path = given == null ? createTemporary() : Files.createDirectories(given.toAbsolutePath());
      return new DataDirectory(path.toRealPath(), given == null, lock(path));
    } catch (IOException e) {
      throw new LocalStackException(
          "The data directory "
              + (given == null ? System.getProperty("java.io.tmpdir") : given)
              + " cannot be used by user "
              + System.getProperty("user.name")
              + ": "
              + e.getClass().getSimpleName()
              + " "
              + e.getMessage()
              + ". Choose a directory that this user can write.",
          e);
    }
  }

  Path path() {
    return path;
  }

  boolean temporary() {
    return temporary;
  }

  @Override
  public void close() {
    try {
      if (temporary) {
        deleteTree(path);
      }
      lockChannel.close();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  static void deleteTree(Path root) throws IOException {
    if (!Files.exists(root)) {
      return;
    }
    Files.walkFileTree(
        root,
        new SimpleFileVisitor<>() {
          @Override
          public FileVisitResult visitFile(Path file, BasicFileAttributes attributes)
              throws IOException {
            Files.deleteIfExists(file);
            return FileVisitResult.CONTINUE;
          }

          @Override
          public FileVisitResult visitFileFailed(Path file, IOException e) throws IOException {
            // A server that is going down deletes files of its own.
            if (e instanceof NoSuchFileException) {
              return FileVisitResult.CONTINUE;
            }
            throw e;
          }

          @Override
          public FileVisitResult postVisitDirectory(Path dir, @Nullable IOException e)
              throws IOException {
            if (e != null) {
              throw e;
            }
            Files.deleteIfExists(dir);
            return FileVisitResult.CONTINUE;
          }
        });
  }

  private static Path createTemporary() throws IOException {
    Path path = Files.createTempDirectory("payrelay-");
    // PostgreSQL may have to run as another user, which must be able to pass through.
    Files.setPosixFilePermissions(path, PosixFilePermissions.fromString("rwx--x--x"));
    return path;
  }

  private static FileChannel lock(Path dir) throws IOException {
    FileChannel channel =
        FileChannel.open(
            dir.resolve("owner.lock"),
            StandardOpenOption.CREATE,
            StandardOpenOption.READ,
            StandardOpenOption.WRITE);
    if (!tryLock(channel)) {
      String owner = readAll(channel);
      channel.close();
      throw new LocalStackException(
          "The data directory "
              + dir
              + " is in use by process "
              + owner
              + ". Stop that process or choose another directory.");
    }
    channel.truncate(0);
    channel.write(ByteBuffer.wrap(Long.toString(ProcessHandle.current().pid()).getBytes(UTF_8)), 0);
    return channel;
  }

  private static boolean tryLock(FileChannel channel) throws IOException {
    try {
      @Nullable FileLock lock = channel.tryLock();
      return lock != null;
    } catch (OverlappingFileLockException heldByThisJvm) {
      return false;
    }
  }

  private static String readAll(FileChannel channel) throws IOException {
    ByteBuffer buffer = ByteBuffer.allocate(32);
    channel.read(buffer, 0);
    return UTF_8.decode(buffer.flip()).toString();
  }
}

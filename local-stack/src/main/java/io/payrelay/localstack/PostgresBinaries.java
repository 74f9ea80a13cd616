package io.payrelay.localstack;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.Locale;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.commons.compress.archivers.tar.TarArchiveEntry;
import org.apache.commons.compress.archivers.tar.TarArchiveInputStream;
import org.apache.commons.compress.compressors.xz.XZCompressorInputStream;
import org.jspecify.annotations.Nullable;

/**
 * PostgreSQL's programs, unpacked from the class path into a cache of this user on first use. The
 * folder is named by the archive's digest and appears as a whole, so several JVMs may race.
 */
final class PostgresBinaries {
  private static final Pattern VERSION = Pattern.compile("\\(PostgreSQL\\) (\\d+)");

  private PostgresBinaries() {}

  /** True if the class path holds PostgreSQL for this platform. */
  static boolean available() {
    return archiveName()
        .map(name -> PostgresBinaries.class.getResource("/" + name) != null)
        .orElse(false);
  }

  /** The folder that holds bin, lib and share. */
  static Path home(ServerUser user) {
    try {
      return home(cache(user));
    } catch (IOException e) {
      throw new LocalStackException(
          "PostgreSQL cannot be unpacked: "
              + e.getMessage()
              + ". Set -Dpayrelay.cache.dir to a directory that can be written.",
          e);
    }
  }

  static Path home(Path cache) throws IOException {
    String name =
        archiveName()
            .orElseThrow(() -> new LocalStackException(noBinaries("no PostgreSQL is packed for")));
    try (InputStream resource = PostgresBinaries.class.getResourceAsStream("/" + name)) {
      if (resource == null) {
        throw new LocalStackException(noBinaries("the class path holds no " + name + " for"));
      }
      byte[] archive = resource.readAllBytes();
      Path home = cache.resolve("postgres-" + digest(archive));
      if (!Files.isDirectory(home)) {
        unpack(archive, home);
      }
      return home;
    }
  }

  /** The version of the programs in such a folder, such as 17. */
  static int majorVersion(Path home) {
    try {
      Process asked =
          new ProcessBuilder(home.resolve("bin/postgres").toString(), "--version")
              .redirectErrorStream(true)
              .start();
      asked.getOutputStream().close();
      String output = new String(asked.getInputStream().readAllBytes(), UTF_8);
      Matcher version = VERSION.matcher(output);
      if (!version.find()) {
        throw new LocalStackException("PostgreSQL does not say its version, but: " + output);
      }
      return Integer.parseInt(version.group(1));
    } catch (IOException e) {
      throw new LocalStackException("PostgreSQL cannot be run: " + e.getMessage(), e);
    }
  }

  private static String noBinaries(String reason) {
    return "Embedded PostgreSQL cannot run: "
        + reason
        + " "
        + System.getProperty("os.name")
        + " on "
        + System.getProperty("os.arch")
        + ". Use another PostgreSQL with -Dpayrelay.infra=external or containers.";
  }

  static Optional<String> archiveName() {
    String os = System.getProperty("os.name").toLowerCase(Locale.ROOT);
    String system = os.startsWith("linux") ? "linux" : os.startsWith("mac") ? "darwin" : null;
    @Nullable String arch =
        switch (System.getProperty("os.arch")) {
          case "amd64", "x86_64" -> "x86_64";
          case "aarch64", "arm64" -> "arm_64";
          default -> null;
        };
    return system == null || arch == null
        ? Optional.empty()
        : Optional.of("postgres-" + system + "-" + arch + ".txz");
  }

  private static Path cache(ServerUser user) throws IOException {
    String configured = System.getProperty("payrelay.cache.dir");
    if (configured != null) {
      return Files.createDirectories(Path.of(configured));
    }
    Path home = Path.of(System.getProperty("user.home"), ".cache");
    // The user nobody cannot pass root's home.
    if (!user.needsOpenPaths() && Files.isWritable(home.getParent())) {
      String xdg = System.getenv("XDG_CACHE_HOME");
      Path base = xdg == null || xdg.isBlank() ? home : Path.of(xdg);
      return Files.createDirectories(base.resolve("payrelay"));
    }
    return sharedTemporary();
  }

  private static Path sharedTemporary() throws IOException {
    Path dir =
        Path.of(
            System.getProperty("java.io.tmpdir"),
            "payrelay-cache-" + System.getProperty("user.name"));
    Files.createDirectories(dir);
    Path own = Files.createTempFile(dir, "owner", "");
    boolean ours = Files.getOwner(own).equals(Files.getOwner(dir));
    Files.delete(own);
    // Anybody may create files in the temporary directory: never run another user's programs.
    if (!ours) {
      throw new IOException(dir + " belongs to another user");
    }
    Files.setPosixFilePermissions(dir, PosixFilePermissions.fromString("rwxr-xr-x"));
    return dir;
  }

  private static void unpack(byte[] archive, Path home) throws IOException {
    Path parent = home.getParent();
    Path partial = Files.createTempDirectory(parent, "unpacking-");
    try {
      Files.setPosixFilePermissions(partial, PosixFilePermissions.fromString("rwxr-xr-x"));
      try (TarArchiveInputStream tar =
          new TarArchiveInputStream(
              new XZCompressorInputStream(new ByteArrayInputStream(archive)))) {
        TarArchiveEntry entry;
        while ((entry = tar.getNextEntry()) != null) {
          unpackEntry(tar, entry, partial);
        }
      }
      Files.move(partial, home, StandardCopyOption.ATOMIC_MOVE);
    } catch (IOException e) {
      DataDirectory.deleteTree(partial);
      // Another JVM may have been faster; its copy is the same.
      if (!Files.isDirectory(home)) {
        throw e;
      }
    }
  }

  private static void unpackEntry(TarArchiveInputStream tar, TarArchiveEntry entry, Path root)
      throws IOException {
    Path target = root.resolve(entry.getName()).normalize();
    if (!target.startsWith(root)) {
      throw new IOException("entry outside of the archive: " + entry.getName());
    }
    if (entry.getName().endsWith(".a")) {
      return;
    }
    if (entry.isDirectory()) {
      Files.createDirectories(target);
      return;
    }
    Files.createDirectories(target.getParent());
    if (entry.isSymbolicLink()) {
      Files.createSymbolicLink(target, Path.of(entry.getLinkName()));
      return;
    }
    Files.copy(tar, target);
    boolean executable = (entry.getMode() & 0100) != 0;
    Files.setPosixFilePermissions(
        target, PosixFilePermissions.fromString(executable ? "rwxr-xr-x" : "rw-r--r--"));
  }

  private static String digest(byte[] archive) {
    try {
      byte[] sha = MessageDigest.getInstance("SHA-256").digest(archive);
      return HexFormat.of().formatHex(sha, 0, 8);
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException(e);
    }
  }
}

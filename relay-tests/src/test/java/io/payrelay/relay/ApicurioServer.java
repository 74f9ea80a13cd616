package io.payrelay.relay;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** A real Apicurio Registry with storage in memory, as a process on a free port. */
final class ApicurioServer implements AutoCloseable {

  private static final Path UNPACKED = Path.of("target", "apicurio-registry");
  private static final Duration START_LIMIT = Duration.ofMinutes(2);
  private static final Pattern LISTENING = Pattern.compile("Listening on: (http://\\S+)");

  private final Process process;
  private final Thread exitHook;
  private final String url;

  private ApicurioServer(Process process, Path log) {
    this.process = process;
    this.exitHook = new Thread(process::destroyForcibly);
    Runtime.getRuntime().addShutdownHook(exitHook);
    this.url = await().atMost(START_LIMIT).until(() -> listening(log), found -> !found.isEmpty());
  }

  static ApicurioServer start() throws IOException {
    assertThat(UNPACKED).as("unpacked by mvn pre-integration-test").exists();
    Path runner;
    try (Stream<Path> files = Files.list(UNPACKED)) {
      runner =
          files.filter(file -> file.toString().endsWith("-runner.jar")).findFirst().orElseThrow();
    }
    Path log = Files.createTempFile(Path.of("target"), "apicurio", ".log");
    Process process =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xmx256m",
                "-XX:+UseSerialGC",
                "-XX:TieredStopAtLevel=1",
                "-Dquarkus.http.host=127.0.0.1",
                "-Dquarkus.http.port=0",
                "-jar",
                runner.toAbsolutePath().toString())
            .redirectErrorStream(true)
            .redirectOutput(log.toFile())
            .start();
    return new ApicurioServer(process, log);
  }

  String url() {
    return url;
  }

  /** What its Confluent-compatible API answers. */
  String confluentApi(String path) {
    try {
      return HttpClient.newHttpClient()
          .send(
              HttpRequest.newBuilder(URI.create(url + "/apis/ccompat/v7" + path)).build(),
              HttpResponse.BodyHandlers.ofString())
          .body();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException(e);
    }
  }

  @Override
  public void close() {
    process.destroyForcibly().onExit().join();
    Runtime.getRuntime().removeShutdownHook(exitHook);
  }

  private String listening(Path log) throws IOException {
    assertThat(process.isAlive()).as(() -> "registry runs; its log: " + log).isTrue();
    Matcher line = LISTENING.matcher(Files.readString(log));
    return line.find() ? line.group(1) : "";
  }
}

package io.payrelay.webhook;

import static io.payrelay.webhook.IngestFixture.event;
import static io.payrelay.webhook.IngestFixture.newEventId;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** kill -9 of a real process, just before and just after the commit, as ARCHITECTURE.md says. */
@Timeout(90)
class IngestCrashIT {

  private static IngestFixture fixture;

  @BeforeAll
  static void start() {
    fixture = IngestFixture.start();
  }

  @AfterAll
  static void stop() {
    fixture.close();
  }

  @Test
  void leavesNothingWhereItDiesBeforeTheCommitAndTakesTheRedelivery() throws Exception {
    String payment = fixture.payment();
    String id = newEventId();
    String body = event("charge.succeeded", payment);

    killWhileItReceives(CrashingIngest.BEFORE, id, body);

    assertThat(fixture.disposition(id)).isEqualTo("none");
    assertThat(fixture.status(payment)).isEqualTo("CREATED");
    assertThat(fixture.capturedMinor(payment)).isZero();
    // The dead process's transaction holds the payment's lock until its server process sees the
    // end.
    await().until(() -> fixture.send(id, body) == 204);
    assertThat(fixture.statusEvents(payment)).containsExactly("PENDING", "SUCCEEDED");
    assertThat(fixture.capturedMinor(payment)).isEqualTo(1999);
  }

  @Test
  void changesNothingTwiceWhereItDiesAfterTheCommit() throws Exception {
    String payment = fixture.payment();
    String id = newEventId();
    String body = event("charge.succeeded", payment);

    killWhileItReceives(CrashingIngest.AFTER, id, body);

    assertThat(fixture.disposition(id)).isEqualTo("APPLIED");
    assertThat(fixture.send(id, body)).isEqualTo(204);
    assertThat(fixture.statusEvents(payment)).containsExactly("PENDING", "SUCCEEDED");
    assertThat(fixture.capturedMinor(payment)).isEqualTo(1999);
  }

  /** The sender hears nothing, so it will deliver again. */
  private static void killWhileItReceives(String point, String id, String body) throws Exception {
    Process process =
        new ProcessBuilder(
                List.of(
                    Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                    "-Xmx256m",
                    "-XX:TieredStopAtLevel=1",
                    "-cp",
                    System.getProperty("java.class.path"),
                    CrashingIngest.class.getName(),
                    fixture.url,
                    fixture.login,
                    point))
            .redirectError(ProcessBuilder.Redirect.INHERIT)
            .start();
    try (BufferedReader lines =
        new BufferedReader(new InputStreamReader(process.getInputStream(), UTF_8))) {
      int port = Integer.parseInt(lineOf(lines, "port "));
      CompletableFuture<Integer> answer = send(port, id, body);
      assertThat(lineOf(lines, "reached ")).isEqualTo(point);
      process.destroyForcibly().waitFor();
      assertThatThrownBy(answer::get).isInstanceOf(ExecutionException.class);
    } finally {
      process.destroyForcibly().waitFor();
    }
  }

  private static CompletableFuture<Integer> send(int port, String id, String body) {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + "/webhooks/simulator"))
            .POST(HttpRequest.BodyPublishers.ofString(body));
    Map<String, String> headers = IngestFixture.signed(IngestFixture.SECRET, id, 0, body);
    headers.forEach(request::setHeader);
    return HttpClient.newHttpClient()
        .sendAsync(request.build(), HttpResponse.BodyHandlers.discarding())
        .thenApply(HttpResponse::statusCode);
  }

  private static String lineOf(BufferedReader lines, String start) throws IOException {
    String line = lines.readLine();
    while (line != null && !line.startsWith(start)) {
      line = lines.readLine();
    }
    assertThat(line).as("the process ended").isNotNull();
    return line.substring(start.length());
  }
}

package io.payrelay.chargeworker;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.payrelay.payments.lifecycle.PaymentStatus;
import io.payrelay.platform.database.DatabaseConfig;
import io.payrelay.providers.generic.GenericProvider;
import io.payrelay.simulator.Fault;
import io.payrelay.simulator.ProviderSimulator;
import io.payrelay.simulator.SimulatedCharge;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.DisabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

/**
 * A worker's process that is frozen (SIGSTOP) at the worst instants and woken when its lease is
 * over and another worker has done its work.
 */
@Timeout(120)
@DisabledOnOs(value = OS.WINDOWS, disabledReason = "it has no SIGSTOP")
class FrozenWorkerIT {

  private static final Map<String, String> AWAKE =
      Map.of(
          "CALL_TIMEOUT_MS", FrozenWorkerChild.CALL_TIMEOUT_MS,
          "LEASE_MS", FrozenWorkerChild.LEASE_MS,
          "QUERY_DELAYS_MS", "100");

  @TempDir private Path folder;
  private ChargeFixture fixture;
  private Process child;
  private Path output;

  @BeforeEach
  void open() throws Exception {
    fixture = new ChargeFixture();
  }

  @AfterEach
  void close() throws Exception {
    if (child != null) {
      child.destroyForcibly().waitFor();
    }
    fixture.close();
  }

  @Test
  void chargesOnceHoweverLongAWorkerSleepsBeforeOrDuringItsCall() throws Exception {
    ProviderSimulator simulator =
        fixture.simulator(fixture.simulatorConfig().slowDelay(Duration.ofSeconds(1)));
    GenericProvider provider = fixture.provider(simulator);
    start(simulator);

    // Between claim and send: it wakes with a lease that is over, and must not send.
    String before = fixture.pay("pm_card");
    awaitSaid("claimed", 1);
    signal("STOP");
    goOn();
    ChargeWorker awake = fixture.worker(provider, AWAKE);
    awaitStatus(before, PaymentStatus.SUCCEEDED);
    signal("CONT");
    awaitSaid("written", 1);
    awake.close();
    assertOneCharge(simulator, before);
    assertThat(ChargeFixture.charges(simulator, before))
        .extracting(SimulatedCharge::calls)
        .containsExactly(1);

    // In the middle of a slow call: the other sends the same key, and the answers agree.
    String during = ChargeFixture.newId();
    simulator.script(during, Fault.SLOW);
    fixture.insert(during, "pm_card");
    fixture.send(during);
    awaitSaid("claimed", 2);
    goOn();
    await().atMost(Duration.ofSeconds(10)).until(() -> simulator.stats().chargeCalls() == 2);
    signal("STOP");
    fixture.worker(provider, AWAKE);
    awaitStatus(during, PaymentStatus.SUCCEEDED);
    signal("CONT");
    awaitSaid("written", 2);
    assertOneCharge(simulator, during);
  }

  private void assertOneCharge(ProviderSimulator simulator, String id) {
    assertThat(ChargeFixture.charges(simulator, id)).hasSize(1);
    assertThat(fixture.attempts(id)).containsExactly("CALL ABANDONED", "CALL SUCCEEDED");
    assertThat(fixture.payment(id).version()).isEqualTo(3);
    assertThat(fixture.exceptions(id)).isEmpty();
  }

  private void start(ProviderSimulator simulator) throws IOException {
    output = folder.resolve("child.out");
    DatabaseConfig login = fixture.login();
    child =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:+UseSerialGC",
                "-XX:TieredStopAtLevel=1",
                "-Xmx256m",
                "-cp",
                System.getProperty("java.class.path"),
                FrozenWorkerChild.class.getName(),
                login.url(),
                login.user(),
                login.password().reveal(),
                fixture.kafka().bootstrapServers(),
                fixture.provider,
                simulator.baseUrl().toString())
            .redirectErrorStream(true)
            .redirectOutput(output.toFile())
            .start();
    awaitSaid("started", 1);
  }

  private void goOn() throws IOException {
    child.getOutputStream().write("go\n".getBytes(UTF_8));
    child.getOutputStream().flush();
  }

  private void signal(String name) throws Exception {
    Process shell =
        new ProcessBuilder("sh", "-c", "kill -" + name + " " + child.pid()).inheritIO().start();
    assertThat(shell.waitFor()).isZero();
  }

  private void awaitSaid(String word, int times) {
    await()
        .atMost(Duration.ofSeconds(40))
        .untilAsserted(
            () ->
                assertThat(Files.readString(output).split("child " + word, -1).length - 1)
                    .as(() -> "the child says \"" + word + "\"")
                    .isGreaterThanOrEqualTo(times));
  }

  private void awaitStatus(String id, PaymentStatus status) {
    await()
        .atMost(Duration.ofSeconds(30))
        .untilAsserted(
            () ->
                assertThat(fixture.payment(id).status())
                    .as(() -> id + " " + fixture.attempts(id) + " " + fixture.nextAction(id))
                    .isEqualTo(status));
  }
}

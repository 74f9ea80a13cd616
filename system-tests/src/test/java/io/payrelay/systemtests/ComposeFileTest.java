package io.payrelay.systemtests;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.dataformat.yaml.YAMLMapper;
import io.payrelay.app.AppSettings;
import io.payrelay.platform.config.Setting;
import io.payrelay.platform.telemetry.Telemetry;
import io.payrelay.platform.telemetry.TelemetryConfig;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * No Docker engine runs in CI: this keeps docker-compose.yml and Dockerfile honest all the same.
 */
final class ComposeFileTest {

  private static final Path ROOT = Path.of("..");

  @Test
  void everyVariableIsOneThatTheConfigurationKnows() throws IOException {
    Set<String> known = AppSettings.all().stream().map(Setting::name).collect(Collectors.toSet());

    services()
        .forEach(
            (name, service) ->
                assertThat(environment(service).keySet())
                    .filteredOn(variable -> variable.startsWith("PAYRELAY_"))
                    .as("variables of service %s", name)
                    .isSubsetOf(known));
  }

  @Test
  void everyPartStartsWithItsEnvironmentAsItIs() throws IOException {
    Map<String, JsonNode> services = services();

    for (String part : List.of("migrate", "relay", "charge-worker", "webhook-ingest")) {
      JsonNode service = services.get(part);
      assertThat(service.path("command").get(0).textValue()).isEqualTo(part);
      assertThat(service.path("build").path("target").textValue()).isEqualTo("apps");
      assertThatCode(() -> AppSettings.check(environment(service), AppSettings.neededBy(part)))
          .as("configuration of service %s", part)
          .doesNotThrowAnyException();
    }
  }

  @Test
  void everyBuildTargetAndMountedFileExists() throws IOException {
    String dockerfile = Files.readString(ROOT.resolve("Dockerfile"));

    for (JsonNode service : services().values()) {
      if (service.has("build")) {
        assertThat(dockerfile).contains(" AS " + service.path("build").path("target").textValue());
      }
      for (JsonNode volume : service.path("volumes")) {
        String source = volume.textValue().split(":", -1)[0];
        if (source.startsWith("./")) {
          assertThat(ROOT.resolve(source)).exists();
        }
      }
    }
  }

  @Test
  @Timeout(60)
  void theProbeOfEachPartTellsReadyFromNotReady() throws Exception {
    AtomicReference<String> said = new AtomicReference<>("ok");
    try (Telemetry telemetry = Telemetry.start(new TelemetryConfig("127.0.0.1", 0))) {
      telemetry.ready("database", said::get);
      for (String part : List.of("relay", "charge-worker", "webhook-ingest")) {
        JsonNode service = services().get(part);
        List<String> probe = new ArrayList<>();
        service.path("healthcheck").path("test").forEach(word -> probe.add(word.textValue()));
        String metricsPort = environment(service).get("PAYRELAY_METRICS_PORT");
        assertThat(probe.remove(0)).isEqualTo("CMD");
        assertThat(probe.get(2)).contains("/dev/tcp/127.0.0.1/" + metricsPort + " ");
        probe.set(2, probe.get(2).replace("/" + metricsPort, "/" + telemetry.port()));

        said.set("ok");
        assertThat(exitCode(probe)).isZero();
        said.set("away");
        assertThat(exitCode(probe)).isNotZero();
      }
    }
  }

  private static int exitCode(List<String> command) throws IOException, InterruptedException {
    return new ProcessBuilder(command)
        .redirectErrorStream(true)
        .redirectOutput(ProcessBuilder.Redirect.DISCARD)
        .start()
        .waitFor();
  }

  @Test
  void theSimulatorAndTheDatabaseUsersAgreeWithTheParts() throws IOException {
    Map<String, JsonNode> services = services();
    String users = Files.readString(ROOT.resolve("docker/users.sql"));

    for (String part : List.of("relay", "charge-worker", "webhook-ingest")) {
      Map<String, String> environment = environment(services.get(part));
      assertThat(users)
          .containsPattern(
              "CREATE ROLE "
                  + environment.get("PAYRELAY_DATABASE_USER")
                  + " LOGIN (REPLICATION )?PASSWORD '"
                  + environment.get("PAYRELAY_DATABASE_PASSWORD")
                  + "'");
    }
  }

  private static Map<String, JsonNode> services() throws IOException {
    JsonNode file = new YAMLMapper().readTree(ROOT.resolve("docker-compose.yml").toFile());
    Map<String, JsonNode> services = new HashMap<>();
    file.path("services")
        .properties()
        .forEach(entry -> services.put(entry.getKey(), entry.getValue()));
    assertThat(services)
        .containsKeys(
            "postgres",
            "kafka",
            "schema-registry",
            "migrate",
            "relay",
            "charge-worker",
            "webhook-ingest",
            "simulator");
    return services;
  }

  private static Map<String, String> environment(JsonNode service) {
    Map<String, String> environment = new HashMap<>();
    service
        .path("environment")
        .properties()
        .forEach(entry -> environment.put(entry.getKey(), entry.getValue().asText()));
    return environment;
  }
}

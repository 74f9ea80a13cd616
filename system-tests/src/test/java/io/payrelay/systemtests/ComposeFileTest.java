package io.payrelay.systemtests;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.dataformat.yaml.YAMLMapper;
import io.payrelay.app.AppSettings;
import io.payrelay.platform.config.Setting;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

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

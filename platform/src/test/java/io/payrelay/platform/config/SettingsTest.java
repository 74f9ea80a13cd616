package io.payrelay.platform.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.payrelay.platform.errors.Category;
import io.payrelay.platform.errors.PayrelayException;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class SettingsTest {

  private static final Setting<String> NAME = Setting.text("PAYRELAY_T_NAME", null, "a name");
  private static final Setting<Integer> SIZE =
      Setting.integer("PAYRELAY_T_SIZE_MAX", "8", 1, 10, "a size");
  private static final Setting<Duration> WAIT =
      Setting.millis("PAYRELAY_T_WAIT_MS", "250", 100, 1000, "a wait");
  private static final Setting<Boolean> FLAG = Setting.flag("PAYRELAY_T_FLAG", "false", "a flag");
  private static final Setting<URI> ADDRESS = Setting.uri("PAYRELAY_T_ADDRESS", "", "an address");
  private static final Setting<Path> FOLDER = Setting.path("PAYRELAY_T_FOLDER", "", "a folder");
  private static final Setting<List<String>> ITEMS = Setting.list("PAYRELAY_T_ITEMS", "", "items");
  private static final Setting<Secret> KEY = Setting.secret("PAYRELAY_T_KEY", "", "a key");
  private static final Setting<List<Secret>> KEYS =
      Setting.secrets("PAYRELAY_T_KEYS", "", "keys, old and new");
  private static final Setting<Integer> SECRET_NUMBER =
      new Setting<>("PAYRELAY_T_PIN", "number", "0", "a pin", Integer::valueOf, true);
  private static final List<Setting<?>> ALL =
      List.of(NAME, SIZE, WAIT, FLAG, ADDRESS, FOLDER, ITEMS, KEY, KEYS, SECRET_NUMBER);

  @Test
  void takesDefaultsForWhatIsNotSetOrEmpty() {
    Settings settings =
        Settings.check(
            Map.of("PAYRELAY_T_NAME", " shop ", "PAYRELAY_T_SIZE_MAX", "", "HOME", "/x"), ALL, ALL);

    assertThat(settings.read(NAME)).isEqualTo("shop");
    assertThat(settings.read(SIZE)).isEqualTo(8);
    assertThat(settings.read(WAIT)).isEqualTo(Duration.ofMillis(250));
    assertThat(settings.read(FLAG)).isFalse();
    assertThat(settings.read(ADDRESS).toString()).isEmpty();
    assertThat(settings.read(FOLDER).toString()).isEmpty();
    assertThat(settings.read(ITEMS)).isEmpty();
    assertThat(settings.read(KEYS)).isEmpty();
  }

  @Test
  void readsEveryForm() {
    Map<String, String> environment = new HashMap<>();
    environment.put("PAYRELAY_T_NAME", "n");
    environment.put("PAYRELAY_T_SIZE_MAX", "10");
    environment.put("PAYRELAY_T_WAIT_MS", "100");
    environment.put("PAYRELAY_T_FLAG", "true");
    environment.put("PAYRELAY_T_ADDRESS", "https://pay.example/v1");
    environment.put("PAYRELAY_T_FOLDER", "/srv/schemas");
    environment.put("PAYRELAY_T_ITEMS", "a, b,,c");
    environment.put("PAYRELAY_T_KEYS", "old,new");

    Settings settings = Settings.check(environment, ALL, ALL);

    assertThat(settings.read(SIZE)).isEqualTo(10);
    assertThat(settings.read(WAIT)).isEqualTo(Duration.ofMillis(100));
    assertThat(settings.read(FLAG)).isTrue();
    assertThat(settings.read(ADDRESS)).isEqualTo(URI.create("https://pay.example/v1"));
    assertThat(settings.read(FOLDER)).isEqualTo(Path.of("/srv/schemas"));
    assertThat(settings.read(ITEMS)).containsExactly("a", "b", "c");
    assertThat(settings.read(KEYS)).containsExactly(new Secret("old"), new Secret("new"));
  }

  @Test
  void reportsEveryProblemAtOnce() {
    Map<String, String> environment =
        Map.of(
            "PAYRELAY_T_SIZE_MAX", "11",
            "PAYRELAY_T_FLAG", "yes",
            "PAYRELAY_T_PIN", "hunter2",
            "PAYRELAY_T_WAIT", "100");

    assertThatThrownBy(() -> Settings.check(environment, ALL, ALL))
        .isInstanceOfSatisfying(
            PayrelayException.class, e -> assertThat(e.category()).isEqualTo(Category.FATAL))
        .hasMessageContaining("5 problems")
        .hasMessageContaining("PAYRELAY_T_NAME is not set: a name (text)")
        .hasMessageContaining("PAYRELAY_T_SIZE_MAX is \"11\"")
        .hasMessageContaining("whole number, 1 to 10")
        .hasMessageContaining("PAYRELAY_T_FLAG is \"yes\"")
        .hasMessageContaining("PAYRELAY_T_PIN has a value that is refused")
        .hasMessageContaining("PAYRELAY_T_WAIT is not a setting: did you mean PAYRELAY_T_WAIT_MS?")
        .hasMessageNotContaining("hunter2");
  }

  @Test
  void saysWhereSettingsAreListedWhenNoneIsNear() {
    assertThatThrownBy(
            () -> Settings.check(Map.of("PAYRELAY_SOMETHING_ELSE_ENTIRELY", "1"), List.of(), ALL))
        .hasMessageContaining("a problem")
        .hasMessageContaining("PAYRELAY_SOMETHING_ELSE_ENTIRELY is not a setting: remove it");
  }

  @ParameterizedTest
  @CsvSource({
    "PAYRELAY_T_SIZE_MAX, 0",
    "PAYRELAY_T_SIZE_MAX, 11",
    "PAYRELAY_T_SIZE_MAX, 99999999999",
    "PAYRELAY_T_SIZE_MAX, 1.5",
    "PAYRELAY_T_WAIT_MS, 99",
    "PAYRELAY_T_WAIT_MS, 1001",
    "PAYRELAY_T_WAIT_MS, 5s",
    "PAYRELAY_T_FLAG, TRUE",
    "PAYRELAY_T_ADDRESS, pay.example",
    "PAYRELAY_T_ADDRESS, ftp://pay.example",
    "PAYRELAY_T_ADDRESS, https://",
  })
  void refusesWhatIsOutOfBounds(String name, String value) {
    assertThatThrownBy(() -> Settings.check(Map.of("PAYRELAY_T_NAME", "n", name, value), ALL, ALL))
        .hasMessageContaining(name + " is \"" + value + "\"");
  }

  @Test
  void neverShowsSecrets() {
    Setting<String> url = Setting.text("PAYRELAY_T_URL", null, "an address");
    Map<String, String> environment =
        Map.of(
            "PAYRELAY_T_KEY", "canary-1",
            "PAYRELAY_T_KEYS", "canary-2,canary-3",
            "PAYRELAY_T_URL",
                "jdbc:postgresql://me:canary@4/5@h:1/db?user=me&password=canary&ssl=on");
    List<Setting<?>> settings = List.of(KEY, KEYS, url);

    Settings checked = Settings.check(environment, settings, settings);

    assertThat(checked.effective(settings))
        .containsEntry("PAYRELAY_T_KEY", "[hidden]")
        .containsEntry("PAYRELAY_T_KEYS", "[hidden]")
        .containsEntry(
            "PAYRELAY_T_URL", "jdbc:postgresql://[hidden]@h:1/db?user=me&password=[hidden]&ssl=on");
    assertThat(checked.read(KEYS)).hasToString("[[hidden], [hidden]]");
    assertThat(checked.read(KEY).reveal()).isEqualTo("canary-1");
  }

  @Test
  void doesNotRepeatPasswordsOfARefusedAddress() {
    assertThatThrownBy(
            () ->
                Settings.check(
                    Map.of("PAYRELAY_T_NAME", "n", "PAYRELAY_T_ADDRESS", "ftp://me:canary@host"),
                    ALL,
                    ALL))
        .hasMessageContaining("ftp://[hidden]@host")
        .hasMessageNotContaining("canary");
  }

  @Test
  void refusesToReadWhatWasNotChecked() {
    Settings settings = Settings.check(Map.of(), List.of(), ALL);

    assertThatThrownBy(() -> settings.read(NAME)).isInstanceOf(IllegalStateException.class);
  }
}

package io.payrelay.app;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import picocli.CommandLine;

final class CommandsTest {

  private record Result(int exitCode, String out, String err) {}

  @Test
  void aWrongConfigurationIsToldAtOnceWithEveryVariableAndItsFix() {
    Result result =
        run(
            Map.of(
                "PAYRELAY_DATABASE_URL", "postgres://localhost/payrelay",
                "PAYRELAY_DATABASE_POOL_SIZE_MAX", "many",
                "PAYRELAY_RELAY_SLOTNAME", "x"),
            "relay");

    assertThat(result.exitCode()).isEqualTo(CommandLines.EXIT_FATAL);
    assertThat(result.err())
        .contains("PAYRELAY_DATABASE_URL is \"postgres://localhost/payrelay\", which is refused")
        .contains("jdbc:postgresql://HOST:PORT/DATABASE")
        .contains("PAYRELAY_DATABASE_USER is not set")
        .contains("PAYRELAY_DATABASE_POOL_SIZE_MAX is \"many\", which is refused")
        .contains("PAYRELAY_KAFKA_BOOTSTRAP_SERVERS is not set")
        .contains(
            "PAYRELAY_RELAY_SLOTNAME is not a setting: did you mean PAYRELAY_RELAY_SLOT_NAME?")
        .doesNotContain("at io.payrelay");
  }

  @Test
  void aProviderThatIsNamedLikeStripeBesideStripeIsRefusedWithASentence() {
    Result result =
        run(
            Map.of(
                "PAYRELAY_DATABASE_URL", "jdbc:postgresql://127.0.0.1:1/payrelay",
                "PAYRELAY_DATABASE_USER", "ingest",
                "PAYRELAY_METRICS_PORT", "0",
                "PAYRELAY_PROVIDER_NAME", "stripe",
                "PAYRELAY_PROVIDER_WEBHOOK_SECRETS",
                    "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=",
                "PAYRELAY_STRIPE_WEBHOOK_SECRETS", "whsec_hush"),
            "webhook-ingest");

    assertThat(result.exitCode()).isEqualTo(CommandLines.EXIT_FATAL);
    assertThat(result.err())
        .contains("PAYRELAY_PROVIDER_NAME is \"stripe\"", "PAYRELAY_STRIPE_WEBHOOK_SECRETS")
        .doesNotContain("hush", "at io.payrelay");
  }

  @ParameterizedTest
  @CsvSource({
    "PAYRELAY_PROVIDER_NAME=simulator, No provider is configured",
    "PAYRELAY_PROVIDER_URL=http://127.0.0.1:1, PAYRELAY_PROVIDER_API_KEY is not set although",
    "PAYRELAY_STRIPE_API_KEY=sk_test_hush1234, PAYRELAY_STRIPE_LIVE_MODE is true",
    "PAYRELAY_STRIPE_API_KEY=pk_live_hush1234, is not a secret or restricted key"
  })
  void aWorkerWithoutAUsableProviderIsRefusedWithASentence(String setting, String sentence) {
    Map<String, String> environment = new HashMap<>();
    environment.put("PAYRELAY_DATABASE_URL", "jdbc:postgresql://127.0.0.1:1/payrelay");
    environment.put("PAYRELAY_DATABASE_USER", "worker");
    environment.put("PAYRELAY_KAFKA_BOOTSTRAP_SERVERS", "127.0.0.1:1");
    environment.put("PAYRELAY_METRICS_PORT", "0");
    environment.put(setting.split("=", 2)[0], setting.split("=", 2)[1]);

    Result result = run(environment, "charge-worker");

    assertThat(result.exitCode()).isEqualTo(CommandLines.EXIT_FATAL);
    assertThat(result.err()).contains(sentence).doesNotContain("hush", "at io.payrelay");
  }

  @Test
  void secretsAreNotInTheComplaints() {
    Result result =
        run(
            Map.of(
                "PAYRELAY_DATABASE_PASSWORD", "hush-hush",
                "PAYRELAY_PROVIDER_API_KEY", "sk_hush",
                "PAYRELAY_PROVIDER_URL", "not an address"),
            "charge-worker");

    assertThat(result.exitCode()).isEqualTo(CommandLines.EXIT_FATAL);
    assertThat(result.err()).contains("PAYRELAY_PROVIDER_URL").doesNotContain("hush");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "migrate",
        "relay",
        "charge-worker",
        "webhook-ingest",
        "pay",
        "status",
        "tail",
        "republish",
        "exceptions",
        "payment",
        "webhooks",
        "config",
        "roles"
      })
  void everyCommandHasHelp(String command) {
    Result result = run(Map.of(), command, "--help");

    assertThat(result.exitCode()).isZero();
    assertThat(result.out()).contains("Usage: payrelay " + command);
  }

  @Test
  void theScriptOfTheRolesIsPrinted() {
    Result result = run(Map.of(), "roles");

    assertThat(result.exitCode()).isZero();
    assertThat(result.out()).contains("CREATE ROLE").contains("payrelay_owner");
  }

  @Test
  void recoverHasHelpThatNamesTheDryRunAndItsBound() {
    Result result = run(Map.of(), "relay", "recover", "--help");

    assertThat(result.exitCode()).isZero();
    assertThat(result.out())
        .contains("Usage: payrelay relay recover")
        .contains("without this nothing is changed")
        .contains("--longest-transaction=TIME")
        .contains("(24h)");
  }

  @Test
  void recoverAndRepublishTellAWrongConfiguration() {
    for (String command :
        List.of("relay recover", "republish --from 2026-01-01T00:00Z --to 2026-01-02T00:00Z")) {
      Result result = run(Map.of("PAYRELAY_RELAY_SLOT_NAME", "No Name"), command.split(" ", -1));

      assertThat(result.exitCode()).isEqualTo(CommandLines.EXIT_FATAL);
      assertThat(result.err())
          .contains("PAYRELAY_DATABASE_URL is not set")
          .contains("PAYRELAY_RELAY_SLOT_NAME is \"No Name\", which is refused");
    }
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "relay recover --longest-transaction soon | \"soon\" is no length of time",
        "relay recover --longest-transaction=-PT1H | \"-PT1H\" is no length of time",
        "relay recover --since 2026-11-29T12:00:00 | is no time with a zone",
        "relay recovery | Unmatched argument",
        "exceptions | list, show or resolve",
        "exceptions resolve 1 --by a --reason b | Missing required argument",
        "exceptions resolve 1 --by a --reason b --close --query | mutually exclusive",
        "exceptions resolve 1 --by a --reason b --failed | --code is needed",
        "exceptions resolve 1 --by a --reason b --close --order o | [--order] does not go with --close",
        "exceptions resolve 1 --by a --reason b --refund --amount-minor 0 | must be positive",
        "exceptions resolve 1 --reason b --close | Missing required option: '--by=WHO'",
        "exceptions list --kind NONE | Invalid value for option '--kind'",
        "payment | show or query",
        "webhooks reprocess --by a --reason b | Missing required argument",
        "webhooks list --from yesterday | is no time with a zone",
        "republish --from 2026-11-29T12:00:00Z | Missing required option: '--to=TIME'",
        "republish --from 2026-11-29 --to 2026-11-30T00:00:00Z | is no time with a zone",
        "republish --from 2026-01-02T00:00Z --to 2026-01-02T01:00+01:00 | is not after --from",
        "republish --from 2026-01-02T00:00Z --to 9999-01-02T00:00Z | lies in the future",
        "republish --from 2026-01-02T00:00Z --to 2026-01-03T00:00Z --max-events 0 | must be 1 or more"
      })
  void aWrongOptionIsAUsageErrorWithASentence(String command, String sentence) {
    Result result = run(Map.of(), command.split(" ", -1));

    assertThat(result.exitCode()).isEqualTo(CommandLines.EXIT_USAGE);
    assertThat(result.err()).contains(sentence);
  }

  @Test
  void lengthsOfTimeAreReadInBothForms() throws Exception {
    TimeOptions.ToDuration duration = new TimeOptions.ToDuration();

    assertThat(duration.convert("90m")).isEqualTo(Duration.ofMinutes(90));
    assertThat(duration.convert("2d")).isEqualTo(Duration.ofDays(2));
    assertThat(duration.convert("PT0S")).isEqualTo(Duration.ZERO);
    assertThat(new TimeOptions.ToInstant().convert("2026-11-29T13:00:00+01:00"))
        .isEqualTo(Instant.parse("2026-11-29T12:00:00Z"));
  }

  @Test
  void aMisspeltCommandIsAUsageErrorWithASuggestion() {
    Result result = run(Map.of(), "migrat");

    assertThat(result.exitCode()).isEqualTo(CommandLines.EXIT_USAGE);
    assertThat(result.err()).contains("migrate");
  }

  @Test
  void nothingAtAllNamesTheHelp() {
    Result result = run(Map.of());

    assertThat(result.exitCode()).isEqualTo(CommandLines.EXIT_USAGE);
    assertThat(result.err()).contains("--help");
  }

  @Test
  void theDatabaseThatIsNotThereIsNamedWithTheVariablesToCheck() {
    Result result =
        run(
            Map.of(
                "PAYRELAY_DATABASE_URL", "jdbc:postgresql://127.0.0.1:1/payrelay",
                "PAYRELAY_DATABASE_USER", "operator",
                "PAYRELAY_DATABASE_CONNECT_TIMEOUT_MS", "300"),
            "status");

    assertThat(result.exitCode()).isEqualTo(CommandLines.EXIT_RETRIABLE);
    assertThat(result.err()).contains("PAYRELAY_DATABASE_URL").doesNotContain("at io.payrelay");
  }

  @Test
  void theConfigCommandListsEverySetting() {
    Result result = run(Map.of(), "config");

    assertThat(result.exitCode()).isZero();
    AppSettings.all().forEach(setting -> assertThat(result.out()).contains(setting.name()));
  }

  private static Result run(Map<String, String> environment, String... arguments) {
    StringWriter out = new StringWriter();
    StringWriter err = new StringWriter();
    CommandLine commandLine = CommandLines.of(new PayrelayCommand(environment));
    commandLine.setOut(new PrintWriter(out));
    commandLine.setErr(new PrintWriter(err));
    int exitCode = commandLine.execute(arguments);
    return new Result(exitCode, out.toString(), err.toString());
  }
}

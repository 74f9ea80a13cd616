package io.payrelay.workbench.bench;

import static org.assertj.core.api.Assertions.assertThat;

import io.payrelay.app.CommandLines;
import io.payrelay.app.PayrelayCommand;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import picocli.CommandLine;

final class BenchCommandTest {

  @TempDir Path folder;

  private record Result(int exitCode, String err) {}

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "relay --events 0|--events takes 1 to 5000000, not 0",
        "relay --warm-up-events -1|--warm-up-events takes 0 to 5000000, not -1",
        "relay --rows-per-transaction 100001|--rows-per-transaction takes 1 to 100000, not 100001",
        "relay --report /no/such/folder/r.json|--report names /no/such/folder/r.json, which cannot be written",
        "latency --rate 20001|--rate takes 1 to 20000, not 20001",
        "latency --seconds 0|--seconds takes 1 to 3600, not 0",
        "latency --warm-up-seconds 3601|--warm-up-seconds takes 0 to 3600, not 3601",
        "latency --rate 20000 --seconds 3600|is more than 5000000 events",
        "payments --payments 0|--payments takes 1 to 1000000, not 0",
        "payments --provider-latency-ms -1|--provider-latency-ms takes 0 to 60000, not -1",
        "payments --outstanding 0|--outstanding takes 1 to 100000, not 0",
        "webhooks --rate 20001|--rate takes 0 to 20000, not 20001",
        "webhooks --connections 0|--connections takes 1 to 1000, not 0",
        "compare|Missing required options: '--peer-home=DIR', '--peer-java-home=DIR'",
        "compare --peer-home /none --peer-java-home /none|--peer-home names /none, which holds no Debezium Server",
      })
  void refusesWhatItCannotMeasureBeforeItStartsAnything(String arguments, String sentence) {
    Result result = run(("bench " + arguments).split(" ", -1));

    assertThat(result.exitCode()).isEqualTo(CommandLines.EXIT_USAGE);
    assertThat(result.err()).contains(sentence);
  }

  @Test
  void refusesAPeerWithoutJavaAndPollIntervalsOutOfRange() throws Exception {
    Files.createFile(folder.resolve("debezium-server-dist-1-runner.jar"));
    String java = System.getProperty("java.home");

    assertThat(compare("/none", "500").err())
        .contains("--peer-java-home names /none, which holds no Java");
    assertThat(compare(java, "500,0").err())
        .contains("--peer-poll-intervals-ms takes 1 to 60000, not 0");
  }

  @Test
  void asksForTheNameOfABenchmark() {
    assertThat(run("bench").err()).contains("Name a benchmark");
  }

  private Result compare(String java, String polls) {
    return run(
        "bench",
        "compare",
        "--peer-home",
        folder.toString(),
        "--peer-java-home",
        java,
        "--peer-poll-intervals-ms",
        polls);
  }

  private static Result run(String... arguments) {
    StringWriter err = new StringWriter();
    CommandLine commandLine = CommandLines.of(new PayrelayCommand(Map.of()), new BenchCommand());
    commandLine.setErr(new PrintWriter(err));
    commandLine.setOut(new PrintWriter(new StringWriter()));
    return new Result(commandLine.execute(arguments), err.toString());
  }
}

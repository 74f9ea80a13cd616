package io.payrelay.workbench.bench;

import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Ours and Debezium Server in turn, on one database and one broker. */
@Command(
    name = "compare",
    mixinStandardHelpOptions = true,
    description =
        "Drain and latency of this relay and of Debezium Server in turn, on one PostgreSQL and one Kafka;"
            + " benchmarks/compare-relays.sh gets Debezium Server and calls this. Exits 1 if our relay lost or"
            + " doubled a row.")
@SuppressWarnings("NullAway.Init") // picocli injects.
final class CompareBenchCommand implements Callable<Integer> {

  private static final int POLL_MS_MAX = 60_000;

  @Spec private CommandSpec spec;
  @Mixin private BenchOptions options;

  @Option(
      names = "--peer-home",
      paramLabel = "DIR",
      required = true,
      description = "an unpacked Debezium Server")
  private Path peerHome;

  @Option(
      names = "--peer-java-home",
      paramLabel = "DIR",
      required = true,
      description = "a JDK or JRE, 21 or newer, for Debezium Server")
  private Path peerJavaHome;

  @Option(
      names = "--peer-poll-intervals-ms",
      paramLabel = "MS",
      split = ",",
      defaultValue = "500,5",
      description = "a run of Debezium Server for each; 500 is its own default (${DEFAULT-VALUE})")
  private List<Integer> pollIntervalsMs;

  @Option(
      names = "--events",
      paramLabel = "N",
      defaultValue = "300000",
      description = "(${DEFAULT-VALUE})")
  private int events;

  @Option(
      names = "--warm-up-events",
      paramLabel = "W",
      defaultValue = "150000",
      description = "(${DEFAULT-VALUE})")
  private int warmUpEvents;

  @Option(
      names = "--rows-per-transaction",
      paramLabel = "R",
      defaultValue = "1",
      description = "(${DEFAULT-VALUE})")
  private int rowsPerTransaction;

  @Option(
      names = "--rate",
      paramLabel = "R",
      defaultValue = "500",
      description = "events a second (${DEFAULT-VALUE})")
  private int rate;

  @Option(
      names = "--seconds",
      paramLabel = "T",
      defaultValue = "40",
      description = "(${DEFAULT-VALUE})")
  private int seconds;

  @Option(
      names = "--warm-up-seconds",
      paramLabel = "W",
      defaultValue = "120",
      description = "(${DEFAULT-VALUE})")
  private int warmUpSeconds;

  @Override
  public Integer call() {
    Drain.Size size = options.size(events, warmUpEvents, rowsPerTransaction);
    Latency.Load load = options.load(rate, seconds, warmUpSeconds);
    options.checkReport();
    checkPeer();
    Comparison comparison = new Comparison(Machine.now(), size, load);
    try (BenchServers servers = BenchServers.start()) {
      PrintWriter out = spec.commandLine().getOut();
      BareReader limit = new BareReader(servers);
      PayrelaySubject ours = new PayrelaySubject(servers, options.javaOptions());
      ours.prepare();
      limit.prepare();
      progress(out, ours.name());
      comparison.measure(servers, ours);
      progress(out, BareReader.NAME);
      comparison.limit(limit);
      for (int pollMs : pollIntervalsMs) {
        DebeziumServerSubject peer =
            new DebeziumServerSubject(servers, peerHome, peerJavaHome, pollMs);
        peer.prepare();
        progress(out, peer.name());
        comparison.measure(servers, peer);
        peer.cleanUp();
      }
      out.println();
      out.println(comparison.text());
      out.flush();
      Tables.write(options.report(), comparison.report());
      return comparison.oursCorrect() ? 0 : 1;
    }
  }

  private void checkPeer() {
    if (DebeziumServerSubject.runner(peerHome).isEmpty()) {
      throw options.refused(
          "--peer-home names %s, which holds no Debezium Server".formatted(peerHome));
    }
    if (!Files.isExecutable(peerJavaHome.resolve("bin/java"))) {
      throw options.refused(
          "--peer-java-home names %s, which holds no Java".formatted(peerJavaHome));
    }
    for (int pollMs : new ArrayList<>(pollIntervalsMs)) {
      if (pollMs < 1 || pollMs > POLL_MS_MAX) {
        throw options.refused(
            "--peer-poll-intervals-ms takes 1 to %d, not %d".formatted(POLL_MS_MAX, pollMs));
      }
    }
  }

  private static void progress(PrintWriter out, String name) {
    out.printf(Locale.ROOT, "measuring: %s%n", name);
    out.flush();
  }
}

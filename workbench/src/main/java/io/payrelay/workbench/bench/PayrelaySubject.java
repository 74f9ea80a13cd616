package io.payrelay.workbench.bench;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** Our relay: Avro, exactly once, in a small heap. */
final class PayrelaySubject implements Subject {

  static final String NAME = "Payrelay";
  static final String HEAP = "-Xmx256m";

  private static final Duration READY_LIMIT = Duration.ofSeconds(60);

  private final BenchServers servers;
  private final List<String> javaOptions;

  /**
   * Describes the process.
   *
   * @param furtherJavaOptions come after the heap's size, and win over it
   */
  PayrelaySubject(BenchServers servers, List<String> furtherJavaOptions) {
    this.servers = servers;
    // As the launcher runs it, in a smaller heap.
    this.javaOptions = new ArrayList<>(List.of(HEAP, "-XX:+UseSerialGC"));
    this.javaOptions.addAll(furtherJavaOptions);
  }

  @Override
  public String name() {
    return NAME;
  }

  @Override
  public EventTable table() {
    return EventTable.outbox();
  }

  @Override
  public void prepare() {
    servers.migrate();
  }

  @Override
  public BenchProcess start() {
    BenchProcess process =
        BenchProcess.ours(servers.folder(), javaOptions, servers.relayEnvironment(), "relay");
    process.awaitLine("ready ", READY_LIMIT);
    return process;
  }

  @Override
  public void cleanUp() {
    // The rows stay: nothing reads them again, and to delete them would be work for the next one.
  }
}

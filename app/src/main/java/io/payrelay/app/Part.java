package io.payrelay.app;

import java.util.concurrent.CompletableFuture;

/**
 * One of the three processes of production, running: relay, charge worker or webhook ingest. Safe
 * for any thread.
 */
public interface Part extends AutoCloseable {

  /** What it is called on the command line. */
  String name();

  /** One line on where it can be reached; honest once {@link #readiness} has said {@code ok}. */
  String ready();

  /** {@code ok} where it can do its work, else what it waits for. */
  String readiness();

  /** Completes when it has ended; exceptionally where it cannot go on. */
  CompletableFuture<?> ended();

  /** Finishes what is under way, within a limit, and ends it. */
  @Override
  void close();
}

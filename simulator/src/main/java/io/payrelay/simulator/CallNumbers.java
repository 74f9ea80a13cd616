package io.payrelay.simulator;

import java.util.concurrent.atomic.AtomicInteger;

/** How often one id of the client was called, queried and told about. Thread-safe. */
final class CallNumbers {
  private final AtomicInteger calls = new AtomicInteger();
  private final AtomicInteger queries = new AtomicInteger();
  private final AtomicInteger events = new AtomicInteger();

  int nextCall() {
    return calls.incrementAndGet();
  }

  int nextQuery() {
    return queries.incrementAndGet();
  }

  int nextEvent() {
    return events.incrementAndGet();
  }

  int calls() {
    return calls.get();
  }
}

package io.payrelay.simulator;

import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.jspecify.annotations.Nullable;

/** Faults that a test has ordered for ids, consumed one per use. Thread-safe. */
final class Scripts<F> {
  private final Map<String, Queue<F>> faultsById = new ConcurrentHashMap<>();

  void add(String merchantTransactionId, List<F> faults) {
    faultsById
        .computeIfAbsent(merchantTransactionId, id -> new ConcurrentLinkedQueue<>())
        .addAll(faults);
  }

  /** The next ordered fault, null if none is left. */
  @Nullable F next(String merchantTransactionId) {
    Queue<F> faults = faultsById.get(merchantTransactionId);
    return faults == null ? null : faults.poll();
  }
}

package io.payrelay.chargeworker;

import io.payrelay.payments.store.OperationStore;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.jdbi.v3.core.Jdbi;

/**
 * Outcomes whose payment somebody holds, as an upstream does whose transaction stays open after it
 * asked for a refund. They are tried again at growing intervals, and their leases are renewed, so
 * that nobody asks the provider meanwhile. Nothing is lost with them: should the process stop, the
 * leases end and the provider is asked. Belongs to one thread, but for the count.
 */
final class HeldOutcomes {

  private static final long FIRST_PAUSE_MS = 20;
  private static final int DOUBLINGS_MAX = 6;

  /** Renewed that often within a lease. */
  private static final int RENEWALS = 3;

  private final Jdbi jdbi;
  private final OperationStore operations = new OperationStore();
  private final Map<Long, Held> held = new LinkedHashMap<>();
  private final AtomicInteger count = new AtomicInteger();
  private long renewedNs = System.nanoTime();

  private record Held(Outcome outcome, int tries, long dueNs) {}

  HeldOutcomes(Jdbi jdbi) {
    this.jdbi = jdbi;
  }

  /**
   * Keeps it for later, also where it was kept before.
   *
   * @return false where half of what its provider may have in flight is kept already: the other
   *     half is for payments that nobody holds
   */
  boolean keep(Outcome outcome) {
    long id = outcome.claim().attemptId();
    Held before = held.get(id);
    if (before == null && (ofLane(outcome.lane()) + 1) * 2 > outcome.lane().inFlight().max()) {
      return false;
    }
    int tries = before == null ? 0 : before.tries() + 1;
    long pauseMs = FIRST_PAUSE_MS << Math.min(tries, DOUBLINGS_MAX);
    held.put(
        id, new Held(outcome, tries, System.nanoTime() + Duration.ofMillis(pauseMs).toNanos()));
    count.set(held.size());
    return true;
  }

  /** It is written, or set aside for a person. */
  void forget(Outcome outcome) {
    held.remove(outcome.claim().attemptId());
    count.set(held.size());
  }

  /** Those whose time has come, the longest kept first. */
  List<Outcome> due(int limit) {
    List<Outcome> due = new ArrayList<>();
    long nowNs = System.nanoTime();
    for (Held one : held.values()) {
      if (due.size() < limit && one.dueNs() - nowNs <= 0) {
        due.add(one.outcome());
      }
    }
    return due;
  }

  /** Renews the leases where it is time to. */
  void renew() {
    if (held.isEmpty()) {
      return;
    }
    Duration lease = held.values().iterator().next().outcome().lane().terms().lease();
    long nowNs = System.nanoTime();
    if (nowNs - renewedNs < lease.toNanos() / RENEWALS) {
      return;
    }
    List<Long> attemptIds = List.copyOf(held.keySet());
    jdbi.useTransaction(tx -> operations.renew(tx, attemptIds, lease));
    renewedNs = nowNs;
  }

  /** How many there are; safe for any thread. */
  int count() {
    return count.get();
  }

  private long ofLane(ProviderLane lane) {
    return held.values().stream().filter(one -> one.outcome().lane() == lane).count();
  }
}

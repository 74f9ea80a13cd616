package io.payrelay.chargeworker;

import io.payrelay.payments.store.OperationStore;
import io.payrelay.platform.database.LockLimit;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.jdbi.v3.core.Jdbi;

/**
 * Outcomes whose payment somebody holds, as an upstream does whose transaction stays open after it
 * asked for a refund, or that wait for another lock. They are tried again at growing intervals, and
 * their leases are renewed, so that nobody asks the provider meanwhile. Should the process die, the
 * leases end and the provider is asked. Belongs to one thread, but for the count.
 */
final class HeldOutcomes {

  private static final long FIRST_PAUSE_MS = 20;
  private static final int DOUBLINGS_MAX = 6;

  /** Renewed that often within a lease. */
  private static final int RENEWALS = 3;

  private final Jdbi jdbi;
  private final Duration lockLimit;
  private final OperationStore operations = new OperationStore();
  private final Map<Long, Held> held = new LinkedHashMap<>();
  private final AtomicInteger count = new AtomicInteger();
  private long renewedNs = System.nanoTime();

  private record Held(Outcome outcome, int tries, long dueNs) {}

  HeldOutcomes(Jdbi jdbi, Duration lockLimit) {
    this.jdbi = jdbi;
    this.lockLimit = lockLimit;
  }

  /**
   * Would it, as a new one, be more than half of what its provider may have in flight? The other
   * half is for payments that nobody holds.
   */
  boolean isFullFor(Outcome outcome) {
    return !holds(outcome) && (of(outcome.lane()) + 1) * 2 > outcome.lane().inFlight().max();
  }

  /** Is it kept already? */
  boolean holds(Outcome outcome) {
    return held.containsKey(outcome.claim().attemptId());
  }

  /** Keeps it for later, also where it was kept before. */
  void keep(Outcome outcome) {
    long id = outcome.claim().attemptId();
    Held before = held.get(id);
    int tries = before == null ? 0 : before.tries() + 1;
    long pauseMs = FIRST_PAUSE_MS << Math.min(tries, DOUBLINGS_MAX);
    held.put(
        id, new Held(outcome, tries, System.nanoTime() + Duration.ofMillis(pauseMs).toNanos()));
    count.set(held.size());
  }

  /** Keeps one that did not have its turn: it is among the first that have it next. */
  void keepUntried(Outcome outcome) {
    held.putIfAbsent(
        outcome.claim().attemptId(), new Held(outcome, /* tries= */ 0, System.nanoTime()));
    count.set(held.size());
  }

  /** It is written, or set aside for a person. */
  void forget(Outcome outcome) {
    held.remove(outcome.claim().attemptId());
    count.set(held.size());
  }

  /**
   * Those whose time has come, the longest due first: each has its turn, however many there are.
   */
  List<Outcome> due(int limit) {
    long nowNs = System.nanoTime();
    return held.values().stream()
        .filter(one -> one.dueNs() - nowNs <= 0)
        .sorted(Comparator.comparingLong(one -> one.dueNs() - nowNs))
        .limit(limit)
        .map(Held::outcome)
        .toList();
  }

  /**
   * Renews the leases where it is time to.
   *
   * @param others which are to be written yet
   */
  void renew(List<Outcome> others) {
    List<Outcome> all = new ArrayList<>(others);
    all.addAll(all());
    if (all.isEmpty()) {
      return;
    }
    Duration lease = all.get(0).lane().terms().lease();
    long nowNs = System.nanoTime();
    if (nowNs - renewedNs < lease.toNanos() / RENEWALS) {
      return;
    }
    List<Long> attemptIds = all.stream().map(one -> one.claim().attemptId()).toList();
    jdbi.useTransaction(
        tx -> {
          LockLimit.set(tx, lockLimit);
          operations.renew(tx, attemptIds, lease);
        });
    renewedNs = nowNs;
  }

  /** All of them. */
  List<Outcome> all() {
    return held.values().stream().map(Held::outcome).toList();
  }

  /** How many there are; safe for any thread. */
  int count() {
    return count.get();
  }

  private long of(ProviderLane lane) {
    return held.values().stream().filter(one -> one.outcome().lane() == lane).count();
  }
}

package io.payrelay.chargeworker;

import io.payrelay.payments.lifecycle.ExceptionCase;
import io.payrelay.payments.lifecycle.Fact;
import io.payrelay.payments.store.ExceptionStore;
import io.payrelay.payments.store.FactStore;
import io.payrelay.payments.store.PaymentStore;
import io.payrelay.platform.database.LockLimit;
import io.payrelay.platform.errors.Failures;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import org.jdbi.v3.core.Handle;
import org.jdbi.v3.core.Jdbi;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Accepts triggers of one kind: in one transaction, and one by one where that fails, for a short
 * while. No network call, and nobody is waited for who holds a payment: who holds which is asked
 * once for all of them. Safe for any thread.
 *
 * @param <T> the triggers
 * @param <R> the rows that they name
 * @param <O> the operations that are made of them
 */
final class Acceptor<T, R, O> {

  private static final Logger log = LoggerFactory.getLogger(Acceptor.class);

  /** For what cannot be asked beforehand, such as an operation that another worker just makes. */
  private static final Duration LOCK_LIMIT = Duration.ofMillis(250);

  /** Whoever is slower than our own transactions are is not waited for by one after the other. */
  private static final Duration ALONE_LOCK_LIMIT = Duration.ofMillis(50);

  /** The caller polls Kafka; what is left over then comes again. */
  private static final Duration ONE_BY_ONE_LIMIT = Duration.ofSeconds(1);

  private final Jdbi jdbi;
  private final InstantSource clock;
  private final ChargeFaults faults;
  private final Subject<T, R, O> subject;
  private final FactStore facts = new FactStore();
  private final ExceptionStore exceptions = new ExceptionStore();
  private final PaymentStore payments = new PaymentStore();

  /** Where to begin one by one: those at the head must not use up the time each time. */
  private final AtomicInteger next = new AtomicInteger();

  /** What is different of charges and refunds. */
  interface Subject<T, R, O> {

    /** Such as "charge", for people. */
    String name();

    /** Where a test makes the worker die when its operations are committed. */
    ChargeFaults.Point accepted();

    /** The id of the row that the trigger names. */
    String id(T trigger);

    /** The rows that exist, by id. */
    Map<String, R> rows(Handle tx, List<String> ids);

    /** The payment that the row is, or belongs to. */
    String paymentId(R row);

    /** Has the row an operation? Then something may have been sent. */
    boolean hasOperation(Handle tx, String id);

    /** What is to be done about a row. */
    Finding<O> look(Handle tx, T trigger, R row);

    /** Writes operations; where there is one already, it may be asked about. */
    void write(Handle tx, List<O> operations, Map<String, R> rows);

    /**
     * The case for a row that cannot be accepted. While it is open the sweep leaves the row alone:
     * it would be refused again and again. Null where there is nothing to accept.
     */
    @Nullable ExceptionCase notAccepted(Handle tx, T trigger, RuntimeException refusal);
  }

  /**
   * What follows from a trigger.
   *
   * @param ifUnsent the fact counts only where there is no operation
   */
  record Finding<O>(
      Verdict verdict,
      @Nullable O operation,
      @Nullable Fact fact,
      boolean ifUnsent,
      @Nullable ExceptionCase exception) {

    static <O> Finding<O> of(Verdict verdict) {
      return new Finding<>(verdict, null, null, false, null);
    }

    static <O> Finding<O> accepted(O operation) {
      return new Finding<>(Verdict.DONE, operation, null, false, null);
    }

    static <O> Finding<O> refused(Fact fact) {
      return new Finding<>(Verdict.REFUSED, null, fact, false, null);
    }

    /**
     * Only where nothing can have been sent: an adapter that was set up otherwise may have taken
     * it.
     */
    static <O> Finding<O> refusedIfUnsent(Fact fact) {
      return new Finding<>(Verdict.REFUSED, null, fact, true, null);
    }

    static <O> Finding<O> refused(ExceptionCase exception) {
      return new Finding<>(Verdict.REFUSED, null, null, false, exception);
    }
  }

  Acceptor(Jdbi jdbi, InstantSource clock, ChargeFaults faults, Subject<T, R, O> subject) {
    this.jdbi = jdbi;
    this.clock = clock;
    this.faults = faults;
    this.subject = subject;
  }

  /** Accepts the triggers and says what became of each, in the same order. */
  List<Verdict> accept(List<T> triggers) {
    try {
      List<Verdict> verdicts = jdbi.inTransaction(tx -> accept(tx, triggers, LOCK_LIMIT));
      faults.reached(subject.accepted());
      return verdicts;
    } catch (RuntimeException e) {
      if (!Refusals.concernsOne(e) && !Failures.waitedForALock(e)) {
        throw e;
      }
      // One of them is wrong or waits for somebody; the others are not to suffer for it.
      return oneByOne(triggers);
    }
  }

  private List<Verdict> oneByOne(List<T> triggers) {
    int count = triggers.size();
    List<Verdict> verdicts = new ArrayList<>(Collections.nCopies(count, Verdict.HELD));
    long startNs = System.nanoTime();
    int from = Math.floorMod(next.get(), count);
    int tried = 0;
    do {
      int at = (from + tried) % count;
      verdicts.set(at, acceptOne(triggers.get(at)));
      tried++;
    } while (tried < count && System.nanoTime() - startNs < ONE_BY_ONE_LIMIT.toNanos());
    next.addAndGet(tried);
    return verdicts;
  }

  private Verdict acceptOne(T trigger) {
    List<Verdict> verdicts = new ArrayList<>(1);
    try {
      RuntimeException refusal =
          Refusals.refusal(
              () ->
                  verdicts.addAll(
                      jdbi.inTransaction(tx -> accept(tx, List.of(trigger), ALONE_LOCK_LIMIT))));
      return refusal == null ? verdicts.get(0) : rejected(trigger, refusal);
    } catch (RuntimeException e) {
      if (!Failures.waitedForALock(e)) {
        throw e;
      }
      log.debug("{} request waits for somebody else id={}", subject.name(), id(trigger));
      return Verdict.HELD;
    }
  }

  private Verdict rejected(T trigger, RuntimeException refusal) {
    log.error("{} request refused id={}", subject.name(), id(trigger), refusal);
    RuntimeException again =
        Refusals.refusal(() -> jdbi.useTransaction(tx -> openCase(tx, trigger, refusal)));
    if (again != null) {
      log.error("no case can be opened for the {} id={}", subject.name(), id(trigger), again);
    }
    return Verdict.REJECTED;
  }

  private String id(T trigger) {
    return subject.id(trigger);
  }

  private void openCase(Handle tx, T trigger, RuntimeException refusal) {
    LockLimit.set(tx, LOCK_LIMIT);
    ExceptionCase notAccepted = subject.notAccepted(tx, trigger, refusal);
    if (notAccepted != null) {
      exceptions.open(tx, List.of(notAccepted));
    }
  }

  private List<Verdict> accept(Handle tx, List<T> triggers, Duration lockLimit) {
    LockLimit.set(tx, lockLimit);
    Map<String, R> rows = subject.rows(tx, triggers.stream().map(this::id).toList());
    List<Finding<O>> findings = new ArrayList<>(triggers.size());
    for (T trigger : triggers) {
      R row = rows.get(id(trigger));
      findings.add(row == null ? Finding.of(Verdict.NOT_VISIBLE) : subject.look(tx, trigger, row));
    }
    leaveHeldOperations(tx, triggers, findings, rows);
    leaveHeldFacts(tx, triggers, findings);
    List<Verdict> verdicts = new ArrayList<>(triggers.size());
    List<O> wanted = new ArrayList<>();
    List<Fact> observed = new ArrayList<>();
    List<ExceptionCase> cases = new ArrayList<>();
    for (Finding<O> finding : findings) {
      verdicts.add(finding.verdict());
      addIfPresent(wanted, finding.operation());
      addIfPresent(observed, finding.fact());
      addIfPresent(cases, finding.exception());
    }
    if (!observed.isEmpty()) {
      facts.apply(tx, observed, clock.instant());
    }
    exceptions.open(tx, cases);
    subject.write(tx, wanted, rows);
    return verdicts;
  }

  /** An operation refers to its payment. */
  private void leaveHeldOperations(
      Handle tx, List<T> triggers, List<Finding<O>> findings, Map<String, R> rows) {
    Map<Integer, String> paymentIds = new HashMap<>();
    for (int i = 0; i < findings.size(); i++) {
      R row = rows.get(id(triggers.get(i)));
      if (row != null && findings.get(i).operation() != null) {
        paymentIds.put(i, subject.paymentId(row));
      }
    }
    Set<String> held = payments.lockedAgainstReferences(tx, paymentIds.values());
    paymentIds.forEach(
        (i, paymentId) -> {
          if (held.contains(paymentId)) {
            findings.set(i, Finding.of(Verdict.HELD));
          }
        });
  }

  /** A fact changes its payment: more of the others' locks are in its way. */
  private void leaveHeldFacts(Handle tx, List<T> triggers, List<Finding<O>> findings) {
    List<String> paymentIds =
        findings.stream().map(Finding::fact).filter(Objects::nonNull).map(Fact::paymentId).toList();
    Set<String> held = payments.lockedByOthers(tx, paymentIds);
    for (int i = 0; i < findings.size(); i++) {
      Finding<O> finding = findings.get(i);
      Fact fact = finding.fact();
      if (fact == null) {
        continue;
      }
      if (held.contains(fact.paymentId())) {
        findings.set(i, Finding.of(Verdict.HELD));
      } else if (finding.ifUnsent() && subject.hasOperation(tx, id(triggers.get(i)))) {
        findings.set(i, Finding.of(Verdict.DONE));
      }
    }
  }

  private static <X> void addIfPresent(List<X> list, @Nullable X value) {
    if (value != null) {
      list.add(value);
    }
  }
}

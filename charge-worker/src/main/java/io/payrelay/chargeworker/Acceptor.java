package io.payrelay.chargeworker;

import io.payrelay.payments.lifecycle.ExceptionCase;
import io.payrelay.payments.lifecycle.Fact;
import io.payrelay.payments.store.ExceptionStore;
import io.payrelay.payments.store.FactStore;
import io.payrelay.platform.database.LockLimit;
import io.payrelay.platform.errors.Failures;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jdbi.v3.core.Handle;
import org.jdbi.v3.core.Jdbi;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Accepts triggers of one kind: in one transaction, and one by one where that fails. No network
 * call, and only a short wait for anybody who holds a payment. Safe for any thread.
 *
 * @param <T> the triggers
 * @param <R> the rows that they name
 * @param <O> the operations that are made of them
 */
final class Acceptor<T, R, O> {

  private static final Logger log = LoggerFactory.getLogger(Acceptor.class);

  /** An upstream's transaction may stay open for hours: the others are not to wait for it. */
  private static final Duration LOCK_LIMIT = Duration.ofMillis(250);

  private final Jdbi jdbi;
  private final InstantSource clock;
  private final ChargeFaults faults;
  private final Subject<T, R, O> subject;
  private final FactStore facts = new FactStore();
  private final ExceptionStore exceptions = new ExceptionStore();

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

  /** What follows from a trigger. */
  record Finding<O>(
      Verdict verdict,
      @Nullable O operation,
      @Nullable Fact fact,
      @Nullable ExceptionCase exception) {

    static <O> Finding<O> of(Verdict verdict) {
      return new Finding<>(verdict, null, null, null);
    }

    static <O> Finding<O> accepted(O operation) {
      return new Finding<>(Verdict.DONE, operation, null, null);
    }

    static <O> Finding<O> refused(Fact fact) {
      return new Finding<>(Verdict.REFUSED, null, fact, null);
    }

    static <O> Finding<O> refused(ExceptionCase exception) {
      return new Finding<>(Verdict.REFUSED, null, null, exception);
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
      List<Verdict> verdicts = jdbi.inTransaction(tx -> accept(tx, triggers));
      faults.reached(subject.accepted());
      return verdicts;
    } catch (RuntimeException e) {
      if (!Refusals.concernsOne(e) && !Failures.waitedForALock(e)) {
        throw e;
      }
      // One of them is wrong or held; the others are not to suffer for it.
      List<Verdict> verdicts = new ArrayList<>(triggers.size());
      triggers.forEach(trigger -> verdicts.add(acceptOne(trigger)));
      return verdicts;
    }
  }

  private Verdict acceptOne(T trigger) {
    List<Verdict> verdicts = new ArrayList<>(1);
    try {
      RuntimeException refusal =
          Refusals.refusal(
              () -> verdicts.addAll(jdbi.inTransaction(tx -> accept(tx, List.of(trigger)))));
      return refusal == null ? verdicts.get(0) : rejected(trigger, refusal);
    } catch (RuntimeException e) {
      if (!Failures.waitedForALock(e)) {
        throw e;
      }
      log.debug("{} request waits: somebody holds its payment id={}", subject.name(), id(trigger));
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

  private List<Verdict> accept(Handle tx, List<T> triggers) {
    LockLimit.set(tx, LOCK_LIMIT);
    Map<String, R> rows = subject.rows(tx, triggers.stream().map(this::id).toList());
    List<Verdict> verdicts = new ArrayList<>(triggers.size());
    List<O> wanted = new ArrayList<>();
    List<Fact> observed = new ArrayList<>();
    List<ExceptionCase> cases = new ArrayList<>();
    for (T trigger : triggers) {
      R row = rows.get(id(trigger));
      Finding<O> finding =
          row == null ? Finding.of(Verdict.NOT_VISIBLE) : subject.look(tx, trigger, row);
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

  private static <X> void addIfPresent(List<X> list, @Nullable X value) {
    if (value != null) {
      list.add(value);
    }
  }
}

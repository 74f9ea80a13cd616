package io.payrelay.webhook;

import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.payrelay.payments.store.Adoptions;
import io.payrelay.payments.store.ExceptionStore;
import io.payrelay.platform.errors.Category;
import io.payrelay.platform.errors.Failures;
import io.payrelay.platform.errors.PayrelayException;
import io.payrelay.platform.lifecycle.Worker;
import io.payrelay.platform.telemetry.LogContext;
import io.payrelay.providers.UnreadableWebhookException;
import io.payrelay.providers.WebhookAdapter;
import io.payrelay.providers.WebhookEvent;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.jdbi.v3.core.Handle;
import org.jdbi.v3.core.Jdbi;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Applies stored events again: parked ones when they are due, others when a person asks. One
 * transaction an event. Several processes may run it side by side. Safe for any thread.
 */
public final class ParkedMatcher implements Worker {

  private static final Logger log = LoggerFactory.getLogger(ParkedMatcher.class);

  /** One bounded step of the loop. */
  private static final int BATCH = 100;

  /** So often an event is looked at before it is given up. */
  private static final int LOOKS_MIN = 3;

  /** For a payment that somebody holds. */
  private static final Duration LATER_MIN = Duration.ofSeconds(1);

  /**
   * Whose matcher it is.
   *
   * @param lockMax how long a lock is waited for: in the loop all others would wait too
   * @param byHand a person's, who may have other settings than the ingest: what cannot be read with
   *     them is left as it is
   */
  record Manner(Duration statementMax, Duration lockMax, boolean byHand) {

    private static final Duration LOCK_MAX = Duration.ofMillis(250);

    static final Manner COMMAND = new Manner(Duration.ofSeconds(30), Duration.ofSeconds(5), true);

    static Manner loop(Duration statementMax) {
      Duration lockMax = statementMax.compareTo(LOCK_MAX) < 0 ? statementMax : LOCK_MAX;
      return new Manner(statementMax, lockMax, false);
    }
  }

  private final Jdbi jdbi;
  private final Map<String, WebhookAdapter> adapters;
  private final InstantSource clock;
  private final ParkSchedule park;
  private final IngestMetrics metrics;
  private final Manner manner;
  private final EventStore events = new EventStore();
  private final ExceptionStore exceptions = new ExceptionStore();
  private final Applier applier = new Applier();
  private final Adoptions adoptions = new Adoptions();

  /** Is told what becomes of an event, in the transaction that writes it. */
  @FunctionalInterface
  public interface Witness {

    Witness NONE = (tx, before, after, reason, paymentId) -> {};

    /** The event was applied again. */
    void saw(
        Handle tx,
        Disposition before,
        Disposition after,
        @Nullable String reason,
        @Nullable String paymentId);
  }

  /**
   * What became of an event.
   *
   * @param written whether that was written here
   * @param left why it was left as it is, although it should have been applied
   */
  private record Done(
      StoredEvent event, Applier.Applied applied, boolean written, @Nullable String left) {

    static Done asItIs(StoredEvent event, @Nullable String left) {
      return new Done(
          event, new Applier.Applied(event.disposition(), left, null, null), false, left);
    }

    Disposition disposition() {
      return applied.disposition();
    }
  }

  /** Remembers which event was at work when its transaction failed. */
  private static final class Current {
    private @Nullable StoredEvent event;
  }

  ParkedMatcher(
      Jdbi jdbi,
      Map<String, WebhookAdapter> adapters,
      InstantSource clock,
      ParkSchedule park,
      IngestMetrics metrics,
      Manner manner) {
    this.jdbi = jdbi;
    this.adapters = Map.copyOf(adapters);
    this.clock = clock;
    this.park = park;
    this.metrics = metrics;
    this.manner = manner;
    metrics.expect(this.adapters.keySet());
  }

  /**
   * One for a command's {@link #reprocess}: without metrics, under a login with the role
   * payrelay_operator or payrelay_ingest.
   */
  public static ParkedMatcher forCommands(
      Jdbi jdbi, List<WebhookAdapter> adapters, InstantSource clock, ParkSchedule park) {
    return new ParkedMatcher(
        jdbi,
        byName(adapters),
        clock,
        park,
        new IngestMetrics(new SimpleMeterRegistry()),
        Manner.COMMAND);
  }

  static Map<String, WebhookAdapter> byName(List<WebhookAdapter> adapters) {
    return adapters.stream()
        .collect(Collectors.toUnmodifiableMap(WebhookAdapter::name, Function.identity()));
  }

  @Override
  public int runOnce() {
    int done = 0;
    while (done < BATCH && step(this::lockDue, Witness.NONE).isPresent()) {
      done++;
    }
    metrics.parked(jdbi.withHandle(events::parked));
    return done;
  }

  /**
   * Applies a FAILED, UNMATCHED, PARKED or UNKNOWN_TYPE event again; any other is left as it is.
   * Idempotent.
   *
   * @return what became of it; empty where there is no such event, or its body was wiped
   * @throws PayrelayException of a command's: REJECTED where its settings do not read the event,
   *     RETRIABLE where somebody holds its payment; nothing was changed
   */
  public Optional<Disposition> reprocess(String provider, String eventId) {
    return reprocess(provider, eventId, Witness.NONE);
  }

  /** The same before a witness, who is told only where it was applied again. */
  public Optional<Disposition> reprocess(String provider, String eventId, Witness witness) {
    Optional<Done> done = step(tx -> events.lock(tx, provider, eventId), witness);
    String left = done.map(Done::left).orElse(null);
    if (left != null) {
      throw new PayrelayException(
          Category.REJECTED,
          "Event %s of %s is left as it is: with the settings of this command it has %s"
              .formatted(eventId, provider, left));
    }
    return done.map(Done::disposition);
  }

  /** The next that this process can read, or that nobody does. */
  private Optional<StoredEvent> lockDue(Handle tx) {
    return events.lockDue(tx, adapters.keySet(), park.limit());
  }

  private void bound(Handle tx) {
    tx.createQuery(
            """
            SELECT set_config('statement_timeout', :statement, true)
              || set_config('lock_timeout', :lock, true)
            """)
        .bind("statement", Long.toString(manner.statementMax().toMillis()))
        .bind("lock", Long.toString(manner.lockMax().toMillis()))
        .mapTo(String.class)
        .one();
  }

  private Optional<Done> step(Function<Handle, Optional<StoredEvent>> locking, Witness witness) {
    Current current = new Current();
    Optional<Done> done;
    try {
      done =
          Redo.untilDone(
              () ->
                  jdbi.inTransaction(
                      tx -> {
                        current.event = null;
                        bound(tx);
                        Optional<StoredEvent> event = locking.apply(tx);
                        current.event = event.orElse(null);
                        return event.map(one -> apply(tx, one, witness));
                      }));
    } catch (RuntimeException e) {
      StoredEvent event = current.event;
      Waited waited = event == null ? null : Waited.of(e);
      if (event != null && waited != null) {
        if (manner.byHand() || !isOver(event)) {
          return Optional.of(later(event, waited, e));
        }
        // A person's from now on, who finds out what is in its way, and has it applied again.
        done = Optional.of(fail(event, waited.always(event), witness));
      } else if (event != null && Ingest.isItsOwn(e)) {
        done = Optional.of(fail(event, Delivery.reason(e), witness));
      } else {
        // Also where a privilege is missing: others may do, and a person finds the log.
        throw Failures.categoryOf(e) == Category.FATAL
            ? new PayrelayException(
                Category.RETRIABLE, "Parked webhook events cannot be applied", e)
            : e;
      }
    }
    done.ifPresent(this::report);
    return done;
  }

  private void report(Done done) {
    if (!done.written() || done.disposition() == Disposition.PARKED) {
      return;
    }
    metrics.matched(done.event().provider(), done.disposition());
    String paymentId = Objects.requireNonNullElse(done.applied().paymentId(), "none");
    try (LogContext context = LogContext.ofPayment(paymentId, done.applied().traceId())) {
      context.with("event_id", done.event().eventId());
      log.info(
          "webhook_matched provider={} from={} disposition={}",
          done.event().provider(),
          done.event().disposition(),
          done.disposition());
    }
  }

  private Done apply(Handle tx, StoredEvent event, Witness witness) {
    boolean again =
        switch (event.disposition()) {
          case FAILED, UNMATCHED, PARKED, UNKNOWN_TYPE -> true;
          case APPLIED, NO_CHANGE, CONFLICT -> false;
        };
    if (!again) {
      return Done.asItIs(event, null);
    }
    WebhookAdapter adapter = adapters.get(event.provider());
    if (adapter == null) {
      String reason = "no adapter for this provider";
      return manner.byHand() ? Done.asItIs(event, reason) : failed(tx, event, reason, witness);
    }
    WebhookEvent read;
    try {
      read = adapter.read(event.request(), event.receivedAt());
    } catch (UnreadableWebhookException e) {
      String reason = "unreadable: " + e.getMessage();
      // The ingest could read what did not fail: then it is the settings.
      return manner.byHand() && event.disposition() != Disposition.FAILED
          ? Done.asItIs(event, reason)
          : failed(tx, event, reason, witness);
    }
    Applier.Applied applied = applier.apply(tx, read, clock.instant());
    if (applied.disposition() == Disposition.PARKED) {
      Optional<WebhookEvent> adopted = adopted(tx, event.provider(), read);
      if (adopted.isPresent()) {
        applied = applier.apply(tx, adopted.get(), clock.instant());
      }
    }
    if (applied.disposition() == Disposition.PARKED && givesUp(event)) {
      exceptions.open(tx, Cases.unmatched(event, read));
      applied =
          new Applier.Applied(Disposition.UNMATCHED, "no such payment", applied.paymentId(), null);
    }
    return dispose(tx, event, applied, witness);
  }

  /** How long to wait is the ingest's setting, not the one of a command that looks again. */
  private boolean givesUp(StoredEvent event) {
    return manner.byHand()
        ? event.disposition() == Disposition.UNMATCHED
        : event.age().compareTo(park.limit()) >= 0;
  }

  /** The event under the name that its payment has with us, where a person has adopted it. */
  private Optional<WebhookEvent> adopted(Handle tx, String provider, WebhookEvent read) {
    String named = read.paymentId();
    if (named == null || read.facts().isEmpty()) {
      return Optional.empty();
    }
    return adoptions
        .adoptedAs(tx, provider, named, read.facts().get(0).providerTransactionId())
        .map(
            ours ->
                new WebhookEvent(
                    read.eventId(),
                    read.eventType(),
                    read.businessDigest(),
                    ours,
                    read.facts(),
                    read.asksProvider()));
  }

  private Done dispose(Handle tx, StoredEvent event, Applier.Applied applied, Witness witness) {
    events.dispose(tx, event, applied, delay(event));
    witness.saw(
        tx, event.disposition(), applied.disposition(), applied.reason(), applied.paymentId());
    return new Done(event, applied, true, null);
  }

  /** Not past the limit: the last look is at the limit, not a whole delay after it. */
  private Duration delay(StoredEvent event) {
    Duration delay = park.delay(event.matchCount() + 1);
    Duration left = park.limit().minus(event.age());
    return left.isNegative() ? Duration.ZERO : delay.compareTo(left) < 0 ? delay : left;
  }

  /**
   * Some looks past the limit: the first one after it may have met a short lock by chance, as may
   * the first one of an old event whose payment was only just adopted.
   */
  private boolean isOver(StoredEvent event) {
    return event.matchCount() >= LOOKS_MIN
        && event.age().compareTo(park.limit().plus(park.max())) >= 0;
  }

  /** It must not hold up the others. */
  private Done later(StoredEvent event, Waited waited, RuntimeException cause) {
    if (manner.byHand()) {
      throw new PayrelayException(
          Category.RETRIABLE,
          "Event %s of %s is left as it is: %s; run it again"
              .formatted(event.eventId(), event.provider(), waited.sentence()),
          cause);
    }
    Duration delay = park.delay(event.matchCount() + 1);
    Duration notBefore = delay.compareTo(LATER_MIN) < 0 ? LATER_MIN : delay;
    jdbi.useTransaction(
        tx -> {
          bound(tx);
          events.later(tx, event, notBefore);
        });
    log.info(
        "webhook_match_waits provider={} event_id={} {}",
        event.provider(),
        event.eventId(),
        waited.sentence());
    return Done.asItIs(event, null);
  }

  private Done fail(StoredEvent event, String reason, Witness witness) {
    return jdbi.inTransaction(
        tx -> {
          bound(tx);
          StoredEvent locked = events.lock(tx, event.provider(), event.eventId()).orElse(null);
          // Whoever came between has decided: that it failed here says nothing of what he did.
          return locked == null || locked.disposition() != event.disposition()
              ? Done.asItIs(locked == null ? event : locked, null)
              : failed(tx, locked, reason, witness);
        });
  }

  private Done failed(Handle tx, StoredEvent event, String reason, Witness witness) {
    exceptions.open(
        tx,
        List.of(Cases.failed(event.provider(), event.eventId(), null, reason, clock.instant())));
    return dispose(tx, event, new Applier.Applied(Disposition.FAILED, reason, null, null), witness);
  }
}

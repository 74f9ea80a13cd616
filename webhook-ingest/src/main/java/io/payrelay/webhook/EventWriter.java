package io.payrelay.webhook;

import io.payrelay.payments.lifecycle.ExceptionCase;
import io.payrelay.payments.store.ExceptionStore;
import io.payrelay.payments.store.PaymentStore;
import io.payrelay.providers.WebhookEvent;
import io.payrelay.webhook.EventStore.EventKey;
import io.payrelay.webhook.EventStore.Known;
import io.payrelay.webhook.EventStore.NewEvent;
import io.payrelay.webhook.Receipt.Kind;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import org.jdbi.v3.core.Handle;
import org.jspecify.annotations.Nullable;

/**
 * Writes deliveries in the caller's transaction: raw events, decisions and everything that follows
 * from them. Stateless, safe for any thread.
 */
final class EventWriter {

  private final ParkSchedule park;
  private final Duration statementTimeout;
  private final EventStore events = new EventStore();
  private final PaymentStore payments = new PaymentStore();
  private final ExceptionStore exceptions = new ExceptionStore();
  private final Applier applier = new Applier();

  EventWriter(ParkSchedule park, Duration statementTimeout) {
    this.park = park;
    this.statementTimeout = statementTimeout;
  }

  /**
   * Writes several deliveries, in their order.
   *
   * @return a receipt for each, in the same order; none for one whose payment somebody else holds:
   *     nothing of it is written, and nobody else's event waits for it. Null where another
   *     transaction wrote one of the events in the same moment: to be rolled back and done again
   */
  @Nullable List<@Nullable Receipt> together(Handle tx, List<Delivery> deliveries, Instant now) {
    // Bounded more tightly than alone: all of them would wait for one lock.
    return write(tx, deliveries, now, false);
  }

  /** Writes one delivery, however long its locks take within the statement timeout. */
  @Nullable Receipt alone(Handle tx, Delivery delivery, Instant now) {
    List<@Nullable Receipt> receipts = write(tx, List.of(delivery), now, true);
    return receipts == null ? null : receipts.get(0);
  }

  /** Writes one delivery as it came, with a case and nothing of what it says. */
  @Nullable Receipt failed(Handle tx, Delivery delivery, String reason, Instant now) {
    return alone(tx, delivery.undecided(reason), now);
  }

  private @Nullable List<@Nullable Receipt> write(
      Handle tx, List<Delivery> deliveries, Instant now, boolean patient) {
    Map<EventKey, Known> known =
        events.known(
            tx, deliveries.stream().map(Delivery::key).toList(), statementTimeout, patient);
    Map<EventKey, Delivery> fresh = new TreeMap<>();
    List<Delivery> readable = new ArrayList<>();
    List<ExceptionCase> cases = new ArrayList<>();
    for (Delivery one : deliveries) {
      if (!known.containsKey(one.key()) && fresh.putIfAbsent(one.key(), one) == null) {
        if (one.unreadable() == null) {
          readable.add(one);
        } else {
          cases.add(failure(one, one.unreadable(), now));
        }
      }
    }
    if (!patient) {
      Set<String> busy = payments.lockedByOthers(tx, paymentIds(readable));
      Set<EventKey> waiting = new HashSet<>();
      readable.removeIf(one -> isAbout(one, busy) && waiting.add(one.key()));
      waiting.forEach(fresh::remove);
    }
    Map<EventKey, Applier.Applied> applied = applied(tx, fresh, readable, now);
    exceptions.open(tx, cases);
    // Last of the new, so that the row is written once: a race lost here takes all with it.
    if (!events.insert(tx, fresh, applied, park.delay(0))) {
      return null;
    }
    return receipts(tx, deliveries, known, fresh, applied, now);
  }

  private Map<EventKey, Applier.Applied> applied(
      Handle tx, Map<EventKey, Delivery> fresh, List<Delivery> readable, Instant now) {
    Map<EventKey, Applier.Applied> applied = new HashMap<>();
    List<WebhookEvent> read =
        readable.stream().map(one -> Objects.requireNonNull(one.event())).toList();
    List<Applier.Applied> results = applier.apply(tx, read, now);
    for (int i = 0; i < readable.size(); i++) {
      applied.put(readable.get(i).key(), results.get(i));
    }
    fresh.forEach(
        (key, one) ->
            applied.computeIfAbsent(
                key,
                unread ->
                    new Applier.Applied(
                        Disposition.FAILED, one.unreadable(), one.row().paymentId(), null)));
    return applied;
  }

  private List<@Nullable Receipt> receipts(
      Handle tx,
      List<Delivery> deliveries,
      Map<EventKey, Known> known,
      Map<EventKey, Delivery> fresh,
      Map<EventKey, Applier.Applied> applied,
      Instant now) {
    List<@Nullable Receipt> receipts = new ArrayList<>();
    SortedMap<EventKey, Integer> repeats = new TreeMap<>();
    Map<EventKey, Delivery> firsts = new HashMap<>(fresh);
    for (Delivery one : deliveries) {
      EventKey key = one.key();
      Applier.Applied outcome = applied.get(key);
      Known before = known.get(key);
      if (before == null && outcome == null) {
        receipts.add(null);
        continue;
      }
      if (outcome != null && firsts.remove(key) != null) {
        receipts.add(first(one.row(), outcome));
        continue;
      }
      repeats.merge(key, 1, Integer::sum);
      Known first = outcome == null ? Objects.requireNonNull(before) : same(fresh, key, outcome);
      receipts.add(again(tx, one.row(), first, now));
    }
    events.countDeliveries(tx, repeats);
    return receipts;
  }

  private static Receipt first(NewEvent row, Applier.Applied outcome) {
    return new Receipt(
        row.eventId(), Kind.NEW, outcome.disposition(), outcome.paymentId(), outcome.traceId());
  }

  /** The first delivery of a batch that holds two of one event. */
  private static Known same(Map<EventKey, Delivery> fresh, EventKey key, Applier.Applied outcome) {
    return new Known(
        Objects.requireNonNull(fresh.get(key)).row().businessDigest(),
        outcome.disposition(),
        outcome.paymentId());
  }

  private Receipt again(Handle tx, NewEvent row, Known known, Instant now) {
    Kind kind = Kind.DUPLICATE;
    if (!Arrays.equals(known.businessDigest(), row.businessDigest())) {
      kind = Kind.CONFLICTING;
      boolean kept = events.keepConflicting(tx, row);
      exceptions.open(tx, List.of(Cases.conflicting(row, known, kept, now)));
    }
    return new Receipt(row.eventId(), kind, known.disposition(), known.paymentId(), null);
  }

  private static ExceptionCase failure(Delivery one, String reason, Instant now) {
    return Cases.failed(one.row().provider(), one.row().eventId(), one.event(), reason, now);
  }

  private static boolean isAbout(Delivery one, Set<String> paymentIds) {
    String paymentId = one.row().paymentId();
    return paymentId != null && paymentIds.contains(paymentId);
  }

  private static Set<String> paymentIds(List<Delivery> deliveries) {
    Set<String> ids = new HashSet<>();
    for (Delivery one : deliveries) {
      String paymentId = one.row().paymentId();
      if (paymentId != null) {
        ids.add(paymentId);
      }
    }
    return ids;
  }
}

package io.payrelay.simulator;

import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * All refunds, in memory, in the order of their creation: the truth about money given back.
 * Thread-safe: one lock, so that no two refunds of a charge can both take its last money.
 */
final class Refunds {
  private final List<Entry> entries = new ArrayList<>();
  private final Map<String, Entry> entriesById = new HashMap<>();
  private final Map<String, List<Entry>> entriesByCharge = new HashMap<>();
  private final Map<String, List<Entry>> entriesByMerchantId = new HashMap<>();
  private final Map<String, CallNumbers> numbers = new ConcurrentHashMap<>();
  private final Object lock = new Object();

  /** One refund and its history of events. */
  static final class Entry {
    private final String idempotencyKey;
    private final CallNumbers numbers;
    private final List<WebhookEvent> events = new ArrayList<>(1);
    private volatile Refund refund;
    private volatile boolean everSucceeded;

    private Entry(String idempotencyKey, CallNumbers numbers, Refund refund) {
      this.idempotencyKey = idempotencyKey;
      this.numbers = numbers;
      this.refund = refund;
      everSucceeded = refund.status() == RefundStatus.SUCCEEDED;
    }

    Refund refund() {
      return refund;
    }

    CallNumbers numbers() {
      return numbers;
    }

    /** Keeps an event of this refund, made with the id that it is to have. */
    synchronized WebhookEvent addEvent(Function<String, WebhookEvent> event) {
      String id = refund.id();
      WebhookEvent made =
          event.apply("evt_re" + id.substring(id.indexOf('_')) + "_" + (events.size() + 1));
      events.add(made);
      return made;
    }

    synchronized List<WebhookEvent> events() {
      return List.copyOf(events);
    }

    private SimulatedRefund snapshot() {
      Refund now = refund;
      return new SimulatedRefund(
          now.id(),
          now.merchantRefundId(),
          now.chargeId(),
          now.merchantTransactionId(),
          now.status(),
          now.amountMinor(),
          now.currency(),
          now.failureCode(),
          now.createdAt(),
          idempotencyKey,
          now.status() == RefundStatus.SUCCEEDED,
          everSucceeded,
          numbers.calls());
    }
  }

  /** Why a refund is not made. */
  enum Refusal {
    CHARGE_NOT_PAID,
    CURRENCY_DIFFERS,
    EXCEEDS_CHARGE
  }

  /** Either an entry or why there is none. */
  record Result(@Nullable Entry entry, @Nullable Refusal refusal) {}

  CallNumbers numbers(String merchantRefundId) {
    return numbers.computeIfAbsent(merchantRefundId, id -> new CallNumbers());
  }

  Result create(
      Ledger.Entry charged,
      String merchantRefundId,
      long amountMinor,
      String currency,
      RefundStatus status,
      @Nullable String failureCode,
      String idempotencyKey,
      Instant now) {
    synchronized (lock) {
      Charge charge = charged.charge();
      if (!charge.moneyMoved()) {
        return new Result(null, Refusal.CHARGE_NOT_PAID);
      }
      if (!charge.currency().equals(currency)) {
        return new Result(null, Refusal.CURRENCY_DIFFERS);
      }
      if (amountMinor > charge.amountMinor() - given(charge.id())) {
        return new Result(null, Refusal.EXCEEDS_CHARGE);
      }
      String suffix = charge.id().substring(charge.id().indexOf('_') + 1);
      Refund refund =
          new Refund(
              "re_" + suffix + "_" + Integer.toString(entries.size() + 1, 36),
              merchantRefundId,
              charge.id(),
              charge.merchantTransactionId(),
              status,
              amountMinor,
              currency,
              failureCode,
              now);
      Entry entry = new Entry(idempotencyKey, numbers(merchantRefundId), refund);
      entries.add(entry);
      entriesById.put(refund.id(), entry);
      entriesByCharge.computeIfAbsent(charge.id(), id -> new ArrayList<>(1)).add(entry);
      entriesByMerchantId.computeIfAbsent(merchantRefundId, id -> new ArrayList<>(1)).add(entry);
      return new Result(entry, null);
    }
  }

  /** Moves a refund on; null if it is no longer in the expected status. */
  @Nullable Refund move(
      Entry entry, RefundStatus from, RefundStatus to, @Nullable String failureCode) {
    synchronized (lock) {
      if (entry.refund.status() != from) {
        return null;
      }
      entry.refund = entry.refund.with(to, failureCode);
      if (to == RefundStatus.SUCCEEDED) {
        entry.everSucceeded = true;
      }
      return entry.refund;
    }
  }

  @Nullable Entry find(String refundId) {
    synchronized (lock) {
      return entriesById.get(refundId);
    }
  }

  List<Entry> ofMerchantRefund(String merchantRefundId) {
    synchronized (lock) {
      return List.copyOf(entriesByMerchantId.getOrDefault(merchantRefundId, List.of()));
    }
  }

  List<Entry> ofCharge(String chargeId) {
    synchronized (lock) {
      return List.copyOf(entriesByCharge.getOrDefault(chargeId, List.of()));
    }
  }

  List<SimulatedRefund> refunds() {
    return entries().stream().map(Entry::snapshot).toList();
  }

  /** What of a charge is given back or on its way. */
  long given(String chargeId) {
    synchronized (lock) {
      return entriesByCharge.getOrDefault(chargeId, List.of()).stream()
          .map(Entry::refund)
          .filter(
              refund ->
                  refund.status() == RefundStatus.SUCCEEDED
                      || refund.status() == RefundStatus.PENDING)
          .mapToLong(Refund::amountMinor)
          .sum();
    }
  }

  long idsRefundedTwice() {
    synchronized (lock) {
      return entriesByMerchantId.values().stream()
          .filter(refunds -> refunds.stream().filter(entry -> entry.everSucceeded).count() > 1)
          .count();
    }
  }

  int size() {
    synchronized (lock) {
      return entries.size();
    }
  }

  List<Entry> entries() {
    synchronized (lock) {
      return List.copyOf(entries);
    }
  }
}

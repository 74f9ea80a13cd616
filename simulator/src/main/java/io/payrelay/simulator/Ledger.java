package io.payrelay.simulator;

import java.time.Instant;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * All charges, in memory, in the order of their creation: the truth about money. Thread-safe; a
 * charge's status is guarded by its entry, the order by the list.
 */
final class Ledger {
  private final String idStamp;
  private final List<Entry> entries = new ArrayList<>();
  private final Map<String, Entry> entriesById = new ConcurrentHashMap<>();
  private final Map<String, MerchantTransaction> transactions = new ConcurrentHashMap<>();

  /**
   * @param startedAt goes into the ids, so that a restarted simulator does not give one id to two
   *     charges
   */
  Ledger(Instant startedAt) {
    idStamp = Long.toString(startedAt.toEpochMilli(), 36) + "_";
  }

  /** What is known of one merchant_transaction_id, even before it has a charge. */
  static final class MerchantTransaction {
    private final CallNumbers numbers = new CallNumbers();
    private final List<Entry> charges = new ArrayList<>(1);

    CallNumbers numbers() {
      return numbers;
    }

    synchronized List<Entry> charges() {
      return List.copyOf(charges);
    }

    private synchronized void add(Entry entry) {
      charges.add(entry);
    }
  }

  /** One charge and its history of events. */
  static final class Entry {
    private final int index;
    private final String idempotencyKey;
    private final MerchantTransaction transaction;
    private final List<WebhookEvent> events = new ArrayList<>(1);
    private volatile Charge charge;

    private Entry(
        int index, String idempotencyKey, MerchantTransaction transaction, Charge charge) {
      this.index = index;
      this.idempotencyKey = idempotencyKey;
      this.transaction = transaction;
      this.charge = charge;
    }

    Charge charge() {
      return charge;
    }

    MerchantTransaction transaction() {
      return transaction;
    }

    /** Moves a pending charge on; null if it is no longer pending. */
    synchronized @Nullable Charge settle(ChargeStatus status, @Nullable String failureCode) {
      if (charge.status() != ChargeStatus.PENDING) {
        return null;
      }
      charge = charge.with(status, failureCode);
      return charge;
    }

    /** Keeps an event of this charge, made with the id that it is to have. */
    synchronized WebhookEvent addEvent(Function<String, WebhookEvent> event) {
      String id = charge.id();
      WebhookEvent made =
          event.apply("evt_" + id.substring(id.indexOf('_') + 1) + "_" + (events.size() + 1));
      events.add(made);
      return made;
    }

    synchronized List<WebhookEvent> events() {
      return List.copyOf(events);
    }

    private SimulatedCharge snapshot() {
      Charge now = charge;
      return new SimulatedCharge(
          now.id(),
          now.merchantTransactionId(),
          now.status(),
          now.amountMinor(),
          now.currency(),
          now.payeeAccount(),
          now.failureCode(),
          now.createdAt(),
          idempotencyKey,
          now.moneyMoved(),
          transaction.numbers.calls());
    }
  }

  MerchantTransaction transaction(String merchantTransactionId) {
    return transactions.computeIfAbsent(merchantTransactionId, id -> new MerchantTransaction());
  }

  @Nullable Entry find(String chargeId) {
    return entriesById.get(chargeId);
  }

  /**
   * Keeps a new charge.
   *
   * @param kind how its id begins
   */
  Entry create(
      String kind,
      ChargeRequest request,
      long amountMinor,
      ChargeStatus status,
      @Nullable String failureCode,
      String idempotencyKey,
      Instant now) {
    MerchantTransaction transaction = transaction(request.merchantTransactionId());
    Entry entry;
    synchronized (entries) {
      Charge charge =
          new Charge(
              kind + idStamp + Integer.toString(entries.size() + 1, 36),
              request.merchantTransactionId(),
              status,
              amountMinor,
              request.currency(),
              request.payeeAccount(),
              failureCode,
              now);
      entry = new Entry(entries.size(), idempotencyKey, transaction, charge);
      entries.add(entry);
    }
    entriesById.put(entry.charge().id(), entry);
    transaction.add(entry);
    return entry;
  }

  /**
   * Charges in the order of their creation.
   *
   * @param after the id of the charge to begin behind, null for the start
   */
  List<SimulatedCharge> charges(@Nullable String after, int limit) {
    int from = 0;
    if (after != null) {
      Entry last = find(after);
      if (last == null) {
        throw InvalidRequestException.badRequest("parameter_invalid", "after names no charge");
      }
      from = last.index + 1;
    }
    List<Entry> page;
    synchronized (entries) {
      int to = (int) Math.min(entries.size(), (long) from + limit);
      page = new ArrayList<>(entries.subList(from, to));
    }
    return page.stream().map(Entry::snapshot).toList();
  }

  int size() {
    synchronized (entries) {
      return entries.size();
    }
  }

  Map<ChargeStatus, Long> countsByStatus() {
    Map<ChargeStatus, Long> counts = new EnumMap<>(ChargeStatus.class);
    for (ChargeStatus status : ChargeStatus.values()) {
      counts.put(status, 0L);
    }
    synchronized (entries) {
      entries.forEach(entry -> counts.merge(entry.charge().status(), 1L, Long::sum));
    }
    return counts;
  }

  long idsChargedTwice() {
    return transactions.values().stream()
        .filter(
            transaction ->
                transaction.charges().stream().filter(e -> e.charge().moneyMoved()).count() > 1)
        .count();
  }
}

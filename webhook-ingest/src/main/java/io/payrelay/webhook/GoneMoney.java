package io.payrelay.webhook;

import io.payrelay.payments.lifecycle.Fact;
import io.payrelay.payments.money.Money;
import io.payrelay.providers.UnreadableWebhookException;
import io.payrelay.providers.WebhookAdapter;
import io.payrelay.providers.WebhookEvent;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * What the provider's own events say has left money again that nobody here had asked for, or may
 * still leave it: refunds made at the provider, and disputes. What failed there did not go.
 * Immutable.
 *
 * @param minor in minor units of the money's currency
 * @param eventIds which events say so
 * @param unread events that name the money and that nobody can read: they may say more
 */
public record GoneMoney(long minor, Set<String> eventIds, Set<String> unread) {

  /** Copies the sets. */
  public GoneMoney {
    eventIds = Set.copyOf(eventIds);
    unread = Set.copyOf(unread);
  }

  /**
   * Adds up.
   *
   * @param events that name the money; those of other money among them do not count
   */
  static GoneMoney of(
      List<StoredEvent> events,
      @Nullable WebhookAdapter adapter,
      String transactionId,
      Money money) {
    Sum sum = new Sum(transactionId, money);
    for (StoredEvent event : events) {
      WebhookEvent read = null;
      try {
        read = adapter == null ? null : adapter.read(event.request(), event.receivedAt());
      } catch (UnreadableWebhookException e) {
        // It is told of as unread.
        read = null;
      }
      if (read == null) {
        sum.unread.add(event.eventId());
      } else {
        read.facts().forEach(fact -> sum.add(event.eventId(), fact));
      }
    }
    return sum.total();
  }

  /**
   * One refund or dispute counts once, however many events tell of it, with the most they tell.
   * What failed at the provider, or was won back, did not go.
   */
  private static final class Sum {

    private final String transactionId;
    private final Money money;
    private final Map<String, Movement> movements = new TreeMap<>();
    private final Set<String> unread = new TreeSet<>();

    Sum(String transactionId, Money money) {
      this.transactionId = transactionId;
      this.money = money;
    }

    void add(String eventId, Fact fact) {
      if (!transactionId.equals(fact.providerTransactionId())) {
        return;
      }
      String of = Objects.requireNonNullElse(fact.reference(), "event " + eventId);
      Movement movement = movements.computeIfAbsent(of, any -> new Movement());
      Money amount = fact.amount();
      switch (fact.observation()) {
        case PROVIDER_REFUND, DISPUTED, DISPUTE_LOST -> gone(movement, eventId, fact, amount);
        case PENDING, SUCCEEDED -> {
          if (fact.isAboutRefund()) {
            gone(movement, eventId, fact, amount);
          }
        }
        case DISPUTE_WON -> movement.won = true;
        case FAILED, FAILURE_REPORTED -> movement.failedAt = later(movement.failedAt, fact);
        case UNKNOWN, REFUSED, PAYLOAD_DIFFERS, KEY_REFUSED, UNRESOLVED -> {
          // Not what a webhook says.
        }
      }
    }

    private void gone(Movement movement, String eventId, Fact fact, @Nullable Money amount) {
      movement.goneAt = later(movement.goneAt, fact);
      movement.eventIds.add(eventId);
      if (amount != null && !amount.currency().equals(money.currency())) {
        unread.add(eventId);
      } else {
        // A refund under way whose amount is not told may be of all of it.
        long minor = amount == null ? money.amountMinor() : amount.amountMinor();
        movement.minor = Math.max(movement.minor, minor);
      }
    }

    private static Instant later(Instant known, Fact fact) {
      return fact.observedAt().isAfter(known) ? fact.observedAt() : known;
    }

    GoneMoney total() {
      long minor = 0;
      Set<String> eventIds = new TreeSet<>();
      for (Movement one : movements.values()) {
        if (one.went()) {
          minor = Math.min(money.amountMinor(), minor + Math.min(one.minor, money.amountMinor()));
          eventIds.addAll(one.eventIds);
        }
      }
      return new GoneMoney(minor, eventIds, unread);
    }
  }

  /** What the events tell of one refund or dispute. */
  private static final class Movement {

    private long minor;
    private Instant goneAt = Instant.MIN;
    private Instant failedAt = Instant.MIN;
    private boolean won;
    private final Set<String> eventIds = new TreeSet<>();

    /**
     * Or may still go. Events overtake each other: the provider's own time decides, and of one
     * second the failure, which is what a refund ends with.
     */
    boolean went() {
      return !won && goneAt.isAfter(failedAt);
    }
  }
}

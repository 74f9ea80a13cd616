package io.payrelay.webhook;

import io.payrelay.payments.lifecycle.Fact;
import io.payrelay.payments.money.Money;
import io.payrelay.providers.UnreadableWebhookException;
import io.payrelay.providers.WebhookAdapter;
import io.payrelay.providers.WebhookEvent;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * What the provider's own events say has left money again that nobody here had asked for, or may
 * still leave it: refunds made at the provider, and disputes. Immutable.
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

  /** One refund or dispute counts once, however many events tell of it, with the most they tell. */
  private static final class Sum {

    private final String transactionId;
    private final Money money;
    private final Map<String, Long> gone = new TreeMap<>();
    private final Set<String> won = new TreeSet<>();
    private final Set<String> eventIds = new TreeSet<>();
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
      boolean counts =
          switch (fact.observation()) {
            case PROVIDER_REFUND, DISPUTED, DISPUTE_LOST -> true;
            case PENDING, SUCCEEDED -> fact.isAboutRefund();
            case DISPUTE_WON -> {
              won.add(of);
              yield false;
            }
            case FAILED,
                FAILURE_REPORTED,
                UNKNOWN,
                REFUSED,
                PAYLOAD_DIFFERS,
                KEY_REFUSED,
                UNRESOLVED ->
                false;
          };
      Money amount = fact.amount();
      if (!counts) {
        return;
      }
      eventIds.add(eventId);
      if (amount != null && !amount.currency().equals(money.currency())) {
        unread.add(eventId);
      } else {
        // A refund under way whose amount is not told may be of all of it.
        gone.merge(of, amount == null ? money.amountMinor() : amount.amountMinor(), Math::max);
      }
    }

    GoneMoney total() {
      gone.keySet().removeAll(won);
      long minor = 0;
      for (long one : gone.values()) {
        minor = Math.min(money.amountMinor(), minor + Math.min(one, money.amountMinor()));
      }
      return new GoneMoney(minor, eventIds, unread);
    }
  }
}

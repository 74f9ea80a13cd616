package io.payrelay.payments.ledger;

import io.payrelay.payments.ledger.Entry.Side;
import io.payrelay.payments.money.Money;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A balanced set of entries for one business event. Immutable.
 *
 * @param businessKey unique for the event: booking it again is no second posting
 * @param eventAt when it happened, as far as we were told
 * @param reverses business key of the posting that it takes back, or null
 */
public record Posting(
    String businessKey,
    PostingKind kind,
    String paymentId,
    List<Entry> entries,
    Instant eventAt,
    @Nullable String reverses) {

  /** Checks that the entries balance per currency. */
  public Posting {
    entries = List.copyOf(entries);
    if (entries.size() < 2) {
      throw new IllegalArgumentException("a posting has at least two entries");
    }
    Map<String, Long> sums = new HashMap<>();
    for (Entry entry : entries) {
      long signed = entry.side() == Side.DEBIT ? entry.amountMinor() : -entry.amountMinor();
      sums.merge(entry.account().currency(), signed, Math::addExact);
    }
    if (sums.values().stream().anyMatch(sum -> sum != 0)) {
      throw new IllegalArgumentException("posting " + businessKey + " does not balance");
    }
  }

  /** A posting that takes nothing back. */
  public Posting(
      String businessKey,
      PostingKind kind,
      String paymentId,
      List<Entry> entries,
      Instant eventAt) {
    this(businessKey, kind, paymentId, entries, eventAt, null);
  }

  /** The same, said to take back what is booked under that key. */
  Posting reversing(String key) {
    return new Posting(businessKey, kind, paymentId, entries, eventAt, key);
  }

  /** A posting of one amount from one account to another of the same provider. */
  static Posting of(
      PostingKind kind,
      String businessKey,
      String paymentId,
      String provider,
      Money amount,
      AccountKind debit,
      AccountKind credit,
      Instant eventAt) {
    return new Posting(
        businessKey,
        kind,
        paymentId,
        List.of(
            new Entry(
                new Account(debit, provider, amount.currency()), Side.DEBIT, amount.amountMinor()),
            new Entry(
                new Account(credit, provider, amount.currency()),
                Side.CREDIT,
                amount.amountMinor())),
        eventAt);
  }
}

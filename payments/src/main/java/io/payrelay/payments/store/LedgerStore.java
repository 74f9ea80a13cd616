package io.payrelay.payments.store;

import io.payrelay.payments.ledger.Account;
import io.payrelay.payments.ledger.AccountKind;
import io.payrelay.payments.ledger.Entry;
import io.payrelay.payments.ledger.Posting;
import io.payrelay.payments.ledger.PostingKind;
import io.payrelay.payments.ledger.Postings;
import io.payrelay.payments.lifecycle.RefundLifecycle;
import io.payrelay.payments.money.Money;
import io.payrelay.platform.errors.Category;
import io.payrelay.platform.errors.PayrelayException;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jdbi.v3.core.Handle;

/** Ledger rows, appended only. Stateless, safe for any thread. */
public final class LedgerStore {

  private static final String UNIQUE_VIOLATION = "23505";

  /**
   * What was not booked, because its business key is taken by something else.
   *
   * @param bookedAs what the ledger holds under that key, in words
   */
  record Difference(Posting posting, String bookedAs) {}

  private record Booked(long postingId, String kind, String paymentId, List<String> entries) {

    boolean equalTo(Posting posting) {
      return kind.equals(posting.kind().name()) && entries.equals(lines(posting));
    }

    /** Is it the same money, which only nobody could explain when it came? */
    boolean suspenseOf(Posting posting) {
      return kind.equals(PostingKind.SUSPENSE_CAPTURE.name())
          && posting.kind() == PostingKind.CAPTURE
          && posting.paymentId().equals(paymentId)
          && entries.size() == 2
          && entries.get(0).equals(lines(posting).get(0));
    }

    /** Is it the same refund at the provider? Whose wish it was may be known only later. */
    boolean sameRefund(Posting posting) {
      return isRefund(kind)
          && isRefund(posting.kind().name())
          && entries.size() == 2
          && entries.get(1).equals(lines(posting).get(1));
    }

    private static boolean isRefund(String kind) {
      return kind.equals(PostingKind.REFUND.name())
          || kind.equals(PostingKind.PROVIDER_REFUND.name());
    }
  }

  /**
   * Books the postings. Said again, a posting is no second one; the capture of money that suspense
   * holds moves it from there, so that the ledger and the status agree; and so does a refund of
   * ours that was booked as the provider's own.
   *
   * @return what differs from what is booked under its key, and was not booked: a person's
   * @throws PayrelayException RETRIABLE, with SQLSTATE 23505 as for a unique key, where another
   *     payment's transaction booked the same money in this very moment: done again, the claim is
   *     seen
   */
  List<Difference> append(Handle tx, List<Posting> postings) {
    if (postings.isEmpty()) {
      return List.of();
    }
    Map<String, Posting> byKey = new LinkedHashMap<>();
    postings.forEach(posting -> byKey.putIfAbsent(posting.businessKey(), posting));
    ensureAccounts(tx, postings);
    Set<String> inserted = insert(tx, byKey, Map.of());
    List<Posting> repeated = new ArrayList<>();
    for (Posting posting : postings) {
      // The first of its key, and new, is what was inserted just now.
      if (!inserted.remove(posting.businessKey())) {
        repeated.add(posting);
      }
    }
    if (repeated.isEmpty()) {
      return List.of();
    }
    Map<String, Booked> booked =
        booked(tx, new TreeSet<>(repeated.stream().map(Posting::businessKey).toList()));
    refuseMoneyOfAnother(repeated, booked);
    Map<String, Posting> adjustments = new LinkedHashMap<>();
    Map<String, Long> reversed = new HashMap<>();
    List<Difference> differences = new ArrayList<>();
    for (Posting posting : repeated) {
      Booked there = Objects.requireNonNull(booked.get(posting.businessKey()));
      if (there.suspenseOf(posting)) {
        Posting adjustment = Postings.explained(posting);
        adjustments.putIfAbsent(adjustment.businessKey(), adjustment);
        reversed.put(adjustment.businessKey(), there.postingId());
      } else if (there.sameRefund(posting)) {
        boolean elsewhere = !there.entries().get(0).equals(lines(posting).get(0));
        if (elsewhere && posting.kind() == PostingKind.REFUND) {
          Posting adjustment = Postings.refundExplained(posting);
          adjustments.putIfAbsent(adjustment.businessKey(), adjustment);
          reversed.put(adjustment.businessKey(), there.postingId());
        }
      } else if (!there.equalTo(posting)) {
        differences.add(
            new Difference(posting, there.kind() + " " + String.join(", ", there.entries())));
      }
    }
    if (!adjustments.isEmpty()) {
      insert(tx, adjustments, reversed);
    }
    return differences;
  }

  /** Returns the business keys of those that were not there yet. */
  private static Set<String> insert(
      Handle tx, Map<String, Posting> byKey, Map<String, Long> reversed) {
    Map<String, Posting> reversing = new LinkedHashMap<>();
    Map<String, Posting> others = new LinkedHashMap<>();
    byKey.forEach(
        (key, posting) -> (posting.reverses() == null ? others : reversing).put(key, posting));
    Map<String, Long> ids = insertPostings(tx, others, reversed);
    // What they reverse may have been written a moment ago.
    ids.putAll(insertPostings(tx, reversing, reversed));
    if (ids.isEmpty()) {
      return new HashSet<>();
    }
    insertEntries(tx, byKey, ids);
    return new HashSet<>(ids.keySet());
  }

  private record EntryRow(long postingId, int entryNumber, Entry entry) {}

  private static void insertEntries(Handle tx, Map<String, Posting> byKey, Map<String, Long> ids) {
    List<EntryRow> rows = new ArrayList<>();
    ids.forEach(
        (key, id) -> {
          int number = 1;
          for (Entry entry : Objects.requireNonNull(byKey.get(key)).entries()) {
            rows.add(new EntryRow(id, number++, entry));
          }
        });
    // All entries of a posting in one statement: that is what the table checks.
    tx.createUpdate(
            """
            INSERT INTO payrelay.ledger_entry (posting_id, entry_number, account_id, side, amount_minor, currency)
            SELECT posting_id, entry_number, account_id, side, amount_minor, currency
            FROM unnest(:posting_ids, :entry_numbers, :account_ids, :sides, :amounts, :currencies)
              AS given (posting_id, entry_number, account_id, side, amount_minor, currency)
            """)
        .bindArray("posting_ids", Long.class, Columns.of(rows, EntryRow::postingId))
        .bindArray("entry_numbers", Integer.class, Columns.of(rows, EntryRow::entryNumber))
        .bindArray("account_ids", String.class, Columns.of(rows, row -> row.entry().account().id()))
        .bindArray("sides", String.class, Columns.of(rows, row -> row.entry().side().name()))
        .bindArray("amounts", Long.class, Columns.of(rows, row -> row.entry().amountMinor()))
        .bindArray(
            "currencies", String.class, Columns.of(rows, row -> row.entry().account().currency()))
        .execute();
  }

  private static Map<String, Long> insertPostings(
      Handle tx, Map<String, Posting> byKey, Map<String, Long> reversed) {
    // One statement: a batch of statements that return keys would make a round trip for each.
    List<Posting> postings = List.copyOf(byKey.values());
    Map<String, Long> ids = new LinkedHashMap<>();
    if (postings.isEmpty()) {
      return ids;
    }
    tx.createQuery(
            """
            INSERT INTO payrelay.ledger_posting (business_key, kind, payment_id, reverses_posting_id, event_at)
            SELECT given.business_key, given.kind, given.payment_id, coalesce(given.reversed,
              (SELECT posting_id FROM payrelay.ledger_posting p WHERE p.business_key = given.reverses)), given.event_at
            FROM unnest(:business_keys, :kinds, :payment_ids, :reversed, :reverses, :events_at::timestamptz[])
              AS given (business_key, kind, payment_id, reversed, reverses, event_at)
            ON CONFLICT (business_key) DO NOTHING
            RETURNING business_key, posting_id
            """)
        .bindArray("business_keys", String.class, Columns.of(postings, Posting::businessKey))
        .bindArray("kinds", String.class, Columns.of(postings, posting -> posting.kind().name()))
        .bindArray("payment_ids", String.class, Columns.of(postings, Posting::paymentId))
        .bindArray(
            "reversed",
            Long.class,
            Columns.of(postings, posting -> reversed.get(posting.businessKey())))
        .bindArray("reverses", String.class, Columns.of(postings, Posting::reverses))
        .bindArray(
            "events_at",
            String.class,
            Columns.of(postings, posting -> posting.eventAt().toString()))
        .map((row, context) -> Map.entry(row.getString("business_key"), row.getLong("posting_id")))
        .forEach(entry -> ids.put(entry.getKey(), entry.getValue()));
    return ids;
  }

  private static List<String> lines(Posting posting) {
    return posting.entries().stream()
        .map(entry -> entry.side() + " " + entry.account().id() + " " + entry.amountMinor())
        .toList();
  }

  private static Map<String, Booked> booked(Handle tx, Set<String> businessKeys) {
    Map<String, Booked> booked = new HashMap<>();
    tx.createQuery(
            """
            SELECT p.business_key, p.posting_id, p.kind, coalesce(p.payment_id, '') AS payment_id,
              array_agg(e.side || ' ' || e.account_id || ' ' || e.amount_minor ORDER BY e.entry_number) AS entries
            FROM payrelay.ledger_posting p JOIN payrelay.ledger_entry e USING (posting_id)
            WHERE p.business_key = ANY (:keys)
            GROUP BY p.posting_id
            """)
        .bindArray("keys", String.class, businessKeys)
        .map(
            (row, context) ->
                Map.entry(
                    row.getString("business_key"),
                    new Booked(
                        row.getLong("posting_id"),
                        row.getString("kind"),
                        row.getString("payment_id"),
                        List.of((String[]) row.getArray("entries").getArray()))))
        .forEach(entry -> booked.put(entry.getKey(), entry.getValue()));
    return booked;
  }

  /** Which payment each of the captures of those business keys is booked for. */
  Map<String, String> capturedFor(Handle tx, Collection<String> businessKeys) {
    Map<String, String> paymentIds = new HashMap<>();
    if (!businessKeys.isEmpty()) {
      tx.createQuery(
              """
              SELECT business_key, payment_id FROM payrelay.ledger_posting
              WHERE business_key = ANY (:keys) AND payment_id IS NOT NULL
              """)
          .bindArray("keys", String.class, businessKeys)
          .map((row, context) -> Map.entry(row.getString(1), row.getString(2)))
          .forEach(entry -> paymentIds.put(entry.getKey(), entry.getValue()));
    }
    return paymentIds;
  }

  /**
   * Which of the payments have money here, as their own or in suspense: more came in for them than
   * was given back or lost. What an open dispute holds may still come back.
   */
  Set<String> withMoney(Handle tx, Collection<String> paymentIds) {
    // Each posting debits one account with its amount.
    return new HashSet<>(
        tx.createQuery(
                """
                SELECT p.payment_id
                FROM payrelay.ledger_posting p
                JOIN payrelay.ledger_entry e ON e.posting_id = p.posting_id AND e.side = 'DEBIT'
                JOIN payrelay.ledger_account a ON a.account_id = e.account_id
                WHERE p.payment_id = ANY (:ids)
                GROUP BY p.payment_id, a.provider, e.currency
                HAVING coalesce(sum(e.amount_minor) FILTER (WHERE p.kind IN ('CAPTURE', 'SUSPENSE_CAPTURE', 'REFUND_RETURNED')), 0)
                  - coalesce(sum(e.amount_minor) FILTER (WHERE p.kind IN ('REFUND', 'PROVIDER_REFUND')), 0)
                  - greatest(0, coalesce(sum(e.amount_minor) FILTER (WHERE p.kind = 'DISPUTE_LOST'), 0)
                    - coalesce(sum(e.amount_minor) FILTER (WHERE p.kind = 'DISPUTE_WON'), 0)) > 0
                """)
            .bindArray("ids", String.class, paymentIds)
            .mapTo(String.class)
            .list());
  }

  /** Which of the captures with those business keys are money that no payment explains. */
  Set<String> inSuspense(Handle tx, Collection<String> businessKeys) {
    return new HashSet<>(
        tx.createQuery(
                """
                SELECT p.business_key FROM payrelay.ledger_posting p
                WHERE p.business_key = ANY (:keys) AND p.kind = 'SUSPENSE_CAPTURE'
                  AND NOT EXISTS (SELECT FROM payrelay.ledger_posting x
                    WHERE x.business_key = 'adjust:' || p.business_key)
                """)
            .bindArray("keys", String.class, businessKeys)
            .mapTo(String.class)
            .list());
  }

  /** The refunds booked under those business keys, without those that came back. */
  Map<String, RefundLifecycle.Booked> refunds(Handle tx, Collection<String> businessKeys) {
    Map<String, RefundLifecycle.Booked> booked = new HashMap<>();
    tx.createQuery(
            """
            SELECT p.business_key, e.amount_minor, e.currency,
              CASE WHEN EXISTS (SELECT FROM payrelay.ledger_posting x
                WHERE x.business_key = 'adjust:' || p.business_key) THEN 'SUSPENSE' ELSE a.kind END AS against
            FROM payrelay.ledger_posting p
            JOIN payrelay.ledger_entry e ON e.posting_id = p.posting_id AND e.side = 'DEBIT'
            JOIN payrelay.ledger_account a ON a.account_id = e.account_id
            WHERE p.business_key = ANY (:keys) AND p.kind IN ('REFUND', 'PROVIDER_REFUND')
              AND NOT EXISTS (SELECT FROM payrelay.ledger_posting x
                WHERE x.business_key = 'returned:' || p.business_key)
            """)
        .bindArray("keys", String.class, businessKeys)
        .map(
            (row, context) ->
                Map.entry(
                    row.getString("business_key"),
                    new RefundLifecycle.Booked(
                        AccountKind.valueOf(row.getString("against")),
                        new Money(row.getLong("amount_minor"), row.getString("currency")))))
        .forEach(entry -> booked.put(entry.getKey(), entry.getValue()));
    return booked;
  }

  /** Which of the refunds under those business keys came back. */
  Set<String> returned(Handle tx, Collection<String> businessKeys) {
    return tx.createQuery(
            """
            SELECT substr(business_key, 10) FROM payrelay.ledger_posting
            WHERE business_key IN (SELECT 'returned:' || key FROM unnest(:keys) AS key)
            """)
        .bindArray("keys", String.class, businessKeys)
        .mapTo(String.class)
        .set();
  }

  private static void refuseMoneyOfAnother(List<Posting> repeated, Map<String, Booked> booked) {
    for (Posting posting : repeated) {
      // What money came in belongs to one payment; where it went to later may be told of several.
      boolean capture =
          posting.kind() == PostingKind.CAPTURE || posting.kind() == PostingKind.SUSPENSE_CAPTURE;
      Booked there = Objects.requireNonNull(booked.get(posting.businessKey()));
      if (capture && !posting.paymentId().equals(there.paymentId())) {
        throw new PayrelayException(
            Category.RETRIABLE,
            "posting " + posting.businessKey() + " was just booked for another payment",
            new SQLException("booked for another payment", UNIQUE_VIOLATION));
      }
    }
  }

  private static void ensureAccounts(Handle tx, List<Posting> postings) {
    Map<String, Account> accounts = new TreeMap<>();
    for (Posting posting : postings) {
      posting.entries().forEach(entry -> accounts.put(entry.account().id(), entry.account()));
    }
    List<Account> rows = List.copyOf(accounts.values());
    tx.createUpdate(
            """
            INSERT INTO payrelay.ledger_account (account_id, kind, provider, currency)
            SELECT account_id, kind, provider, currency
            FROM unnest(:account_ids, :kinds, :providers, :currencies)
              AS given (account_id, kind, provider, currency)
            WHERE NOT EXISTS (SELECT FROM payrelay.ledger_account there WHERE there.account_id = given.account_id)
            ON CONFLICT (account_id) DO NOTHING
            """)
        .bindArray("account_ids", String.class, Columns.of(rows, Account::id))
        .bindArray("kinds", String.class, Columns.of(rows, account -> account.kind().name()))
        .bindArray("providers", String.class, Columns.of(rows, Account::provider))
        .bindArray("currencies", String.class, Columns.of(rows, Account::currency))
        .execute();
  }
}

package io.payrelay.payments.store;

import io.payrelay.payments.ledger.Account;
import io.payrelay.payments.ledger.Entry;
import io.payrelay.payments.ledger.Posting;
import io.payrelay.payments.ledger.PostingKind;
import io.payrelay.platform.errors.Category;
import io.payrelay.platform.errors.PayrelayException;
import java.sql.SQLException;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.jdbi.v3.core.Handle;
import org.jdbi.v3.core.statement.PreparedBatch;

/** Ledger rows, appended only. Stateless, safe for any thread. */
public final class LedgerStore {

  private static final String UNIQUE_VIOLATION = "23505";

  /**
   * Books the postings; one whose business key is booked already is not booked again.
   *
   * @throws PayrelayException RETRIABLE, with SQLSTATE 23505 as for a unique key, where another
   *     payment's transaction booked the same money in this very moment: done again, the claim is
   *     seen
   */
  public void append(Handle tx, List<Posting> postings) {
    if (postings.isEmpty()) {
      return;
    }
    Map<String, Posting> byKey = new LinkedHashMap<>();
    postings.forEach(posting -> byKey.putIfAbsent(posting.businessKey(), posting));
    ensureAccounts(tx, postings);
    Map<String, Long> ids = insertPostings(tx, byKey);
    refuseMoneyOfAnother(tx, byKey, ids);
    PreparedBatch entries =
        tx.prepareBatch(
            """
            INSERT INTO payrelay.ledger_entry (posting_id, entry_number, account_id, side, amount_minor, currency)
            VALUES (:posting_id, :entry_number, :account_id, :side, :amount_minor, :currency)
            """);
    byKey.forEach(
        (key, posting) -> {
          Long id = ids.get(key);
          if (id == null) {
            return;
          }
          int number = 1;
          for (Entry entry : posting.entries()) {
            entries
                .bind("posting_id", id)
                .bind("entry_number", number++)
                .bind("account_id", entry.account().id())
                .bind("side", entry.side().name())
                .bind("amount_minor", entry.amountMinor())
                .bind("currency", entry.account().currency())
                .add();
          }
        });
    if (!ids.isEmpty()) {
      entries.execute();
    }
  }

  private static Map<String, Long> insertPostings(Handle tx, Map<String, Posting> byKey) {
    PreparedBatch batch =
        tx.prepareBatch(
            """
            INSERT INTO payrelay.ledger_posting (business_key, kind, payment_id, event_at)
            VALUES (:business_key, :kind, :payment_id, :event_at)
            ON CONFLICT (business_key) DO NOTHING
            """);
    for (Posting posting : byKey.values()) {
      batch
          .bind("business_key", posting.businessKey())
          .bind("kind", posting.kind().name())
          .bind("payment_id", posting.paymentId())
          .bind("event_at", OffsetDateTime.ofInstant(posting.eventAt(), ZoneOffset.UTC))
          .add();
    }
    Map<String, Long> ids = new HashMap<>();
    batch
        .executePreparedBatch("business_key", "posting_id")
        .map((row, context) -> Map.entry(row.getString("business_key"), row.getLong("posting_id")))
        .forEach(entry -> ids.put(entry.getKey(), entry.getValue()));
    return ids;
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

  /** Which of the payments have money booked, as their own or in suspense. */
  Set<String> withMoney(Handle tx, Collection<String> paymentIds) {
    return new HashSet<>(
        tx.createQuery(
                """
                SELECT DISTINCT payment_id FROM payrelay.ledger_posting
                WHERE payment_id = ANY (:ids) AND kind IN ('CAPTURE', 'SUSPENSE_CAPTURE')
                """)
            .bindArray("ids", String.class, paymentIds)
            .mapTo(String.class)
            .list());
  }

  private void refuseMoneyOfAnother(
      Handle tx, Map<String, Posting> byKey, Map<String, Long> inserted) {
    Map<String, Posting> there = new HashMap<>(byKey);
    there.keySet().removeAll(inserted.keySet());
    // What money came in belongs to one payment; where it went to later may be told of several.
    there
        .values()
        .removeIf(
            posting ->
                posting.kind() != PostingKind.CAPTURE
                    && posting.kind() != PostingKind.SUSPENSE_CAPTURE);
    Map<String, String> owners = capturedFor(tx, there.keySet());
    there.forEach(
        (key, posting) -> {
          if (!posting.paymentId().equals(owners.getOrDefault(key, posting.paymentId()))) {
            throw new PayrelayException(
                Category.RETRIABLE,
                "posting " + key + " was just booked for another payment",
                new SQLException("booked for another payment", UNIQUE_VIOLATION));
          }
        });
  }

  private static void ensureAccounts(Handle tx, List<Posting> postings) {
    Map<String, Account> accounts = new TreeMap<>();
    for (Posting posting : postings) {
      posting.entries().forEach(entry -> accounts.put(entry.account().id(), entry.account()));
    }
    PreparedBatch batch =
        tx.prepareBatch(
            """
            INSERT INTO payrelay.ledger_account (account_id, kind, provider, currency)
            SELECT :account_id, :kind, :provider, :currency
            WHERE NOT EXISTS (SELECT FROM payrelay.ledger_account WHERE account_id = :account_id)
            ON CONFLICT (account_id) DO NOTHING
            """);
    accounts.forEach(
        (id, account) ->
            batch
                .bind("account_id", id)
                .bind("kind", account.kind().name())
                .bind("provider", account.provider())
                .bind("currency", account.currency())
                .add());
    batch.execute();
  }
}

package io.payrelay.payments.store;

import io.payrelay.payments.ledger.Account;
import io.payrelay.payments.ledger.Entry;
import io.payrelay.payments.ledger.Posting;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jdbi.v3.core.Handle;
import org.jdbi.v3.core.statement.PreparedBatch;

/** Ledger rows, appended only. Stateless, safe for any thread. */
public final class LedgerStore {

  /** Books the postings; one whose business key is booked already is not booked again. */
  public void append(Handle tx, List<Posting> postings) {
    if (postings.isEmpty()) {
      return;
    }
    Map<String, Posting> byKey = new LinkedHashMap<>();
    postings.forEach(posting -> byKey.putIfAbsent(posting.businessKey(), posting));
    ensureAccounts(tx, postings);
    Map<String, Long> ids = insertPostings(tx, byKey);
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

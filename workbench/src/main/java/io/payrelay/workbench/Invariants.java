package io.payrelay.workbench;

import io.payrelay.simulator.ProviderSimulator;
import io.payrelay.simulator.SimulatedCharge;
import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jdbi.v3.core.Handle;
import org.jdbi.v3.core.Jdbi;
import org.jdbi.v3.core.transaction.TransactionIsolationLevel;

/**
 * Everything that must hold after any run, with whatever faults, as README.md promises: the one
 * place. Used by the demo and by every system test. Stateless but for its database.
 */
public final class Invariants {

  /** All tables of a judgement are read as of one moment. */
  private static final TransactionIsolationLevel ONE_STATE =
      TransactionIsolationLevel.REPEATABLE_READ;

  private final Jdbi owner;

  /** Reads the database as a user that may see all of it. */
  public Invariants(Jdbi owner) {
    this.owner = owner;
  }

  private record PaymentRow(String id, String status, String transactionId) {}

  private record Change(String paymentId, long version) {}

  /** How many payments have not ended. */
  public long unresolved() {
    return owner.withHandle(
        handle ->
            count(
                handle,
                "SELECT count(*) FROM payrelay.payment WHERE status NOT IN ('SUCCEEDED', 'FAILED')"));
  }

  /**
   * What is on its way still and could change a ledger or bring an event.
   *
   * @param payments without an end
   * @param refunds without an end
   * @param parked webhooks that wait for their payment
   * @param calls to the provider whose lease runs
   * @param events changes of payments and refunds that no event has told yet
   * @param questions refunds that had succeeded, and the provider is asked whether their money came
   *     back
   */
  record Moving(long payments, long refunds, long parked, long calls, long events, long questions) {

    boolean nothing() {
      return payments + refunds + parked + calls + events + questions == 0;
    }

    @Override
    public String toString() {
      return "%d payments and %d refunds open, %d webhooks parked, %d calls, %d events, %d questions on their way"
          .formatted(payments, refunds, parked, calls, events, questions);
    }
  }

  /** Counts what is still moving; polls the topics first. */
  Moving moving(StatusTopic payments, StatusTopic refunds, Duration poll) {
    drain(payments, poll);
    drain(refunds, poll);
    return owner.inTransaction(
        ONE_STATE,
        handle ->
            new Moving(
                count(
                    handle,
                    "SELECT count(*) FROM payrelay.payment WHERE status NOT IN ('SUCCEEDED', 'FAILED')"),
                RefundInvariants.unresolved(handle),
                count(
                    handle,
                    "SELECT count(*) FROM payrelay.provider_event WHERE disposition = 'PARKED'"),
                count(
                    handle,
                    """
                    SELECT count(*) FROM payrelay.attempt
                    WHERE finished_at IS NULL AND lease_until > clock_timestamp()
                    """),
                missing(handle, payments) + RefundInvariants.missing(handle, refunds),
                count(
                    handle,
                    """
                    SELECT count(*) FROM payrelay.operation o JOIN payrelay.refund r USING (refund_id)
                    WHERE r.status = 'SUCCEEDED' AND o.next_action = 'QUERY'
                      AND o.hinted_at > r.updated_at
                    """)));
  }

  /** Whether nothing is {@link #moving} any more. */
  public boolean atRest(StatusTopic payments, StatusTopic refunds, Duration poll) {
    return moving(payments, refunds, poll).nothing();
  }

  private static void drain(StatusTopic topic, Duration poll) {
    while (topic.poll(poll) > 0) {
      // Until a poll brings nothing.
    }
  }

  /** Changes of status that have no event yet; polls the topic first. */
  public long missingStatusEvents(StatusTopic topic, Duration poll) {
    drain(topic, poll);
    return owner.withHandle(handle -> missing(handle, topic));
  }

  /**
   * Counts everything, in a run without refunds.
   *
   * @param charges the provider's own ledger
   * @param topic read up to its end by the caller
   */
  public Report check(List<SimulatedCharge> charges, StatusTopic topic, Duration elapsed) {
    return owner.inTransaction(
        ONE_STATE, handle -> check(handle, charges, topic, RefundCounts.NONE, elapsed));
  }

  /**
   * Counts everything, refunds too, once it is {@link #atRest}.
   *
   * @param provider its ledgers
   */
  public Report check(
      ProviderSimulator provider, StatusTopic topic, StatusTopic refunds, Duration elapsed) {
    RefundInvariants.AtProvider atProvider = RefundInvariants.AtProvider.of(provider);
    return owner.inTransaction(
        ONE_STATE,
        handle ->
            check(
                handle,
                provider.charges(),
                topic,
                RefundInvariants.check(handle, atProvider, refunds),
                elapsed));
  }

  private static Report check(
      Handle handle,
      List<SimulatedCharge> charges,
      StatusTopic topic,
      RefundCounts refunds,
      Duration elapsed) {
    Map<String, PaymentRow> payments = new HashMap<>();
    handle
        .createQuery("SELECT payment_id, status, provider_transaction_id FROM payrelay.payment")
        .map((row, context) -> new PaymentRow(row.getString(1), row.getString(2), row.getString(3)))
        .forEach(payment -> payments.put(payment.id(), payment));
    Map<String, Integer> moved = new HashMap<>();
    Set<String> movedTransactions = new HashSet<>();
    for (SimulatedCharge charge : charges) {
      if (charge.moneyMoved()) {
        moved.merge(charge.merchantTransactionId(), 1, Integer::sum);
        movedTransactions.add(charge.id());
      }
    }
    long succeeded = withStatus(payments, "SUCCEEDED");
    long failed = withStatus(payments, "FAILED");
    long chargedButNotSucceeded =
        moved.keySet().stream()
            .filter(
                id -> !payments.containsKey(id) || !payments.get(id).status().equals("SUCCEEDED"))
            .count();
    long succeededButNotCharged =
        payments.values().stream()
            .filter(payment -> payment.status().equals("SUCCEEDED"))
            .filter(payment -> !movedTransactions.contains(payment.transactionId()))
            .count();
    Set<String> lateSuccesses =
        Set.copyOf(
            handle
                .createQuery(
                    "SELECT payment_id FROM payrelay.exception_case WHERE kind = 'LATE_SUCCESS' AND payment_id IS NOT NULL")
                .mapTo(String.class)
                .list());
    long failedButCharged =
        payments.values().stream()
            .filter(payment -> payment.status().equals("FAILED") && moved.containsKey(payment.id()))
            .filter(payment -> !lateSuccesses.contains(payment.id()))
            .count();
    return new Report(
        payments.size(),
        succeeded,
        failed,
        payments.size() - succeeded - failed,
        movedTransactions.size(),
        moved.values().stream().mapToLong(count -> count - 1L).sum(),
        chargedButNotSucceeded,
        succeededButNotCharged,
        failedButCharged,
        topic.events(),
        topic.duplicates(),
        missing(handle, topic),
        topic.outOfOrder(),
        unbalanced(handle),
        ledgerDifferences(handle, charges),
        RefundInvariants.otherCases(handle),
        count(handle, "SELECT count(*) FROM payrelay.provider_event"),
        refunds,
        elapsed.toMillis() / 1000.0);
  }

  private static long withStatus(Map<String, PaymentRow> payments, String status) {
    return payments.values().stream().filter(payment -> payment.status().equals(status)).count();
  }

  private static long missing(Handle handle, StatusTopic topic) {
    return handle
        .createQuery(
            "SELECT payment_id, version FROM payrelay.payment_event WHERE version IS NOT NULL AND version > 1")
        .map((row, context) -> new Change(row.getString(1), row.getLong(2)))
        .stream()
        .filter(change -> topic.count(change.paymentId(), change.version()) == 0)
        .count();
  }

  private static long unbalanced(Handle handle) {
    return count(
        handle,
        """
        SELECT count(*) FROM payrelay.ledger_posting p WHERE
          (SELECT count(*) FROM payrelay.ledger_entry e WHERE e.posting_id = p.posting_id) < 2
          OR EXISTS (SELECT FROM payrelay.ledger_entry e WHERE e.posting_id = p.posting_id
            GROUP BY e.currency
            HAVING sum(CASE e.side WHEN 'DEBIT' THEN e.amount_minor ELSE -e.amount_minor END) <> 0)
        """);
  }

  /** The ledger's captures against the provider's moved money, transaction by transaction. */
  private static long ledgerDifferences(Handle handle, List<SimulatedCharge> charges) {
    BookedMoney booked = BookedMoney.of(handle, "CAPTURE,SUSPENSE_CAPTURE");
    long differences = 0;
    for (SimulatedCharge charge : charges) {
      if (charge.moneyMoved()) {
        differences += booked.settle(charge.id(), charge.amountMinor() + charge.currency());
      }
    }
    return differences + booked.left();
  }

  private static long count(Handle handle, String sql) {
    return handle.createQuery(sql).mapTo(Long.class).one();
  }
}

package io.payrelay.app;

import io.payrelay.payments.lifecycle.Payment;
import io.payrelay.payments.store.CaseDesk;
import io.payrelay.payments.store.CaseResolution;
import io.payrelay.payments.store.CaseStore;
import io.payrelay.payments.store.OperatorAction;
import io.payrelay.payments.store.OperatorActionStore;
import io.payrelay.payments.store.PaymentStore;
import io.payrelay.payments.store.Person;
import io.payrelay.payments.store.QueryRequests;
import io.payrelay.payments.store.StoredCase;
import io.payrelay.platform.database.LockLimit;
import io.payrelay.platform.errors.Category;
import io.payrelay.platform.errors.Failures;
import io.payrelay.platform.errors.PayrelayException;
import io.payrelay.webhook.WebhookDesk;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.jdbi.v3.core.Handle;
import org.jdbi.v3.core.Jdbi;
import org.jdbi.v3.core.JdbiException;
import org.jspecify.annotations.Nullable;

/**
 * Transactions around what people do: the deed, what follows from it and its record are one; what
 * was refused is recorded too. Safe for any thread.
 */
final class CaseOffice {

  /** A race for a provider transaction: done again, the other's claim is seen. */
  private static final int TRIES_MAX = 3;

  private static final long POLL_MS = 200;

  /** Longer than any transaction of ours; others may be open for hours. */
  private static final Duration LOCK_LIMIT = Duration.ofSeconds(10);

  private final Jdbi jdbi;
  private final WebhookDesk webhooks;
  private final InstantSource clock;
  private final CaseDesk desk = new CaseDesk();
  private final CaseStore cases = new CaseStore();
  private final PaymentStore payments = new PaymentStore();
  private final QueryRequests queries = new QueryRequests();
  private final OperatorActionStore actions = new OperatorActionStore();

  /** What was done, and what the provider was asked, where it was. */
  record Done(CaseDesk.Resolved resolved, List<String> sentences) {}

  /**
   * How a question ended.
   *
   * @param answer null where none came in time
   */
  record Answered(QueryRequests.Asked asked, QueryRequests.@Nullable Answer answer, String status) {

    boolean ended() {
      return QueryRequests.isEnd(asked, status);
    }
  }

  CaseOffice(Jdbi jdbi, WebhookDesk webhooks, InstantSource clock) {
    this.jdbi = jdbi;
    this.webhooks = webhooks;
    this.clock = clock;
  }

  /** Resolves, or throws with a sentence after the refusal was recorded. */
  Done resolve(long caseId, CaseResolution resolution, Person person) {
    for (int tries = 1; ; tries++) {
      try {
        return jdbi.inTransaction(
            tx -> {
              LockLimit.set(tx, LOCK_LIMIT);
              return resolve(tx, caseId, resolution, person);
            });
      } catch (RuntimeException e) {
        String state = Failures.sqlState(e);
        boolean race = state != null && (state.equals("23505") || state.startsWith("40"));
        if (!race || tries >= TRIES_MAX) {
          throw refused(e, caseId, resolution, person);
        }
      }
    }
  }

  private Done resolve(Handle tx, long caseId, CaseResolution resolution, Person person) {
    StrayRefund stray =
        StrayRefund.bounded(tx, webhooks, cases.find(tx, caseId).orElse(null), resolution);
    CaseDesk.Resolved resolved =
        desk.resolve(tx, caseId, stray.resolution(), person, clock.instant());
    List<String> sentences = new ArrayList<>(stray.sentences());
    sentences.addAll(resolved.did());
    CaseDesk.Adopted adopted = resolved.adopted();
    if (adopted != null) {
      List<String> due =
          webhooks.makeDue(
              tx, adopted.provider(), adopted.namedPaymentId(), adopted.providerTransactionId());
      sentences.add(
          "%d webhook events of it will be applied by the next look of an ingest"
              .formatted(due.size()));
    }
    return new Done(resolved, sentences);
  }

  private RuntimeException refused(
      RuntimeException failure, long caseId, CaseResolution resolution, Person person) {
    if (Failures.waitedForALock(failure)) {
      return new PayrelayException(
          Category.RETRIABLE,
          "Somebody holds what case %d is about, as a transaction does that stays open after request_refund: end it (pg_stat_activity shows it) and try again. Nothing was changed"
              .formatted(caseId),
          failure);
    }
    RuntimeException told = failure instanceof JdbiException ? SqlSentences.of(failure) : failure;
    if (Failures.categoryOf(told) != Category.REJECTED) {
      return told;
    }
    jdbi.useTransaction(
        tx -> {
          Optional<StoredCase> found = cases.find(tx, caseId);
          if (found.isPresent()) {
            actions.append(
                tx,
                OperatorAction.of(
                        CaseDesk.command(resolution.action()),
                        person,
                        "refused: " + told.getMessage())
                    .about(caseId, found.get().paymentId())
                    .with(resolution.arguments()));
          }
        });
    return told;
  }

  /** Asks about one payment on demand. */
  QueryRequests.Asked ask(String paymentId, Person person) {
    return jdbi.inTransaction(
        tx -> {
          LockLimit.set(tx, LOCK_LIMIT);
          Payment payment = payments.lock(tx, List.of(paymentId)).get(paymentId);
          if (payment == null) {
            throw new PayrelayException(Category.REJECTED, "There is no payment " + paymentId);
          }
          QueryRequests.Asked asked = queries.ask(tx, payment);
          actions.append(
              tx,
              OperatorAction.of("payment query", person, "asked " + payment.provider())
                  .about(null, paymentId));
          return asked;
        });
  }

  /** Waits for what the provider says. */
  Answered await(QueryRequests.Asked asked, Duration limit) throws InterruptedException {
    long deadlineNs = System.nanoTime() + limit.toNanos();
    CountDownLatch never = new CountDownLatch(1);
    while (true) {
      Optional<QueryRequests.Answer> answer = jdbi.withHandle(tx -> queries.answer(tx, asked));
      long leftMs = TimeUnit.NANOSECONDS.toMillis(deadlineNs - System.nanoTime());
      if (answer.isPresent()
          || leftMs <= 0
          || never.await(Math.min(POLL_MS, leftMs), TimeUnit.MILLISECONDS)) {
        String status = jdbi.withHandle(tx -> queries.status(tx, asked));
        return new Answered(asked, answer.orElse(null), status);
      }
    }
  }

  /** Resolves the case whose question found the end. */
  void closeAnswered(long caseId, Answered answered, Person person) {
    jdbi.useTransaction(
        tx -> desk.closeAnswered(tx, caseId, answered.asked(), answered.status(), person));
  }
}

package io.payrelay.workbench;

import io.payrelay.platform.errors.Category;
import io.payrelay.platform.errors.PayrelayException;
import io.payrelay.platform.kafka.KafkaConfig;
import java.time.Duration;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import org.jdbi.v3.core.Jdbi;

/**
 * One run: makes the payments, gives some back, waits for their ends and their events, counts.
 * Belongs to one thread.
 */
final class DemoRun {

  private static final Duration POLL = Duration.ofMillis(200);

  /** How long a webhook on its way is waited for when all else is at rest. */
  private static final Duration WEBHOOKS_LIMIT = Duration.ofSeconds(30);

  private final Stack stack;
  private final int payments;
  private final long seed;
  private final Duration timeout;
  private final Progress progress;
  private final Jdbi owner;
  private long atRestNs = Long.MAX_VALUE;

  DemoRun(Stack stack, int payments, long seed, Duration timeout, Progress progress) {
    this.stack = stack;
    this.payments = payments;
    this.seed = seed;
    this.timeout = timeout;
    this.progress = progress;
    this.owner = stack.owner();
  }

  Report run() {
    long startNs = System.nanoTime();
    long deadlineNs = startNs + timeout.toNanos();
    Invariants invariants = new Invariants(owner);
    KafkaConfig kafka = new KafkaConfig(stack.infra().kafka().bootstrapServers(), Map.of());
    try (StatusTopic topic = new StatusTopic(kafka);
        StatusTopic refunds = StatusTopic.ofRefunds(kafka)) {
      Shop shop = new Shop(stack.infra().postgres().jdbcUrl(), seed);
      Refunding refunding = new Refunding(owner, shop);
      CompletableFuture<Void> making = CompletableFuture.runAsync(() -> shop.order(payments));
      while (System.nanoTime() - deadlineNs < 0
          && !(making.isDone()
              && refunding.ask() == 0
              && invariants.unresolved() == 0
              && invariants.atRest(topic, refunds, POLL)
              && noWebhookComes())) {
        refuseIfEnded();
        // Reading the topic is the wait: it returns as soon as something happened.
        topic.poll(POLL);
        progress.counts(payments, counts());
      }
      making.join();
      return invariants.check(
          stack.simulator(), topic, refunds, Duration.ofNanos(System.nanoTime() - startNs));
    }
  }

  /** Only what is at rest can be judged: a webhook on its way may still move a ledger. */
  private boolean noWebhookComes() {
    if (stack.simulator().stats().webhooksOnTheirWay() <= 0) {
      return true;
    }
    long nowNs = System.nanoTime();
    atRestNs = atRestNs == Long.MAX_VALUE ? nowNs : atRestNs;
    return nowNs - atRestNs > WEBHOOKS_LIMIT.toNanos();
  }

  private void refuseIfEnded() {
    if (stack.ended().isDone()) {
      String cause =
          stack
              .ended()
              .handle((ended, failure) -> failure == null ? "it stopped" : failure.toString())
              .join();
      throw new PayrelayException(Category.FATAL, "A part of the system has ended: " + cause);
    }
  }

  private Map<String, Long> counts() {
    Map<String, Long> counts = new TreeMap<>();
    owner.useHandle(
        handle ->
            handle
                .createQuery("SELECT status, count(*) FROM payrelay.payment GROUP BY status")
                .map((row, context) -> Map.entry(row.getString(1), row.getLong(2)))
                .forEach(entry -> counts.put(entry.getKey(), entry.getValue())));
    return counts;
  }
}

package io.payrelay.simulator;

import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Semaphore;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Tells the client of each change, with retries, losses and doubles. Asynchronous and bounded: at
 * most the configured number of deliveries is on the way, the others wait in a queue. Thread-safe.
 */
final class WebhookSender implements AutoCloseable {
  private static final Logger log = LoggerFactory.getLogger(WebhookSender.class);
  private static final int THREADS = 2;
  // Beyond the settlement of a pending charge, so that its next event overtakes.
  private static final Duration REORDER_MARGIN = Duration.ofMillis(300);

  private final SimulatorConfig config;
  private final FaultPlan plan;
  private final Scripts<WebhookFault> scripts;
  private final Counters counters;
  private final DelayedTasks tasks;
  private final WebhookSigner signer;
  private final ExecutorService executor;
  private final HttpClient client;
  private final Semaphore permits;
  private final Queue<Delivery> queue = new ConcurrentLinkedQueue<>();
  private volatile @Nullable URI target;
  private volatile boolean closed;

  /** One attempt, counted from 0, to deliver one event. */
  private record Delivery(WebhookEvent event, int attempt) {}

  WebhookSender(
      SimulatorConfig config,
      FaultPlan plan,
      Scripts<WebhookFault> scripts,
      Counters counters,
      DelayedTasks tasks) {
    this.config = config;
    this.plan = plan;
    this.scripts = scripts;
    this.counters = counters;
    this.tasks = tasks;
    signer = WebhookSigner.withSecret(config.webhookSecret());
    executor =
        Executors.newFixedThreadPool(
            THREADS,
            task -> {
              Thread thread = new Thread(task, "simulator-webhook");
              thread.setDaemon(true);
              return thread;
            });
    client =
        HttpClient.newBuilder()
            .version(HttpClient.Version.HTTP_1_1)
            .connectTimeout(config.webhookTimeout())
            .executor(executor)
            .build();
    permits = new Semaphore(config.webhookConcurrency());
    target = config.webhookUrl();
  }

  void target(@Nullable URI newTarget) {
    target = newTarget;
  }

  /** Announces the state that the charge has just reached. */
  void publish(Ledger.Entry entry, Charge changed) {
    WebhookEvent event = entry.addEvent(changed, config.clock().instant());
    counters.webhookEvents.increment();
    String id = changed.merchantTransactionId();
    int number = entry.transaction().nextEvent();
    WebhookFault scripted = scripts.next(id);
    WebhookFault fault = scripted == null ? plan.webhook(id, number) : scripted;
    counters.count(fault);
    switch (fault) {
      case NONE -> enqueue(event);
      case LOST -> log.debug("webhook lost on purpose event_id={}", event.id());
      case DOUBLED -> {
        enqueue(event);
        enqueue(event);
      }
      case DOUBLED_OTHER_ID -> {
        enqueue(event);
        enqueue(event.withId(event.id() + "_again"));
      }
      case REORDERED ->
          tasks.after(config.pendingSettleDelay().plus(REORDER_MARGIN), () -> enqueue(event));
      case LATE -> tasks.after(config.webhookLateDelay(), () -> enqueue(event));
    }
  }

  /** Sends events again, as an operator of the provider would; no faults. */
  void redeliver(List<WebhookEvent> events) {
    events.forEach(this::enqueue);
  }

  @Override
  public void close() {
    closed = true;
    queue.clear();
    executor.shutdownNow();
  }

  private void enqueue(WebhookEvent event) {
    enqueue(new Delivery(event, 0));
  }

  private void enqueue(Delivery delivery) {
    queue.add(delivery);
    pump();
  }

  // Whoever adds to the queue or gives a permit back calls this afterwards, so no delivery is left
  // behind.
  private void pump() {
    while (!closed && !queue.isEmpty() && permits.tryAcquire()) {
      Delivery delivery = queue.poll();
      URI url = target;
      if (delivery == null) {
        permits.release();
      } else if (url == null) {
        counters.webhooksWithoutTarget.increment();
        permits.release();
      } else {
        send(delivery, url);
      }
    }
  }

  private void send(Delivery delivery, URI url) {
    WebhookEvent event = delivery.event();
    byte[] body = event.body();
    long timestampSeconds = config.clock().instant().getEpochSecond();
    HttpRequest request =
        HttpRequest.newBuilder(url)
            .timeout(config.webhookTimeout())
            .header("Content-Type", "application/json")
            .header("webhook-id", event.id())
            .header("webhook-timestamp", Long.toString(timestampSeconds))
            .header("webhook-signature", signer.sign(event.id(), timestampSeconds, body))
            .POST(HttpRequest.BodyPublishers.ofByteArray(body))
            .build();
    var unused =
        client
            .sendAsync(request, HttpResponse.BodyHandlers.discarding())
            .whenComplete(
                (response, error) -> {
                  permits.release();
                  finished(delivery, response == null ? 0 : response.statusCode());
                  pump();
                });
  }

  private void finished(Delivery delivery, int status) {
    if (status >= 200 && status < 300) {
      counters.webhooksDelivered.increment();
      return;
    }
    counters.webhookAttemptsFailed.increment();
    List<Duration> schedule = config.webhookRetrySchedule();
    if (delivery.attempt() >= schedule.size()) {
      counters.webhooksGivenUp.increment();
      log.warn(
          "webhook given up event_id={} attempts={} last_status={}",
          delivery.event().id(),
          delivery.attempt() + 1,
          status);
      return;
    }
    tasks.after(
        schedule.get(delivery.attempt()),
        () -> enqueue(new Delivery(delivery.event(), delivery.attempt() + 1)));
  }
}

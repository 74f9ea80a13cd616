package io.payrelay.simulator;

import io.payrelay.simulator.stripe.StripeSigner;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Tells the client of each change, with retries, losses and doubles. Asynchronous and bounded: at
 * most the configured number of deliveries is on the way, the others wait in a queue. Thread-safe.
 */
final class WebhookSender implements AutoCloseable {
  private static final Logger log = LoggerFactory.getLogger(WebhookSender.class);
  private static final int CLIENT_THREADS = 2;
  private static final long THREAD_IDLE_S = 10;
  // Beyond the settlement of a pending charge, so that its next event overtakes.
  private static final Duration REORDER_MARGIN = Duration.ofMillis(300);

  private final SimulatorConfig config;
  private final FaultPlan plan;
  private final Scripts<WebhookFault> scripts;
  private final Counters counters;
  private final DelayedTasks tasks;
  private final WebhookSigner signer;
  private final StripeSigner stripeSigner;
  private final ThreadPoolExecutor deliveries;
  private final ExecutorService clientThreads;
  private final HttpClient client;
  private volatile @Nullable URI target;
  private volatile @Nullable URI stripeTarget;

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
    stripeSigner = new StripeSigner(config.stripeWebhookSecret());
    deliveries =
        new ThreadPoolExecutor(
            config.webhookConcurrency(),
            config.webhookConcurrency(),
            THREAD_IDLE_S,
            TimeUnit.SECONDS,
            new LinkedBlockingQueue<>(),
            daemons("simulator-webhook"),
            new ThreadPoolExecutor.DiscardPolicy());
    deliveries.allowCoreThreadTimeOut(true);
    clientThreads = Executors.newFixedThreadPool(CLIENT_THREADS, daemons("simulator-webhook-io"));
    client =
        HttpClient.newBuilder()
            .version(HttpClient.Version.HTTP_1_1)
            .connectTimeout(config.webhookTimeout())
            .executor(clientThreads)
            .build();
    target = config.webhookUrl();
    stripeTarget = config.stripeWebhookUrl();
  }

  void target(@Nullable URI newTarget) {
    target = newTarget == null ? null : requireHttp(newTarget);
  }

  void stripeTarget(@Nullable URI newTarget) {
    stripeTarget = newTarget == null ? null : requireHttp(newTarget);
  }

  static URI requireHttp(URI url) {
    if (url.getHost() == null
        || !("http".equals(url.getScheme()) || "https".equals(url.getScheme()))) {
      throw new IllegalArgumentException("the webhook address has to be an http or https URL");
    }
    return url;
  }

  /** Announces the state that the charge has just reached. */
  void publish(Ledger.Entry entry, Charge changed) {
    String type = "charge." + changed.status().wireName();
    WebhookEvent event =
        entry.addEvent(
            id ->
                new WebhookEvent(
                    Face.GENERIC,
                    id,
                    type,
                    config.clock().instant(),
                    told -> SimulatorJson.webhook(type, told.at(), changed)));
    publish(changed.merchantTransactionId(), entry.transaction().numbers(), event);
  }

  /** Announces the state that the refund has just reached. */
  void publish(Refunds.Entry entry, Refund changed) {
    String type = "refund." + changed.status().wireName();
    WebhookEvent event =
        entry.addEvent(
            id ->
                new WebhookEvent(
                    Face.GENERIC,
                    id,
                    type,
                    config.clock().instant(),
                    told -> SimulatorJson.webhook(type, told.at(), changed)));
    publish(changed.merchantRefundId(), entry.numbers(), event);
  }

  /**
   * Sends a new event, unless a fault strikes it.
   *
   * @param subject the client's own id of what changed
   */
  void publish(String subject, CallNumbers numbers, WebhookEvent event) {
    counters.webhookEvents.increment();
    int number = numbers.nextEvent();
    WebhookFault scripted = scripts.next(subject);
    WebhookFault fault = scripted == null ? plan.webhook(subject, number) : scripted;
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
    deliveries.shutdownNow();
    clientThreads.shutdownNow();
  }

  private void enqueue(WebhookEvent event) {
    enqueue(event, 0);
  }

  private void enqueue(WebhookEvent event, int attempt) {
    deliveries.execute(() -> deliver(event, attempt));
  }

  private void deliver(WebhookEvent event, int attempt) {
    URI url = event.face() == Face.STRIPE ? stripeTarget : target;
    if (url == null) {
      counters.webhooksWithoutTarget.increment();
      return;
    }
    try {
      // Not sendAsync: on a small machine it starts a thread for each answer.
      int status =
          client.send(request(event, url), HttpResponse.BodyHandlers.discarding()).statusCode();
      finished(event, attempt, status);
    } catch (IOException e) {
      log.debug("webhook attempt failed event_id={}", event.id(), e);
      finished(event, attempt, 0);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private HttpRequest request(WebhookEvent event, URI url) {
    byte[] body = event.body();
    long timestampSeconds = config.clock().instant().getEpochSecond();
    HttpRequest.Builder request =
        HttpRequest.newBuilder(url)
            .timeout(config.webhookTimeout())
            .POST(HttpRequest.BodyPublishers.ofByteArray(body));
    if (event.face() == Face.STRIPE) {
      return request
          .header("Content-Type", "application/json; charset=utf-8")
          .header("Stripe-Signature", stripeSigner.sign(timestampSeconds, body))
          .build();
    }
    return request
        .header("Content-Type", "application/json")
        .header("webhook-id", event.id())
        .header("webhook-timestamp", Long.toString(timestampSeconds))
        .header("webhook-signature", signer.sign(event.id(), timestampSeconds, body))
        .build();
  }

  private void finished(WebhookEvent event, int attempt, int status) {
    if (status >= 200 && status < 300) {
      counters.webhooksDelivered.increment();
      return;
    }
    counters.webhookAttemptsFailed.increment();
    List<Duration> schedule = config.webhookRetrySchedule();
    if (attempt >= schedule.size()) {
      counters.webhooksGivenUp.increment();
      log.warn(
          "webhook given up event_id={} attempts={} last_status={}",
          event.id(),
          attempt + 1,
          status);
      return;
    }
    tasks.after(schedule.get(attempt), () -> enqueue(event, attempt + 1));
  }

  private static ThreadFactory daemons(String name) {
    return task -> {
      Thread thread = new Thread(task, name);
      thread.setDaemon(true);
      return thread;
    };
  }
}

package io.payrelay.webhook;

import io.javalin.http.Context;
import io.payrelay.platform.errors.Failures;
import io.payrelay.platform.telemetry.LogContext;
import io.payrelay.providers.WebhookAdapter;
import io.payrelay.providers.WebhookAdapter.Answer;
import io.payrelay.providers.WebhookRequest;
import io.payrelay.providers.WebhookVerdict;
import io.payrelay.providers.WebhookVerdict.Authentic;
import io.payrelay.providers.WebhookVerdict.Refused;
import io.payrelay.webhook.Receipt.Kind;
import java.time.Duration;
import java.time.InstantSource;
import java.util.Enumeration;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * {@code POST /webhooks/{provider}}: proof, then the database, then the provider's own answer. A
 * conflicting delivery is answered like an accepted one: it is recorded, and to have it sent again
 * would not help. Safe for any thread.
 */
final class WebhookEndpoint {

  static final String PATH = BodyGate.FOLDER + "{provider}";

  private static final Logger log = LoggerFactory.getLogger(WebhookEndpoint.class);
  private static final long WARN_EVERY_NS = Duration.ofSeconds(10).toNanos();
  private static final Refused VERIFIER_FAILED = new Refused(true, Reason.VERIFIER_FAILED.text());

  private final Map<String, Gate> gates;
  private final Ingest ingest;
  private final InstantSource clock;
  private final Semaphore permits;
  private final Executor answering;
  private final IngestMetrics metrics;
  private final AtomicLong warnAtNs = new AtomicLong(System.nanoTime());

  /** A provider, and its share of the requests at work. */
  private record Gate(WebhookAdapter adapter, Semaphore permits) {}

  WebhookEndpoint(
      Map<String, WebhookAdapter> adapters,
      Ingest ingest,
      InstantSource clock,
      int concurrentRequestsMax,
      int providerRequestsMax,
      Executor answering,
      IngestMetrics metrics) {
    Map<String, Gate> byName = new HashMap<>();
    adapters.forEach(
        (name, adapter) -> byName.put(name, new Gate(adapter, new Semaphore(providerRequestsMax))));
    this.gates = Map.copyOf(byName);
    this.ingest = ingest;
    this.clock = clock;
    this.permits = new Semaphore(concurrentRequestsMax);
    this.answering = answering;
    this.metrics = metrics;
  }

  void handle(Context context) {
    Gate gate = gates.get(context.pathParam("provider"));
    byte[] body = context.attribute(BodyGate.BODY);
    if (gate == null || body == null) {
      // The body gate lets neither pass; how a path is decoded twice is not worth a stack trace.
      metrics.refused(Reason.NOBODY, Reason.UNKNOWN_PROVIDER);
      context.status(404).result("unknown provider");
      return;
    }
    WebhookAdapter adapter = gate.adapter();
    WebhookRequest request = new WebhookRequest(headers(context), body);
    WebhookVerdict verdict = verify(adapter, request);
    if (verdict instanceof Refused refused) {
      metrics.refused(adapter.name(), refused.reason());
      answer(context, adapter.refused(refused.malformed() ? 400 : 401, refused.reason()));
      return;
    }
    String keyId = ((Authentic) verdict).keyId();
    // One provider's flood must leave room for the others.
    if (!gate.permits().tryAcquire()) {
      again(context, adapter, 429, Reason.TOO_MANY_OF_PROVIDER, null);
      return;
    }
    if (!permits.tryAcquire()) {
      gate.permits().release();
      again(context, adapter, 503, Reason.TOO_MANY_REQUESTS, null);
      return;
    }
    context.future(() -> admitted(context, gate, request, keyId));
  }

  /** Holds no thread while the event waits for its commit. */
  private CompletableFuture<?> admitted(
      Context context, Gate gate, WebhookRequest request, String keyId) {
    long startedNs = System.nanoTime();
    CompletableFuture<Receipt> receipt;
    try {
      receipt = ingest.receive(gate.adapter(), request, keyId);
    } catch (RuntimeException e) {
      receipt = CompletableFuture.failedFuture(e);
    }
    return receipt.handleAsync(
        (done, failure) -> {
          permits.release();
          gate.permits().release();
          if (done == null) {
            failed(context, gate.adapter(), failure);
          } else {
            Duration took = Duration.ofNanos(System.nanoTime() - startedNs);
            metrics.received(gate.adapter().name(), done, took);
            say(gate.adapter(), done);
            answer(context, gate.adapter().accepted());
          }
          return done;
        },
        answering);
  }

  /** A verifier that throws proves nothing, and must not fill the log for whoever makes it. */
  private WebhookVerdict verify(WebhookAdapter adapter, WebhookRequest request) {
    try {
      return adapter.verify(request, clock.instant());
    } catch (RuntimeException e) {
      warn(adapter, Reason.VERIFIER_FAILED, e);
      return VERIFIER_FAILED;
    }
  }

  private void failed(Context context, WebhookAdapter adapter, Throwable failure) {
    if (failure instanceof RejectedExecutionException) {
      again(context, adapter, 503, Reason.TOO_MANY_REQUESTS, null);
    } else if (failure instanceof TimeoutException) {
      again(context, adapter, 503, Reason.NOT_STORED_IN_TIME, null);
    } else {
      again(context, adapter, 503, Reason.NOT_STORED, failure);
    }
  }

  /** Nothing was written: the provider is to deliver again. */
  private void again(
      Context context,
      WebhookAdapter adapter,
      int status,
      Reason reason,
      @Nullable Throwable cause) {
    metrics.refused(adapter.name(), reason);
    context.header("Retry-After", "5");
    answer(context, adapter.refused(status, reason.text()));
    warn(adapter, reason, cause);
  }

  /** An outage fails every request: one line in a while says it. */
  private void warn(WebhookAdapter adapter, Reason reason, @Nullable Throwable cause) {
    long now = System.nanoTime();
    long at = warnAtNs.get();
    if (now - at >= 0 && warnAtNs.compareAndSet(at, now + WARN_EVERY_NS)) {
      log.warn(
          "webhook_unavailable provider={} reason=\"{}\" cause=\"{}\"",
          adapter.name(),
          reason.text(),
          cause == null ? "" : Delivery.reason(cause));
      if (cause != null && Failures.sqlState(cause) == null) {
        log.debug("webhook_unavailable cause", cause);
      }
    }
  }

  private static void say(WebhookAdapter adapter, Receipt receipt) {
    String paymentId = receipt.paymentId() == null ? "none" : receipt.paymentId();
    try (LogContext context = LogContext.ofPayment(paymentId, receipt.traceId())) {
      context.with("event_id", receipt.eventId());
      if (receipt.kind() == Kind.CONFLICTING || receipt.disposition() == Disposition.FAILED) {
        log.error(
            "webhook_needs_a_person provider={} kind={} disposition={}",
            adapter.name(),
            receipt.kind(),
            receipt.disposition());
      } else {
        log.debug(
            "webhook_received provider={} kind={} disposition={}",
            adapter.name(),
            receipt.kind(),
            receipt.disposition());
      }
    }
  }

  private static Map<String, String> headers(Context context) {
    Map<String, String> headers = new HashMap<>();
    Enumeration<String> names = context.req().getHeaderNames();
    while (names.hasMoreElements()) {
      String name = names.nextElement();
      Enumeration<String> values = context.req().getHeaders(name);
      while (values.hasMoreElements()) {
        headers.merge(
            name.toLowerCase(Locale.ROOT),
            values.nextElement(),
            (first, second) -> first + "," + second);
      }
    }
    return headers;
  }

  private static void answer(Context context, Answer answer) {
    context.status(answer.status()).contentType(answer.contentType()).result(answer.body());
  }
}

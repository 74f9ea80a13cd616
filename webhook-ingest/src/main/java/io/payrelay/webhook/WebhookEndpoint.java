package io.payrelay.webhook;

import io.javalin.http.Context;
import io.payrelay.platform.errors.Failures;
import io.payrelay.platform.telemetry.LogContext;
import io.payrelay.providers.WebhookAdapter;
import io.payrelay.providers.WebhookAdapter.Answer;
import io.payrelay.providers.WebhookRequest;
import io.payrelay.providers.WebhookVerdict;
import io.payrelay.webhook.Receipt.Kind;
import java.time.Duration;
import java.time.InstantSource;
import java.util.Enumeration;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Semaphore;
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

  static final String PATH = "/webhooks/{provider}";

  private static final Logger log = LoggerFactory.getLogger(WebhookEndpoint.class);
  private static final long WARN_EVERY_NS = Duration.ofSeconds(10).toNanos();

  private final Map<String, WebhookAdapter> adapters;
  private final Ingest ingest;
  private final InstantSource clock;
  private final Semaphore permits;
  private final IngestMetrics metrics;
  private final AtomicLong warnAtNs = new AtomicLong(System.nanoTime());

  WebhookEndpoint(
      Map<String, WebhookAdapter> adapters,
      Ingest ingest,
      InstantSource clock,
      int concurrentRequestsMax,
      IngestMetrics metrics) {
    this.adapters = Map.copyOf(adapters);
    this.ingest = ingest;
    this.clock = clock;
    this.permits = new Semaphore(concurrentRequestsMax);
    this.metrics = metrics;
  }

  void handle(Context context) {
    WebhookAdapter adapter = adapters.get(context.pathParam("provider"));
    if (adapter == null) {
      metrics.refused("unknown", "unknown provider");
      answer(context, 404, "unknown provider");
      return;
    }
    byte[] body = context.attribute(BodyGate.BODY);
    if (body == null) {
      throw new IllegalStateException("the body gate was passed by");
    }
    WebhookRequest request = new WebhookRequest(headers(context), body);
    WebhookVerdict verdict = adapter.verify(request, clock.instant());
    if (verdict instanceof WebhookVerdict.Refused refused) {
      metrics.refused(adapter.name(), refused.reason());
      answer(context, refused.malformed() ? 400 : 401, refused.reason());
      return;
    }
    String keyId = ((WebhookVerdict.Authentic) verdict).keyId();
    if (!permits.tryAcquire()) {
      unavailable(context, adapter, "too many requests", null);
      return;
    }
    try {
      receive(context, adapter, request, keyId);
    } finally {
      permits.release();
    }
  }

  private void receive(
      Context context, WebhookAdapter adapter, WebhookRequest request, String keyId) {
    long startedNs = System.nanoTime();
    Receipt receipt;
    try {
      receipt = ingest.receive(adapter, request, keyId);
    } catch (RuntimeException e) {
      unavailable(context, adapter, "not stored", e);
      return;
    }
    metrics.received(adapter.name(), receipt, Duration.ofNanos(System.nanoTime() - startedNs));
    say(adapter, request, receipt);
    Answer accepted = adapter.accepted();
    context.status(accepted.status()).contentType(accepted.contentType()).result(accepted.body());
  }

  /** Nothing was written: the provider is to deliver again. */
  private void unavailable(
      Context context, WebhookAdapter adapter, String reason, @Nullable RuntimeException cause) {
    metrics.refused(adapter.name(), reason);
    context.header("Retry-After", "5");
    answer(context, 503, reason);
    long now = System.nanoTime();
    long at = warnAtNs.get();
    // An outage fails every request: one line in a while says it.
    if (now - at >= 0 && warnAtNs.compareAndSet(at, now + WARN_EVERY_NS)) {
      log.warn(
          "webhook_unavailable provider={} reason=\"{}\" cause=\"{}\"",
          adapter.name(),
          reason,
          cause == null ? "" : Ingest.reason(cause));
      if (cause != null && Failures.sqlState(cause) == null) {
        log.debug("webhook_unavailable cause", cause);
      }
    }
  }

  private static void say(WebhookAdapter adapter, WebhookRequest request, Receipt receipt) {
    String paymentId = receipt.paymentId() == null ? "none" : receipt.paymentId();
    try (LogContext context = LogContext.ofPayment(paymentId, receipt.traceId())) {
      context.with("event_id", adapter.eventId(request).orElse(null));
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

  private static void answer(Context context, int status, String text) {
    context.status(status).contentType("text/plain").result(text);
  }
}

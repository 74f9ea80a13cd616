package io.payrelay.webhook;

import io.payrelay.payments.lifecycle.Fact;
import io.payrelay.payments.store.ExceptionStore;
import io.payrelay.platform.errors.Category;
import io.payrelay.platform.errors.Failures;
import io.payrelay.providers.UnreadableWebhookException;
import io.payrelay.providers.WebhookAdapter;
import io.payrelay.providers.WebhookEvent;
import io.payrelay.providers.WebhookRequest;
import io.payrelay.webhook.EventStore.Known;
import io.payrelay.webhook.EventStore.NewEvent;
import io.payrelay.webhook.Receipt.Kind;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import org.jdbi.v3.core.Handle;
import org.jdbi.v3.core.Jdbi;
import org.jspecify.annotations.Nullable;

/**
 * Takes an authentic delivery: raw event, decision and everything that follows in one transaction.
 * When it returns, that is committed; when it throws, nothing is. Safe for any thread.
 */
final class Ingest {

  private static final String UNREADABLE = "unreadable";

  private final Jdbi jdbi;
  private final InstantSource clock;
  private final ParkSchedule park;
  private final Duration statementTimeout;
  private final IngestFaults faults;
  private final EventStore events = new EventStore();
  private final ExceptionStore exceptions = new ExceptionStore();
  private final Applier applier = new Applier();

  /** A delivery, read as far as it can be. */
  private record Delivery(NewEvent row, @Nullable Fact fact, @Nullable String unreadable) {}

  Ingest(
      Jdbi jdbi,
      InstantSource clock,
      ParkSchedule park,
      Duration statementTimeout,
      IngestFaults faults) {
    this.jdbi = jdbi;
    this.clock = clock;
    this.park = park;
    this.statementTimeout = statementTimeout;
    this.faults = faults;
  }

  /**
   * Takes a verified request.
   *
   * @throws RuntimeException where nothing was written and the provider should deliver again
   */
  Receipt receive(WebhookAdapter adapter, WebhookRequest request, String keyId) {
    Instant now = clock.instant();
    Delivery delivery = read(adapter, request, keyId, now);
    Receipt receipt;
    try {
      receipt = commit(delivery, now, null);
    } catch (RuntimeException e) {
      if (Failures.categoryOf(e) == Category.RETRIABLE && !"23505".equals(Failures.sqlState(e))) {
        throw e;
      }
      // Authentic, and deciding fails for good: keep the evidence alone, for reprocess.
      receipt = commit(delivery, now, reason(e));
    }
    faults.afterCommit();
    return receipt;
  }

  private Receipt commit(Delivery delivery, Instant now, @Nullable String failure) {
    return Redo.untilDone(
        () ->
            jdbi.inTransaction(
                tx -> {
                  Receipt receipt = write(tx, delivery, now, failure);
                  if (receipt == null) {
                    tx.rollback();
                  } else {
                    faults.beforeCommit();
                  }
                  return receipt;
                }));
  }

  /** Null where another delivery of the same event came first. */
  private @Nullable Receipt write(
      Handle tx, Delivery delivery, Instant now, @Nullable String failure) {
    NewEvent row = delivery.row();
    Known known = events.known(tx, row.provider(), row.eventId(), statementTimeout).orElse(null);
    if (known != null) {
      return again(tx, row, known, now);
    }
    Fact fact = delivery.fact();
    String failed = failure == null ? delivery.unreadable() : failure;
    Applier.Applied applied;
    if (failed != null) {
      exceptions.open(tx, List.of(Cases.failed(row.provider(), row.eventId(), fact, failed, now)));
      applied = new Applier.Applied(Disposition.FAILED, failed, null);
    } else if (fact == null) {
      applied = new Applier.Applied(Disposition.UNKNOWN_TYPE, null, null);
    } else {
      applied = applier.apply(tx, fact, now);
    }
    // Last, so that the row is written once: a race lost here takes everything above with it.
    boolean first = events.insert(tx, row, applied.disposition(), applied.reason(), park.delay(0));
    return first
        ? new Receipt(Kind.NEW, applied.disposition(), row.paymentId(), applied.traceId())
        : null;
  }

  private Receipt again(Handle tx, NewEvent row, Known known, Instant now) {
    events.countDelivery(tx, row.provider(), row.eventId());
    if (Arrays.equals(known.businessDigest(), row.businessDigest())) {
      return new Receipt(Kind.DUPLICATE, known.disposition(), known.paymentId(), null);
    }
    exceptions.open(
        tx,
        List.of(
            Cases.conflicting(
                row.provider(),
                row.eventId(),
                known.paymentId(),
                known.businessDigest(),
                row.businessDigest(),
                row.keyId(),
                now)));
    return new Receipt(Kind.CONFLICTING, known.disposition(), known.paymentId(), null);
  }

  private static Delivery read(
      WebhookAdapter adapter, WebhookRequest request, String keyId, Instant now) {
    byte[] bodyDigest = sha256(request.body());
    try {
      WebhookEvent event = adapter.read(request, now);
      return new Delivery(
          new NewEvent(
              adapter.name(),
              event.eventId(),
              event.eventType(),
              request.body(),
              bodyDigest,
              event.businessDigest(),
              kept(adapter, request),
              keyId,
              event.paymentId()),
          event.fact().orElse(null),
          null);
    } catch (UnreadableWebhookException e) {
      String eventId =
          adapter.eventId(request).orElseGet(() -> "body-" + HexFormat.of().formatHex(bodyDigest));
      return new Delivery(
          new NewEvent(
              adapter.name(),
              eventId,
              UNREADABLE,
              request.body(),
              bodyDigest,
              bodyDigest,
              kept(adapter, request),
              keyId,
              null),
          null,
          "unreadable: " + e.getMessage());
    }
  }

  private static Map<String, String> kept(WebhookAdapter adapter, WebhookRequest request) {
    Map<String, String> kept = new HashMap<>();
    for (String name : adapter.keptHeaders()) {
      // PostgreSQL keeps no NUL, and nobody needs a control character.
      request
          .header(name)
          .ifPresent(value -> kept.put(name, value.replaceAll("[^\\x20-\\x7e]", "?")));
    }
    return kept;
  }

  /** Class and SQLSTATE only: messages of databases repeat values. */
  static String reason(RuntimeException failure) {
    String state = Failures.sqlState(failure);
    Throwable cause = failure;
    while (cause.getCause() != null && cause.getCause() != cause) {
      cause = cause.getCause();
    }
    return cause.getClass().getSimpleName() + (state == null ? "" : " SQLSTATE " + state);
  }

  private static byte[] sha256(byte[] bytes) {
    try {
      return MessageDigest.getInstance("SHA-256").digest(bytes);
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every Java has SHA-256", e);
    }
  }
}

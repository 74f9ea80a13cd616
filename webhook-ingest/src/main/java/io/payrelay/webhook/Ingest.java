package io.payrelay.webhook;

import io.payrelay.payments.store.ExceptionStore;
import io.payrelay.platform.errors.Category;
import io.payrelay.platform.errors.Failures;
import io.payrelay.providers.UnreadableWebhookException;
import io.payrelay.providers.UnreadableWebhookException.Identity;
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
import java.util.Objects;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jdbi.v3.core.Handle;
import org.jdbi.v3.core.Jdbi;
import org.jspecify.annotations.Nullable;

/**
 * Takes an authentic delivery: raw event, decision and everything that follows in one transaction.
 * When it returns, that is committed; when it throws, nothing is. Safe for any thread.
 */
final class Ingest {

  private static final String UNREADABLE = "unreadable";
  private static final int DIGEST_BYTES = 32;
  private static final Pattern STORABLE = Pattern.compile("[\\x20-\\x7e]{1,256}");

  private final Jdbi jdbi;
  private final InstantSource clock;
  private final ParkSchedule park;
  private final Duration statementTimeout;
  private final IngestFaults faults;
  private final EventStore events = new EventStore();
  private final ExceptionStore exceptions = new ExceptionStore();
  private final Applier applier = new Applier();

  /** A delivery, read as far as it can be: an event, or why there is none. */
  private record Delivery(
      NewEvent row, @Nullable WebhookEvent event, @Nullable String unreadable) {}

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
    WebhookEvent event = delivery.event();
    Applier.Applied applied;
    if (failure != null || event == null) {
      String reason = Objects.requireNonNullElse(failure, String.valueOf(delivery.unreadable()));
      exceptions.open(tx, List.of(Cases.failed(row.provider(), row.eventId(), event, reason, now)));
      applied = new Applier.Applied(Disposition.FAILED, reason, row.paymentId(), null);
    } else {
      applied = applier.apply(tx, event, now);
    }
    // Last, so that the row is written once: a race lost here takes everything above with it.
    boolean first = events.insert(tx, row, applied, park.delay(0));
    return first
        ? new Receipt(
            row.eventId(), Kind.NEW, applied.disposition(), applied.paymentId(), applied.traceId())
        : null;
  }

  private Receipt again(Handle tx, NewEvent row, Known known, Instant now) {
    events.countDelivery(tx, row.provider(), row.eventId());
    if (Arrays.equals(known.businessDigest(), row.businessDigest())) {
      return new Receipt(
          row.eventId(), Kind.DUPLICATE, known.disposition(), known.paymentId(), null);
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
    return new Receipt(
        row.eventId(), Kind.CONFLICTING, known.disposition(), known.paymentId(), null);
  }

  private static Delivery read(
      WebhookAdapter adapter, WebhookRequest request, String keyId, Instant now) {
    byte[] bodyDigest = sha256(request.body());
    Identity identity = null;
    String problem;
    try {
      WebhookEvent event = adapter.read(request, now);
      if (storable(event)) {
        identity = new Identity(event.eventId(), event.eventType(), event.businessDigest());
        return new Delivery(
            row(adapter, request, identity, bodyDigest, keyId, event.paymentId()), event, null);
      }
      problem = "unreadable: it holds what cannot be kept";
    } catch (UnreadableWebhookException e) {
      problem = "unreadable: " + e.getMessage();
      identity = e.identity();
    } catch (RuntimeException e) {
      // A bug of the adapter's: the provider would deliver again in vain, and then give up.
      problem = "reading failed: " + reason(e);
    }
    if (identity == null) {
      identity = new Identity(unreadableId(adapter, request, bodyDigest), UNREADABLE, bodyDigest);
    }
    return new Delivery(row(adapter, request, identity, bodyDigest, keyId, null), null, problem);
  }

  private static NewEvent row(
      WebhookAdapter adapter,
      WebhookRequest request,
      Identity identity,
      byte[] bodyDigest,
      String keyId,
      @Nullable String paymentId) {
    return new NewEvent(
        adapter.name(),
        identity.eventId(),
        identity.eventType(),
        request.body(),
        bodyDigest,
        identity.businessDigest(),
        kept(adapter, request),
        keyId,
        paymentId);
  }

  /** Without this an adapter's carelessness would make the evidence itself unwritable. */
  private static boolean storable(WebhookEvent event) {
    Stream<@Nullable String> texts =
        Stream.concat(
            Stream.of(event.eventType(), event.paymentId()),
            event.facts().stream()
                .flatMap(
                    fact ->
                        Stream.of(
                            fact.providerTransactionId(),
                            fact.payeeAccount(),
                            fact.reference(),
                            fact.code())));
    return WebhookEvent.isId(event.eventId())
        && event.businessDigest().length == DIGEST_BYTES
        && texts.allMatch(text -> text == null || STORABLE.matcher(text).matches());
  }

  private static String unreadableId(
      WebhookAdapter adapter, WebhookRequest request, byte[] bodyDigest) {
    return adapter
        .eventId(request)
        .filter(WebhookEvent::isId)
        .orElseGet(() -> "body-" + HexFormat.of().formatHex(bodyDigest));
  }

  private static Map<String, String> kept(WebhookAdapter adapter, WebhookRequest request) {
    Map<String, String> kept = new HashMap<>();
    for (String name : adapter.keptHeaders()) {
      request.header(name).ifPresent(value -> kept.put(name, visible(value)));
    }
    return kept;
  }

  /** PostgreSQL keeps no NUL, and nobody needs a control character. */
  private static String visible(String text) {
    return text.replaceAll("[^\\x20-\\x7e]", "?");
  }

  /** Class, SQLSTATE and, for a bug, its place: messages of databases repeat values. */
  static String reason(RuntimeException failure) {
    String state = Failures.sqlState(failure);
    Throwable cause = failure;
    while (cause.getCause() != null && cause.getCause() != cause) {
      cause = cause.getCause();
    }
    String name = cause.getClass().getSimpleName();
    if (state != null) {
      return name + " SQLSTATE " + state;
    }
    return name
        + Arrays.stream(cause.getStackTrace())
            .filter(frame -> frame.getClassName().startsWith("io.payrelay."))
            .findFirst()
            .map(frame -> " in " + frame.getFileName() + ":" + frame.getLineNumber())
            .orElse("");
  }

  private static byte[] sha256(byte[] bytes) {
    try {
      return MessageDigest.getInstance("SHA-256").digest(bytes);
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every Java has SHA-256", e);
    }
  }
}

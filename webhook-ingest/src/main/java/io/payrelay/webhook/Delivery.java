package io.payrelay.webhook;

import io.payrelay.platform.errors.Failures;
import io.payrelay.providers.UnreadableWebhookException;
import io.payrelay.providers.UnreadableWebhookException.Identity;
import io.payrelay.providers.WebhookAdapter;
import io.payrelay.providers.WebhookEvent;
import io.payrelay.providers.WebhookRequest;
import io.payrelay.webhook.EventStore.NewEvent;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Instant;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.Map;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A verified request, read as far as it can be. Immutable; the arrays are not changed by anybody.
 *
 * @param event null where it could not be read
 * @param unreadable why nothing of it may be applied; null: it may
 */
record Delivery(NewEvent row, @Nullable WebhookEvent event, @Nullable String unreadable) {

  private static final String UNREADABLE = "unreadable";
  private static final int DIGEST_BYTES = 32;
  private static final Pattern STORABLE = Pattern.compile("[\\x20-\\x7e]{1,256}");
  private static final Pattern HIDDEN = Pattern.compile("[^\\x20-\\x7e]");

  /** Reads it; what cannot be read has the reason and an identity to be kept under. */
  static Delivery read(WebhookAdapter adapter, WebhookRequest request, String keyId, Instant now) {
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

  /** The same, of which nothing is to be applied: deciding on it fails. */
  Delivery undecided(String reason) {
    return new Delivery(row, event, reason);
  }

  EventStore.EventKey key() {
    return new EventStore.EventKey(row.provider(), row.eventId());
  }

  /** Class, SQLSTATE and, for a bug, its place: messages of databases repeat values. */
  static String reason(Throwable failure) {
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
    return HIDDEN.matcher(text).replaceAll("?");
  }

  private static byte[] sha256(byte[] bytes) {
    try {
      return MessageDigest.getInstance("SHA-256").digest(bytes);
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every Java has SHA-256", e);
    }
  }
}

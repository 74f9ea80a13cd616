package io.payrelay.webhook;

import io.payrelay.payments.lifecycle.ExceptionCase;
import io.payrelay.payments.lifecycle.ExceptionKind;
import io.payrelay.payments.lifecycle.Fact;
import io.payrelay.payments.lifecycle.Observation;
import io.payrelay.providers.WebhookEvent;
import java.time.Instant;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** The exception cases that webhooks themselves raise. Stateless. */
final class Cases {

  private Cases() {}

  /** An authentic event that could not be read or decided on. */
  static ExceptionCase failed(
      String provider, String eventId, @Nullable WebhookEvent event, String reason, Instant now) {
    Fact fact = event == null || event.facts().isEmpty() ? null : event.facts().get(0);
    return new ExceptionCase(
        "WEBHOOK_FAILED:" + provider + ":" + eventId,
        ExceptionKind.WEBHOOK_FAILED,
        event == null ? null : event.paymentId(),
        provider,
        fact == null ? null : fact.providerTransactionId(),
        null,
        fact == null ? null : fact.amount(),
        null,
        Map.of("event_id", eventId, "reason", reason),
        fact == null ? now : fact.observedAt());
  }

  /**
   * One event id with two meanings: a provider's bug, or somebody who holds the secret.
   *
   * @param kept whether the second body is in provider_event_conflict, beside the first
   */
  static ExceptionCase conflicting(
      EventStore.NewEvent second, EventStore.Known first, boolean kept, Instant now) {
    String digest = HexFormat.of().formatHex(second.businessDigest());
    return new ExceptionCase(
        "WEBHOOK_CONFLICT:"
            + second.provider()
            + ":"
            + second.eventId()
            + ":"
            + digest.substring(0, 16),
        ExceptionKind.WEBHOOK_CONFLICT,
        first.paymentId(),
        second.provider(),
        null,
        null,
        null,
        null,
        Map.of(
            "event_id",
            second.eventId(),
            "first_business_digest",
            HexFormat.of().formatHex(first.businessDigest()),
            "second_business_digest",
            digest,
            "second_key_id",
            second.keyId(),
            "second_body",
            kept ? "kept in provider_event_conflict" : "not kept: too many for this event"),
        now);
  }

  /**
   * Money of a provider's payment that is none of ours, each movement a case of its own. What moved
   * none is nothing that a person has to look for.
   */
  static List<ExceptionCase> unmatched(StoredEvent event, WebhookEvent read) {
    return read.facts().stream()
        .filter(fact -> isMoney(fact.observation()))
        .map(fact -> unmatched(event, read, fact))
        .toList();
  }

  private static ExceptionCase unmatched(StoredEvent event, WebhookEvent read, Fact fact) {
    String about = Objects.requireNonNullElse(fact.providerTransactionId(), fact.paymentId());
    return new ExceptionCase(
        "UNMATCHED_PROVIDER_PAYMENT:"
            + event.provider()
            + ":"
            + about
            + ":"
            + fact.observation().name()
            // Without it the second of two partial refunds would be taken for the first.
            + (fact.reference() == null ? "" : ":" + fact.reference()),
        ExceptionKind.UNMATCHED_PROVIDER_PAYMENT,
        read.paymentId(),
        event.provider(),
        fact.providerTransactionId(),
        null,
        fact.amount(),
        null,
        Map.of(
            "event_id",
            event.eventId(),
            "observation",
            fact.observation().name(),
            "received_at",
            event.receivedAt().toString()),
        fact.observedAt());
  }

  private static boolean isMoney(Observation observation) {
    return switch (observation) {
      case SUCCEEDED, DISPUTED, DISPUTE_WON, DISPUTE_LOST, PROVIDER_REFUND -> true;
      case PENDING,
          FAILED,
          FAILURE_REPORTED,
          UNKNOWN,
          REFUSED,
          PAYLOAD_DIFFERS,
          KEY_REFUSED,
          UNRESOLVED ->
          false;
    };
  }
}

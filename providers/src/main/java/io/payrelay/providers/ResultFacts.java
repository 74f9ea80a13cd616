package io.payrelay.providers;

import io.payrelay.payments.lifecycle.Fact;
import io.payrelay.payments.lifecycle.FactSource;
import io.payrelay.payments.lifecycle.Observation;
import io.payrelay.payments.money.Money;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Turns a provider's answer into the facts that the payment's life is decided on. Stateless. */
public final class ResultFacts {

  private ResultFacts() {}

  /**
   * The facts; none where the answer says nothing about the payment (not processed, not found).
   *
   * @param now stands for the time of the event where the provider names none
   */
  public static List<Fact> of(
      FactSource source,
      String provider,
      String paymentId,
      ProviderAnswer answer,
      String attempt,
      Instant now) {
    Map<String, String> evidence = new HashMap<>();
    evidence.put("attempt", attempt);
    evidence.put("http_status", Integer.toString(answer.httpStatus()));
    List<Fact> facts = new ArrayList<>();
    of(source, provider, paymentId, answer.result(), evidence, now).ifPresent(facts::add);
    for (ProviderResult further : answer.further()) {
      of(source, provider, paymentId, further, evidence, now).ifPresent(facts::add);
    }
    if (answer.result() instanceof ProviderResult.Succeeded) {
      // Behind the money that they give back. What succeeded goes first: of two under one id of
      // ours it is the one that counts.
      answer.refunds().stream()
          .sorted(Comparator.comparing(ProviderRefund::status))
          .map(refund -> refund(source, provider, paymentId, refund, evidence, now))
          .forEach(facts::add);
    }
    return facts;
  }

  /**
   * As a webhook tells it. Here the provider itself was asked: that a refund of ours failed is no
   * hint.
   */
  private static Fact refund(
      FactSource source,
      String provider,
      String paymentId,
      ProviderRefund refund,
      Map<String, String> evidence,
      Instant now) {
    Observation observation =
        switch (refund.status()) {
          case SUCCEEDED -> Observation.PROVIDER_REFUND;
          case PENDING -> Observation.PENDING;
          case FAILED -> Observation.FAILED;
        };
    // A failure counts from when it was seen: no success that was told before may be newer.
    Instant at =
        refund.status() == ProviderRefund.Status.SUCCEEDED && refund.madeAt() != null
            ? refund.madeAt()
            : now;
    Map<String, String> all = new HashMap<>(evidence);
    all.put("provider_refund_id", refund.providerRefundId());
    return new Fact(
        source,
        provider,
        paymentId,
        observation,
        refund.providerTransactionId(),
        refund.amount(),
        null,
        refund.providerRefundId(),
        refund.code(),
        at,
        all,
        refund.refundId());
  }

  private static Optional<Fact> of(
      FactSource source,
      String provider,
      String paymentId,
      ProviderResult result,
      Map<String, String> evidence,
      Instant now) {
    if (result instanceof ProviderResult.Succeeded succeeded) {
      Instant at = succeeded.occurredAt() == null ? now : succeeded.occurredAt();
      return Optional.of(
          fact(
              source,
              provider,
              paymentId,
              Observation.SUCCEEDED,
              succeeded.providerTransactionId(),
              succeeded.amount(),
              succeeded.payeeAccount(),
              null,
              at,
              evidence));
    }
    if (result instanceof ProviderResult.Pending pending) {
      return Optional.of(
          fact(
              source,
              provider,
              paymentId,
              Observation.PENDING,
              pending.providerTransactionId(),
              pending.amount(),
              pending.payeeAccount(),
              null,
              now,
              evidence));
    }
    if (result instanceof ProviderResult.Declined declined) {
      if (declined.stillPayable()) {
        // Not an end: it may be paid until it is cancelled.
        evidence.put("declined_with", declined.code());
      }
      return Optional.of(
          fact(
              source,
              provider,
              paymentId,
              declined.stillPayable() ? Observation.PENDING : Observation.FAILED,
              declined.providerTransactionId(),
              declined.amount(),
              null,
              declined.stillPayable() ? null : declined.code(),
              now,
              evidence));
    }
    if (result instanceof ProviderResult.Unknown unknown) {
      evidence.put("reason", unknown.reason());
      return Optional.of(
          Fact.plain(source, provider, paymentId, Observation.UNKNOWN, null, now, evidence));
    }
    if (result instanceof ProviderResult.KeyRefused refused) {
      evidence.put("reason", refused.reason());
      return Optional.of(
          Fact.plain(source, provider, paymentId, Observation.KEY_REFUSED, null, now, evidence));
    }
    return Optional.empty();
  }

  private static Fact fact(
      FactSource source,
      String provider,
      String paymentId,
      Observation observation,
      @Nullable String transactionId,
      @Nullable Money amount,
      @Nullable String payee,
      @Nullable String code,
      Instant at,
      Map<String, String> evidence) {
    return new Fact(
        source,
        provider,
        paymentId,
        observation,
        transactionId,
        amount,
        payee,
        null,
        code,
        at,
        evidence);
  }
}

package io.payrelay.chargeworker;

import io.payrelay.payments.lifecycle.Fact;
import io.payrelay.payments.lifecycle.FactSource;
import io.payrelay.payments.lifecycle.Observation;
import io.payrelay.payments.lifecycle.Refund;
import io.payrelay.payments.money.Money;
import io.payrelay.providers.ProviderAnswer;
import io.payrelay.providers.ProviderResult;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** Turns a provider's answer about a refund into the facts it is decided on. Stateless. */
final class RefundFacts {

  private RefundFacts() {}

  /**
   * The facts; none where the answer says nothing about the refund (not processed, not found).
   *
   * @param now stands for the time of the event where the provider names none
   */
  static List<Fact> of(
      FactSource source, Refund refund, ProviderAnswer answer, String attempt, Instant now) {
    Map<String, String> evidence = new HashMap<>();
    evidence.put("attempt", attempt);
    evidence.put("http_status", Integer.toString(answer.httpStatus()));
    List<ProviderResult> results = new ArrayList<>(List.of(answer.result()));
    // Other refunds under our id: each of them gave money back.
    results.addAll(answer.further());
    List<Fact> facts = new ArrayList<>();
    for (ProviderResult result : results) {
      Fact fact = fact(source, refund, result, evidence, now);
      if (fact != null) {
        facts.add(fact);
      }
    }
    return facts;
  }

  private static @Nullable Fact fact(
      FactSource source,
      Refund refund,
      ProviderResult result,
      Map<String, String> evidence,
      Instant now) {
    if (result instanceof ProviderResult.Succeeded succeeded) {
      Instant at = Objects.requireNonNullElse(succeeded.occurredAt(), now);
      return money(
          source,
          refund,
          Observation.SUCCEEDED,
          succeeded.providerTransactionId(),
          succeeded.amount(),
          null,
          at,
          evidence);
    }
    if (result instanceof ProviderResult.Pending pending) {
      return money(
          source,
          refund,
          Observation.PENDING,
          pending.providerTransactionId(),
          pending.amount(),
          null,
          now,
          evidence);
    }
    if (result instanceof ProviderResult.Declined declined) {
      return money(
          source,
          refund,
          // What can still come to something has not failed.
          declined.stillPayable() ? Observation.PENDING : Observation.FAILED,
          declined.providerTransactionId(),
          declined.amount(),
          declined.stillPayable() ? null : declined.code(),
          now,
          evidence);
    }
    if (result instanceof ProviderResult.Unknown unknown) {
      return plain(source, refund, Observation.UNKNOWN, unknown.reason(), evidence, now);
    }
    if (result instanceof ProviderResult.KeyRefused refused) {
      return plain(source, refund, Observation.KEY_REFUSED, refused.reason(), evidence, now);
    }
    return null;
  }

  private static Fact money(
      FactSource source,
      Refund refund,
      Observation observation,
      @Nullable String reference,
      @Nullable Money amount,
      @Nullable String code,
      Instant at,
      Map<String, String> evidence) {
    return new Fact(
        source,
        refund.provider(),
        refund.paymentId(),
        observation,
        refund.providerTransactionId(),
        amount,
        null,
        reference,
        code,
        at,
        evidence,
        refund.refundId());
  }

  private static Fact plain(
      FactSource source,
      Refund refund,
      Observation observation,
      String reason,
      Map<String, String> evidence,
      Instant now) {
    Map<String, String> all = new HashMap<>(evidence);
    all.put("reason", reason);
    return Fact.plain(source, refund.provider(), refund.paymentId(), observation, null, now, all)
        .aboutRefund(refund.refundId());
  }
}

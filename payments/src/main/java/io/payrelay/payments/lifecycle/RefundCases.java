package io.payrelay.payments.lifecycle;

import java.util.HashMap;
import java.util.Map;

/** The cases that facts about refunds raise, with their evidence. Pure, stateless. */
final class RefundCases {

  private RefundCases() {}

  static ExceptionCase returned(Refund refund, Fact fact) {
    return of(refund, fact, ExceptionKind.REFUND_RETURNED, Map.of());
  }

  /** It names the money that is here still. */
  static ExceptionCase notGivenBack(Refund refund, Fact fact, String code) {
    ExceptionCase failed = of(refund, fact, ExceptionKind.REFUND_FAILED, Map.of("code", code));
    return new ExceptionCase(
        failed.businessKey(),
        failed.kind(),
        failed.paymentId(),
        failed.provider(),
        failed.providerTransactionId(),
        failed.expected(),
        refund.amount(),
        failed.traceId(),
        failed.evidence(),
        failed.eventAt());
  }

  static ExceptionCase of(Refund refund, Fact fact, ExceptionKind kind, Map<String, String> more) {
    Map<String, String> evidence = new HashMap<>(fact.evidence());
    evidence.putAll(more);
    evidence.put("refund_id", refund.refundId());
    evidence.put("source", fact.source().name());
    evidence.put("observation", fact.observation().name());
    evidence.put("refund_status", refund.status().name());
    if (fact.reference() != null) {
      evidence.put("provider_refund_id", fact.reference());
    }
    if (fact.code() != null) {
      evidence.put("code", fact.code());
    }
    String about = fact.reference() == null ? "" : ":" + fact.reference();
    return new ExceptionCase(
        kind + ":refund:" + refund.refundId() + ":" + fact.provider() + about,
        kind,
        refund.paymentId(),
        fact.provider(),
        refund.providerTransactionId(),
        refund.amount(),
        fact.amount(),
        refund.traceId(),
        evidence,
        fact.observedAt());
  }
}

package io.payrelay.payments.lifecycle;

import io.payrelay.payments.money.Money;
import java.time.Instant;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** A payment of 12.50 EUR and facts about it. */
public final class Samples {

  private static final Instant AT = Instant.parse("2026-03-01T10:00:00Z");

  private Samples() {}

  static Payment payment(String id, PaymentStatus status) {
    return new Payment(
        id,
        "shop",
        "order-" + id,
        "simulator",
        new Money(1250, "EUR"),
        "payee",
        "canary-customer",
        "{}",
        "{\"token\": \"canary\"}",
        "trace-1",
        status,
        status == PaymentStatus.CREATED ? 1 : 3,
        status == PaymentStatus.SUCCEEDED ? "t1" : null,
        status == PaymentStatus.FAILED ? "declined" : null,
        AT);
  }

  /** A fact about pay_0001, with the right terms. */
  static Fact fact(Observation observation) {
    return switch (observation) {
      case SUCCEEDED, DISPUTED, DISPUTE_WON, DISPUTE_LOST, PROVIDER_REFUND ->
          of(
              "pay_0001",
              FactSource.WEBHOOK,
              "simulator",
              observation,
              "t1",
              new Money(1250, "EUR"));
      case PENDING,
          FAILED,
          FAILURE_REPORTED,
          UNKNOWN,
          REFUSED,
          PAYLOAD_DIFFERS,
          KEY_REFUSED,
          UNRESOLVED ->
          of("pay_0001", FactSource.RESPONSE, "simulator", observation, null, null);
    };
  }

  static Fact success(String transactionId, @Nullable Money amount) {
    return of(
        "pay_0001", FactSource.WEBHOOK, "simulator", Observation.SUCCEEDED, transactionId, amount);
  }

  /** Any fact. */
  public static Fact of(
      String paymentId,
      FactSource source,
      String provider,
      Observation observation,
      @Nullable String transactionId,
      @Nullable Money amount) {
    return new Fact(
        source,
        provider,
        paymentId,
        observation,
        transactionId,
        amount,
        null,
        null,
        observation == Observation.FAILED ? "declined" : null,
        AT,
        Map.of());
  }

  /** The fact, with the payee that it names. */
  public static Fact payee(Fact fact, String payee) {
    return new Fact(
        fact.source(),
        fact.provider(),
        fact.paymentId(),
        fact.observation(),
        fact.providerTransactionId(),
        fact.amount(),
        payee,
        fact.reference(),
        fact.code(),
        fact.observedAt(),
        fact.evidence());
  }

  static Fact provider(Fact fact, String provider) {
    return of(
        fact.paymentId(),
        fact.source(),
        provider,
        fact.observation(),
        fact.providerTransactionId(),
        fact.amount());
  }

  static Fact reference(Fact fact, String reference) {
    return new Fact(
        fact.source(),
        fact.provider(),
        fact.paymentId(),
        fact.observation(),
        fact.providerTransactionId(),
        fact.amount(),
        fact.payeeAccount(),
        reference,
        fact.code(),
        fact.observedAt(),
        fact.evidence());
  }

  static Fact code(Fact fact, @Nullable String code) {
    return new Fact(
        fact.source(),
        fact.provider(),
        fact.paymentId(),
        fact.observation(),
        fact.providerTransactionId(),
        fact.amount(),
        fact.payeeAccount(),
        fact.reference(),
        code,
        fact.observedAt(),
        fact.evidence());
  }

  /** A fact about a refund; nothing is named that is null. */
  public static Fact ofRefund(
      String paymentId,
      FactSource source,
      Observation observation,
      @Nullable String transactionId,
      @Nullable Money amount,
      @Nullable String reference,
      @Nullable String refundId) {
    return new Fact(
        source,
        "simulator",
        paymentId,
        observation,
        transactionId,
        amount,
        null,
        reference,
        observation == Observation.FAILED ? "insufficient_funds" : null,
        AT,
        Map.of(),
        refundId);
  }
}

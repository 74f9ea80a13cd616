package io.payrelay.webhook;

import static org.assertj.core.api.Assertions.assertThat;

import io.payrelay.payments.lifecycle.ExceptionCase;
import io.payrelay.payments.lifecycle.Fact;
import io.payrelay.payments.lifecycle.FactSource;
import io.payrelay.payments.lifecycle.Observation;
import io.payrelay.payments.money.Money;
import io.payrelay.providers.WebhookEvent;
import io.payrelay.providers.WebhookRequest;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class CasesTest {

  private static final Instant NOW = Instant.parse("2026-11-29T12:00:00Z");

  @Test
  void eachPartialRefundOfAnUnmatchedTransactionIsACaseOfItsOwn() {
    assertThat(unmatched(Observation.PROVIDER_REFUND, "re_1").get(0).businessKey())
        .isEqualTo("UNMATCHED_PROVIDER_PAYMENT:simulator:ch_1:PROVIDER_REFUND:re_1")
        .isNotEqualTo(unmatched(Observation.PROVIDER_REFUND, "re_2").get(0).businessKey());
    assertThat(unmatched(Observation.SUCCEEDED, null).get(0).businessKey())
        .isEqualTo("UNMATCHED_PROVIDER_PAYMENT:simulator:ch_1:SUCCEEDED");
  }

  @ParameterizedTest
  @EnumSource(
      value = Observation.class,
      names = {"SUCCEEDED", "DISPUTED", "DISPUTE_WON", "DISPUTE_LOST", "PROVIDER_REFUND"})
  void unmatchedMoneyIsForAPerson(Observation observation) {
    assertThat(unmatched(observation, null)).hasSize(1);
  }

  @ParameterizedTest
  @EnumSource(
      value = Observation.class,
      names = {"PENDING", "FAILED", "FAILURE_REPORTED"})
  void whatMovedNoMoneyIsNot(Observation observation) {
    assertThat(unmatched(observation, null)).isEmpty();
  }

  private static List<ExceptionCase> unmatched(
      Observation observation, @Nullable String reference) {
    Fact fact =
        new Fact(
            FactSource.WEBHOOK,
            "simulator",
            "pay_1",
            observation,
            "ch_1",
            new Money(1999, "EUR"),
            null,
            reference,
            null,
            NOW,
            Map.of());
    return Cases.unmatched(
        new StoredEvent(
            "simulator",
            "evt_1",
            new WebhookRequest(Map.of(), new byte[0]),
            NOW,
            Duration.ZERO,
            Disposition.PARKED,
            null,
            1),
        new WebhookEvent("evt_1", "type", new byte[32], "pay_1", List.of(fact), false));
  }
}

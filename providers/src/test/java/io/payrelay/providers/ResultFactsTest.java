package io.payrelay.providers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;

import io.payrelay.payments.lifecycle.Fact;
import io.payrelay.payments.lifecycle.FactSource;
import io.payrelay.payments.lifecycle.Observation;
import io.payrelay.payments.money.Money;
import io.payrelay.providers.ProviderRefund.Status;
import io.payrelay.providers.ProviderResult.Pending;
import io.payrelay.providers.ProviderResult.Succeeded;
import java.time.Instant;
import java.util.Collections;
import java.util.List;
import org.junit.jupiter.api.Test;

class ResultFactsTest {

  private static final Instant NOW = Instant.parse("2026-01-02T03:04:05Z");
  private static final Instant THEN = Instant.parse("2026-01-01T00:00:00Z");
  private static final Money USD = new Money(1200, "USD");
  private static final Succeeded PAID = new Succeeded("ch_1", USD, null, null);

  @Test
  void tellsRefundsBehindTheMoneyThatTheyGiveBackAndFirstThoseThatSucceeded() {
    ProviderAnswer answer =
        new ProviderAnswer(PAID, List.of(new Succeeded("ch_2", USD, null, null)), 200, new byte[0])
            .withRefunds(
                List.of(
                    refund("re_1", "refund_1", Status.FAILED, "account_closed"),
                    refund("re_2", null, Status.PENDING, null),
                    refund("re_3", "refund_1", Status.SUCCEEDED, null)));

    List<Fact> facts = facts(answer);

    assertThat(facts)
        .extracting(Fact::observation, Fact::reference, Fact::refundId, Fact::code)
        .containsExactly(
            tuple(Observation.SUCCEEDED, null, null, null),
            tuple(Observation.SUCCEEDED, null, null, null),
            tuple(Observation.PROVIDER_REFUND, "re_3", "refund_1", null),
            tuple(Observation.PENDING, "re_2", null, null),
            tuple(Observation.FAILED, "re_1", "refund_1", "account_closed"));
    assertThat(facts.subList(2, 5))
        .allMatch(fact -> fact.source() == FactSource.QUERY && fact.isAboutRefund())
        .allMatch(
            fact ->
                fact.observedAt()
                    .equals(fact.observation() == Observation.PROVIDER_REFUND ? THEN : NOW))
        .allMatch(fact -> "ch_1".equals(fact.providerTransactionId()))
        .allMatch(fact -> fact.reference().equals(fact.evidence().get("provider_refund_id")));
  }

  @Test
  void tellsNoRefundOfMoneyThatIsNotThereAndNoMoreThanItsLimit() {
    List<ProviderRefund> many =
        Collections.nCopies(101, refund("re_1", null, Status.SUCCEEDED, null));

    assertThat(
            facts(
                new ProviderAnswer(new Pending("ch_1", USD, null), 200, new byte[0])
                    .withRefunds(many)))
        .singleElement()
        .matches(fact -> fact.observation() == Observation.PENDING && !fact.isAboutRefund());
    assertThat(facts(new ProviderAnswer(PAID, 200, new byte[0]).withRefunds(many))).hasSize(101);
  }

  private static List<Fact> facts(ProviderAnswer answer) {
    return ResultFacts.of(FactSource.QUERY, "stub", "payment_1", answer, "2", NOW);
  }

  private static ProviderRefund refund(String id, String ours, Status status, String code) {
    return new ProviderRefund("ch_1", id, ours, status, new Money(500, "USD"), code, THEN);
  }
}

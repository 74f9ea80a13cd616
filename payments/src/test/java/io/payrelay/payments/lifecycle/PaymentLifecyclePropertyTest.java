package io.payrelay.payments.lifecycle;

import static org.assertj.core.api.Assertions.assertThat;

import io.payrelay.payments.ledger.PostingKind;
import io.payrelay.payments.money.Money;
import java.util.ArrayList;
import java.util.List;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.Tuple;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Whatever is said of some payments, by whomever, in whatever order: {@link Books} stays true. */
class PaymentLifecyclePropertyTest {

  private static final List<String> PAYMENTS = List.of("pay_0001", "pay_0002", "pay_0003");

  @Provide
  Arbitrary<Fact> facts() {
    Arbitrary<Money> amounts =
        Arbitraries.frequency(
            Tuple.of(6, new Money(1250, "EUR")),
            Tuple.of(1, new Money(1, "EUR")),
            Tuple.of(1, new Money(1250, "USD")),
            Tuple.of(1, new Money(Long.MAX_VALUE, "EUR")));
    Arbitrary<Observation> observations =
        Arbitraries.frequencyOf(
            Tuple.of(2, Arbitraries.just(Observation.SUCCEEDED)),
            Tuple.of(3, Arbitraries.of(Observation.class)));
    return Combinators.combine(
            Arbitraries.of(PAYMENTS),
            Arbitraries.of(FactSource.class),
            Arbitraries.frequency(Tuple.of(8, "simulator"), Tuple.of(1, "other")),
            observations,
            Arbitraries.of("t1", "t2", "t3", "t4"),
            amounts,
            Arbitraries.of("payee", "payee", "thief").injectNull(0.5))
        .as(
            (id, source, provider, observation, transactionId, amount, payee) ->
                Samples.payee(
                    Samples.of(id, source, provider, observation, transactionId, amount), payee));
  }

  @Property(tries = 2000)
  void keepsTheBooksTrue(@ForAll("manyFacts") List<Fact> facts) {
    Books books = new Books(PAYMENTS);

    facts.forEach(books::apply);
  }

  @Property(tries = 500)
  void raisesAndBooksNothingTwiceWhenFactsAreRepeatedAtOnce(@ForAll("manyFacts") List<Fact> facts) {
    Books once = new Books(PAYMENTS);
    Books often = new Books(PAYMENTS);

    facts.forEach(once::apply);
    for (Fact fact : facts) {
      often.apply(fact);
      often.apply(fact);
      often.apply(fact);
    }

    assertThat(often.payments).isEqualTo(once.payments);
    assertThat(often.postings.keySet()).isEqualTo(once.postings.keySet());
    assertThat(often.cases.keySet()).isEqualTo(once.cases.keySet());
  }

  @Property(tries = 500)
  void movesNothingTerminalAndBooksNothingWhenAllIsSaidAgain(
      @ForAll("manyFacts") List<Fact> facts) {
    Books books = new Books(PAYMENTS);
    facts.forEach(books::apply);
    var postings = List.copyOf(books.postings.keySet());
    List<Payment> terminal =
        books.payments.values().stream().filter(payment -> payment.status().terminal()).toList();

    facts.forEach(books::apply);

    assertThat(books.postings.keySet()).containsExactlyElementsOf(postings);
    assertThat(books.payments.values()).containsAll(terminal);
  }

  @Property(tries = 200)
  void capturesTheSameTransactionsInEveryOrder(@ForAll("fewFacts") List<Fact> facts) {
    Books expected = new Books(PAYMENTS);
    facts.forEach(expected::apply);

    for (List<Fact> order : permutations(facts)) {
      Books books = new Books(PAYMENTS);
      order.forEach(books::apply);

      assertThat(books.postings.keySet()).isEqualTo(expected.postings.keySet());
    }
  }

  /** The order of webhooks is the network's, not the provider's. */
  @Test
  void endsTheSameInEveryOrderOfWebhooks() {
    List<Fact> facts =
        List.of(
            webhook(Observation.PENDING, null),
            webhook(Observation.SUCCEEDED, null),
            webhook(Observation.FAILURE_REPORTED, null),
            webhook(Observation.PROVIDER_REFUND, "r1"),
            webhook(Observation.DISPUTED, "d1"),
            webhook(Observation.DISPUTE_WON, "d1"));

    for (List<Fact> order : permutations(facts)) {
      Books books = new Books(PAYMENTS);
      order.forEach(books::apply);

      Payment payment = books.payments.get("pay_0001");
      assertThat(payment.status()).as("%s", order).isEqualTo(PaymentStatus.SUCCEEDED);
      assertThat(payment.version()).as("%s", order).isEqualTo(3);
      assertThat(books.postings.keySet())
          .as("%s", order)
          .containsExactlyInAnyOrder(
              "capture:simulator:t1",
              "provider_refund:simulator:t1:r1",
              "dispute:simulator:t1:d1",
              "dispute_won:simulator:t1:d1");
      assertThat(books.postings.get("capture:simulator:t1").kind()).isEqualTo(PostingKind.CAPTURE);
      assertThat(books.cases.values())
          .as("%s", order)
          .extracting(ExceptionCase::kind)
          .containsExactlyInAnyOrder(
              ExceptionKind.PROVIDER_REFUND, ExceptionKind.DISPUTED, ExceptionKind.DISPUTE_WON);
    }
  }

  private static Fact webhook(Observation observation, @Nullable String reference) {
    Fact fact =
        Samples.of(
            "pay_0001", FactSource.WEBHOOK, "simulator", observation, "t1", new Money(1250, "EUR"));
    return reference == null ? fact : Samples.reference(fact, reference);
  }

  @Provide
  Arbitrary<List<Fact>> manyFacts() {
    return facts().list().ofMinSize(1).ofMaxSize(25);
  }

  @Provide
  Arbitrary<List<Fact>> fewFacts() {
    return facts().list().ofMinSize(2).ofMaxSize(4);
  }

  private static List<List<Fact>> permutations(List<Fact> facts) {
    if (facts.isEmpty()) {
      return List.of(List.of());
    }
    List<List<Fact>> all = new ArrayList<>();
    for (int i = 0; i < facts.size(); i++) {
      List<Fact> rest = new ArrayList<>(facts);
      Fact first = rest.remove(i);
      for (List<Fact> tail : permutations(rest)) {
        List<Fact> order = new ArrayList<>(List.of(first));
        order.addAll(tail);
        all.add(order);
      }
    }
    return all;
  }
}

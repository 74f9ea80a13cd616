package io.payrelay.payments.lifecycle;

import static org.assertj.core.api.Assertions.assertThat;

import io.payrelay.payments.ledger.AccountKind;
import io.payrelay.payments.ledger.Entry;
import io.payrelay.payments.ledger.Posting;
import io.payrelay.payments.ledger.PostingKind;
import io.payrelay.payments.ledger.Postings;
import io.payrelay.payments.lifecycle.RefundLifecycle.Booked;
import io.payrelay.payments.money.Money;
import java.time.Instant;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.Tuple;
import org.jspecify.annotations.Nullable;

class RefundLifecyclePropertyTest {

  private static final Instant AT = Instant.parse("2026-03-01T10:00:00Z");
  private static final Money ASKED = new Money(500, "EUR");
  private static final List<String> REFUNDS = List.of("ref_0001", "ref_0002");

  static Refund refund(String id, RefundStatus status, @Nullable String providerRefundId) {
    return new Refund(
        id,
        "pay_0001",
        "simulator",
        "t1",
        ASKED,
        "why",
        "trace-1",
        status,
        status == RefundStatus.REQUESTED ? 1 : 3,
        providerRefundId,
        status == RefundStatus.FAILED || status == RefundStatus.RETURNED ? "declined" : null,
        AT);
  }

  @Provide
  Arbitrary<Fact> facts() {
    Arbitrary<Money> amounts =
        Arbitraries.frequency(
            Tuple.of(8, ASKED),
            Tuple.of(1, new Money(1, "EUR")),
            Tuple.of(1, new Money(500, "USD")));
    Arbitrary<Observation> observations =
        Arbitraries.frequencyOf(
            Tuple.of(2, Arbitraries.of(Observation.SUCCEEDED, Observation.FAILED)),
            Tuple.of(3, Arbitraries.of(Observation.class)));
    return Combinators.combine(
            Arbitraries.of(REFUNDS).injectNull(0.3),
            Arbitraries.frequency(Tuple.of(9, "simulator"), Tuple.of(1, "other")),
            observations,
            Arbitraries.frequency(Tuple.of(9, "t1"), Tuple.of(1, "t2")),
            amounts,
            Arbitraries.of("re_1", "re_2", "re_3").injectNull(0.2))
        .as(
            (refundId, provider, observation, transactionId, amount, reference) ->
                new Fact(
                    FactSource.WEBHOOK,
                    provider,
                    "pay_0001",
                    observation,
                    transactionId,
                    amount,
                    null,
                    reference,
                    observation == Observation.FAILED ? "failed" : null,
                    AT,
                    Map.of(),
                    refundId));
  }

  @Provide
  Arbitrary<List<Fact>> manyFacts() {
    return facts().list().ofMinSize(1).ofMaxSize(25);
  }

  @Provide
  Arbitrary<Refund> refunds() {
    return Combinators.combine(
            Arbitraries.of(RefundStatus.class), Arbitraries.of("re_1", "re_2").injectNull(0.3))
        .as(
            (status, id) ->
                refund(
                    "ref_0001",
                    status,
                    id == null
                            && (status == RefundStatus.SUCCEEDED || status == RefundStatus.RETURNED)
                        ? "re_1"
                        : id));
  }

  @Provide
  Arbitrary<RefundLifecycle.Context> contexts() {
    return Combinators.combine(
            Arbitraries.just("ref_0002").injectNull(0.8),
            Arbitraries.of(true, false),
            Arbitraries.of(AccountKind.REFUNDS, AccountKind.SUSPENSE)
                .map(kind -> new Booked(kind, ASKED))
                .injectNull(0.5),
            Arbitraries.of(AT.minusSeconds(1), AT, AT.plusSeconds(1))
                .map(at -> new RefundFailure(at, true, "account_closed"))
                .injectNull(0.5),
            Arbitraries.of(true, false))
        .as(RefundLifecycle.Context::new);
  }

  @Property(tries = 3000)
  void decidesOnEverythingAndMovesOnlyWhereAStateMay(
      @ForAll("refunds") Refund refund,
      @ForAll("facts") Fact fact,
      @ForAll("contexts") RefundLifecycle.Context context) {
    RefundDecision decision = RefundLifecycle.decide(refund, fact.aboutRefund("ref_0001"), context);

    checkMoves(refund, decision);
    if (decision.result().status() == RefundStatus.SUCCEEDED
        && refund.status() != RefundStatus.SUCCEEDED) {
      assertThat(fact.amount()).isEqualTo(refund.amount());
      assertThat(fact.observation()).isIn(Observation.SUCCEEDED, Observation.PROVIDER_REFUND);
      assertThat(context.claimedBy()).isNull();
    }
    if (decision.result().status() == RefundStatus.FAILED
        && refund.status() != RefundStatus.FAILED) {
      assertThat(fact.observation()).isIn(Observation.FAILED, Observation.REFUSED);
    }
    if (decision.note() == Decision.Note.CONFLICTING) {
      assertThat(decision.exceptions()).isNotEmpty();
    }
  }

  private static void checkMoves(Refund refund, RefundDecision decision) {
    Refund before = refund;
    for (Refund state : decision.states()) {
      assertThat(state.version()).isEqualTo(before.version() + 1);
      switch (before.status()) {
        case REQUESTED -> assertThat(state.status()).isEqualTo(RefundStatus.PENDING);
        case PENDING ->
            assertThat(state.status())
                .isIn(RefundStatus.SUCCEEDED, RefundStatus.FAILED, RefundStatus.UNKNOWN);
        case UNKNOWN ->
            assertThat(state.status()).isIn(RefundStatus.SUCCEEDED, RefundStatus.FAILED);
        case SUCCEEDED -> assertThat(state.status()).isEqualTo(RefundStatus.RETURNED);
        case FAILED, RETURNED -> throw new AssertionError("a terminal state moves");
      }
      before = state;
    }
    assertThat(decision.result().status()).isEqualTo(before.status());
    assertThat(decision.result().version()).isEqualTo(before.version());
    if (refund.providerRefundId() != null) {
      assertThat(decision.result().providerRefundId()).isEqualTo(refund.providerRefundId());
    }
  }

  /** Refunds, their provider's ids and the ledger, as the store keeps them. */
  private static final class RefundBooks {

    final Map<String, Refund> refunds = new HashMap<>();
    final Map<String, String> holders = new HashMap<>();
    final Map<String, Posting> postings = new HashMap<>();
    final Set<String> cases = new HashSet<>();
    final Set<String> lateRefunds = new HashSet<>();
    final Map<String, RefundFailure> failures = new HashMap<>();
    private final Payment payment = Samples.payment("pay_0001", PaymentStatus.SUCCEEDED);

    private final boolean fromSuspense;

    RefundBooks(boolean fromSuspense) {
      this.fromSuspense = fromSuspense;
      REFUNDS.forEach(id -> refunds.put(id, refund(id, RefundStatus.REQUESTED, null)));
    }

    void apply(Fact fact) {
      if (!fact.isAboutRefund()) {
        return;
      }
      String holder = holders.get(fact.provider() + fact.reference());
      String id = fact.refundId() == null ? holder : fact.refundId();
      if (id == null) {
        Decision decision =
            ProviderRefunds.decide(
                payment, fact, booked(key(fact)), failures.get(String.valueOf(fact.reference())));
        book(decision.postings());
        decision.exceptions().forEach(one -> cases.add(one.businessKey()));
        remember(fact, Observation.FAILED, Observation.FAILURE_REPORTED);
        return;
      }
      Refund refund = Objects.requireNonNull(refunds.get(id));
      Fact about = fact.aboutRefund(id);
      RefundDecision decision =
          RefundLifecycle.decide(
              refund,
              about,
              new RefundLifecycle.Context(
                  id.equals(holder) ? null : holder,
                  fromSuspense,
                  booked(
                      Postings.refundKey(
                          "simulator", "t1", RefundLifecycle.reference(refund, about))),
                  failures.get(String.valueOf(fact.reference())),
                  postings.containsKey(
                      "returned:"
                          + Postings.refundKey(
                              "simulator", "t1", RefundLifecycle.reference(refund, about)))));
      if ((holder == null || id.equals(holder))
          && fact.provider().equals("simulator")
          && "t1".equals(fact.providerTransactionId())) {
        remember(fact, Observation.FAILED);
      }
      checkMoves(refund, decision);
      refunds.put(id, decision.result());
      if (decision.result().providerRefundId() != null) {
        holders.putIfAbsent("simulator" + decision.result().providerRefundId(), id);
      }
      book(decision.postings());
      decision.exceptions().forEach(one -> cases.add(one.businessKey()));
      decision.exceptions().stream()
          .filter(one -> one.kind() == ExceptionKind.LATE_REFUND)
          .forEach(one -> lateRefunds.add(id));
      refunds.values().forEach(this::check);
    }

    /** Debits less credits. */
    Map<String, Long> balances() {
      Map<String, Long> balances = new HashMap<>();
      for (Posting posting : postings.values()) {
        for (Entry entry : posting.entries()) {
          long minor =
              entry.side() == Entry.Side.DEBIT ? entry.amountMinor() : -entry.amountMinor();
          balances.merge(entry.account().id(), minor, Long::sum);
        }
      }
      return balances;
    }

    private void remember(Fact fact, Observation... failed) {
      if (fact.reference() != null && List.of(failed).contains(fact.observation())) {
        failures.merge(fact.reference(), RefundFailure.of(fact), RefundFailure::later);
      }
    }

    private void book(List<Posting> booked) {
      booked.forEach(posting -> postings.putIfAbsent(posting.businessKey(), posting));
    }

    private @Nullable Booked booked(String key) {
      Posting posting = postings.get(key);
      if (posting == null || postings.containsKey("returned:" + key)) {
        return null;
      }
      Entry debit = posting.entries().get(0);
      return new Booked(
          debit.account().kind(), new Money(debit.amountMinor(), debit.account().currency()));
    }

    private static String key(Fact fact) {
      return Postings.refundKey(
          fact.provider(),
          String.valueOf(fact.providerTransactionId()),
          String.valueOf(fact.reference()));
    }

    private void check(Refund refund) {
      String key =
          refund.providerRefundId() == null
              ? null
              : Postings.refundKey("simulator", "t1", refund.providerRefundId());
      if (refund.status() == RefundStatus.SUCCEEDED || refund.status() == RefundStatus.RETURNED) {
        assertThat(postings).as("%s without its money", refund).containsKey(key);
      }
      if (refund.status() == RefundStatus.FAILED && booked(String.valueOf(key)) != null) {
        assertThat(lateRefunds).as("%s took money", refund).contains(refund.refundId());
      }
    }
  }

  @Property(tries = 2000)
  void keepsTheBooksTrue(@ForAll("manyFacts") List<Fact> facts) {
    RefundBooks books = new RefundBooks(false);

    facts.forEach(books::apply);

    assertThat(
            books.postings.values().stream().filter(p -> p.kind() == PostingKind.REFUND_RETURNED))
        .allSatisfy(
            back -> {
              Posting gone = Objects.requireNonNull(books.postings.get(back.reverses()));
              assertThat(back.entries().get(0).amountMinor())
                  .isEqualTo(gone.entries().get(0).amountMinor());
              assertThat(back.entries().get(1).account())
                  .isEqualTo(gone.entries().get(0).account());
            });
  }

  // Source: solidus_stripe #189, stripe-cli #418, saleor PR 8587 (assumptions about order).
  @Property(tries = 200)
  void endsTheSameInEveryOrder(@ForAll("orders") List<Fact> facts) {
    RefundBooks books = new RefundBooks(false);

    facts.forEach(books::apply);

    assertThat(books.refunds.get("ref_0001"))
        .extracting(Refund::status, Refund::version, Refund::providerRefundId)
        .containsExactly(RefundStatus.SUCCEEDED, versionOf(facts), "re_1");
    assertThat(books.postings.keySet()).containsExactly("provider_refund:simulator:t1:re_1");
    assertThat(books.cases).isEmpty();
  }

  @Provide
  Arbitrary<List<Fact>> orders() {
    return Arbitraries.shuffle(
        said(FactSource.RESPONSE, Observation.UNKNOWN, null),
        said(FactSource.QUERY, Observation.PENDING, "re_1"),
        said(FactSource.QUERY, Observation.SUCCEEDED, "re_1"),
        said(FactSource.WEBHOOK, Observation.PENDING, "re_1"),
        said(FactSource.WEBHOOK, Observation.PROVIDER_REFUND, "re_1"));
  }

  // Source: docs.stripe.com/api/refunds/object (a refund that succeeded can still fail).
  @Property(tries = 100)
  void keepsNoMoneyOfARefundThatCameBackInEveryOrder(
      @ForAll("ordersOfComingBack") List<Fact> facts, @ForAll boolean fromSuspense) {
    RefundBooks books = new RefundBooks(fromSuspense);

    facts.forEach(books::apply);

    assertThat(books.refunds.get("ref_0001"))
        .satisfies(
            refund -> {
              assertThat(refund.status()).isIn(RefundStatus.FAILED, RefundStatus.RETURNED);
              assertThat(refund.failureCode()).isEqualTo("account_closed");
            });
    assertThat(books.booked("provider_refund:simulator:t1:re_1")).isNull();
    assertThat(books.lateRefunds).isEmpty();
    // Each of them could be given back again.
    assertThat(books.cases.stream().filter(key -> key.startsWith("REFUND_RETURNED")))
        .hasSizeLessThanOrEqualTo(1);
    assertThat(books.balances().values()).allSatisfy(minor -> assertThat(minor).isZero());
  }

  @Provide
  Arbitrary<List<Fact>> ordersOfComingBack() {
    // A webhook may name the provider's id only.
    return Combinators.combine(
            Arbitraries.of(true, false),
            Arbitraries.shuffle(
                said(FactSource.RESPONSE, Observation.PENDING, "re_1"),
                said(FactSource.RESPONSE, Observation.SUCCEEDED, "re_1"),
                said(FactSource.WEBHOOK, Observation.PROVIDER_REFUND, "re_1"),
                said(FactSource.WEBHOOK, Observation.FAILED, "re_1")))
        .as(
            (named, facts) ->
                facts.stream()
                    .map(
                        fact ->
                            named || fact.source() == FactSource.RESPONSE
                                ? fact
                                : fact.aboutRefund(null))
                    .toList());
  }

  private static Fact said(FactSource source, Observation observation, @Nullable String reference) {
    boolean failed = observation == Observation.FAILED;
    return new Fact(
        source,
        "simulator",
        "pay_0001",
        observation,
        "t1",
        observation == Observation.UNKNOWN ? null : ASKED,
        null,
        reference,
        failed ? "account_closed" : null,
        failed ? AT.plusSeconds(1) : AT,
        Map.of(),
        "ref_0001");
  }

  /** It was UNKNOWN in between only where nobody had said that it succeeded. */
  private static long versionOf(List<Fact> facts) {
    for (Fact fact : facts) {
      if (fact.observation() == Observation.UNKNOWN) {
        return 4;
      }
      if (fact.observation() != Observation.PENDING) {
        return 3;
      }
    }
    throw new AssertionError("nothing was said");
  }

  @Property(tries = 500)
  void changesNothingWhenAFactIsRepeatedAtOnce(@ForAll("manyFacts") List<Fact> facts) {
    RefundBooks once = new RefundBooks(false);
    RefundBooks often = new RefundBooks(false);

    facts.forEach(once::apply);
    for (Fact fact : facts) {
      often.apply(fact);
      often.apply(fact);
      often.apply(fact);
    }

    assertThat(often.refunds).isEqualTo(once.refunds);
    assertThat(often.postings.keySet()).isEqualTo(once.postings.keySet());
    assertThat(often.cases).isEqualTo(once.cases);
  }
}

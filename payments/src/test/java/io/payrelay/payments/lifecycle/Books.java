package io.payrelay.payments.lifecycle;

import static org.assertj.core.api.Assertions.assertThat;

import io.payrelay.payments.ledger.Entry;
import io.payrelay.payments.ledger.Posting;
import io.payrelay.payments.ledger.PostingKind;
import io.payrelay.payments.ledger.Postings;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** What the store would hold after facts, and what must be true of it after each of them. */
final class Books {

  final Map<String, Payment> payments = new LinkedHashMap<>();
  final Map<String, Posting> postings = new LinkedHashMap<>();
  final Map<String, ExceptionCase> cases = new LinkedHashMap<>();
  private final Set<String> seenMoney = new HashSet<>();
  private final Set<String> failureSaid = new HashSet<>();
  private final Map<String, Set<String>> succeededWith = new HashMap<>();

  Books(List<String> paymentIds) {
    paymentIds.forEach(id -> payments.put(id, Samples.payment(id, PaymentStatus.CREATED)));
  }

  void apply(Fact fact) {
    Payment before = payments.get(fact.paymentId());
    String key = Postings.captureKey(fact.provider(), String.valueOf(fact.providerTransactionId()));
    Posting booked = postings.get(key);
    String claimedBy =
        booked == null || booked.paymentId().equals(before.paymentId()) ? null : booked.paymentId();
    boolean captured = hasMoney(before.paymentId());
    Decision decision =
        PaymentLifecycle.decide(before, fact, new PaymentLifecycle.Context(claimedBy, captured));
    assertThat(
            captured
                && before.status() != PaymentStatus.FAILED
                && decision.result(before).status() == PaymentStatus.FAILED)
        .as("%s becomes FAILED while its money is here", before)
        .isFalse();
    remember(fact, key);
    checkStates(before, decision);
    payments.put(before.paymentId(), decision.result(before));
    decision.postings().forEach(posting -> postings.putIfAbsent(posting.businessKey(), posting));
    decision.exceptions().forEach(one -> cases.putIfAbsent(one.businessKey(), one));
    checkBooks();
  }

  private boolean hasMoney(String paymentId) {
    return postings.values().stream()
        .anyMatch(
            posting ->
                posting.paymentId().equals(paymentId)
                    && (posting.kind() == PostingKind.CAPTURE
                        || posting.kind() == PostingKind.SUSPENSE_CAPTURE));
  }

  private void remember(Fact fact, String key) {
    if (fact.observation() == Observation.SUCCEEDED) {
      seenMoney.add(key);
      succeededWith.computeIfAbsent(fact.paymentId(), id -> new HashSet<>()).add(key);
    }
    if (fact.observation() == Observation.FAILED || fact.observation() == Observation.REFUSED) {
      failureSaid.add(fact.paymentId());
    }
  }

  private static void checkStates(Payment before, Decision decision) {
    long version = before.version();
    PaymentStatus status = before.status();
    for (Payment state : decision.states()) {
      assertThat(status.terminal()).as("a terminal state moves").isFalse();
      assertThat(state.version()).isEqualTo(++version);
      assertThat(state.status()).isNotEqualTo(status).isNotEqualTo(PaymentStatus.CREATED);
      status = state.status();
    }
    if (decision.note() == Decision.Note.CONFLICTING) {
      assertThat(decision.exceptions()).isNotEmpty();
    }
  }

  private void checkBooks() {
    Set<String> captured = new HashSet<>();
    Map<String, Long> sums = new HashMap<>();
    for (Posting posting : postings.values()) {
      if (posting.businessKey().startsWith("capture:")) {
        captured.add(posting.businessKey());
      }
      for (Entry entry : posting.entries()) {
        sums.merge(
            entry.account().currency(),
            entry.side() == Entry.Side.DEBIT ? entry.amountMinor() : -entry.amountMinor(),
            Math::addExact);
      }
    }
    assertThat(captured)
        .as("each provider transaction that took money is booked once")
        .isEqualTo(seenMoney);
    assertThat(sums.values()).allMatch(sum -> sum == 0);
    payments.values().forEach(this::checkPayment);
  }

  private void checkPayment(Payment payment) {
    if (payment.status() == PaymentStatus.FAILED) {
      assertThat(failureSaid).contains(payment.paymentId());
      assertThat(payment.failureCode()).isNotNull();
    }
    if (payment.status() == PaymentStatus.FAILED && hasMoney(payment.paymentId())) {
      assertThat(cases.values())
          .as("a late success of %s", payment)
          .anyMatch(
              one ->
                  one.kind() == ExceptionKind.LATE_SUCCESS
                      && payment.paymentId().equals(one.paymentId()));
    }
    String own = null;
    if (payment.status() == PaymentStatus.SUCCEEDED) {
      own = Postings.captureKey(payment.provider(), payment.providerTransactionId());
      assertThat(postings.get(own).paymentId()).isEqualTo(payment.paymentId());
    }
    // Money that no SUCCEEDED payment explains is a person's, with a case that names it.
    for (String key : succeededWith.getOrDefault(payment.paymentId(), Set.of())) {
      Posting posting = postings.get(key);
      if (!key.equals(own) || posting.kind() == PostingKind.SUSPENSE_CAPTURE) {
        assertThat(cases.values())
            .as("a case for %s of %s", key, payment)
            .anyMatch(
                one ->
                    payment.paymentId().equals(one.paymentId())
                        && Postings.captureKey(one.provider(), one.providerTransactionId())
                            .equals(key));
      }
    }
  }
}

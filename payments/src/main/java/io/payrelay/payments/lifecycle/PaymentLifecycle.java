package io.payrelay.payments.lifecycle;

import static io.payrelay.payments.lifecycle.PaymentStatus.CREATED;
import static io.payrelay.payments.lifecycle.PaymentStatus.FAILED;
import static io.payrelay.payments.lifecycle.PaymentStatus.PENDING;
import static io.payrelay.payments.lifecycle.PaymentStatus.SUCCEEDED;
import static io.payrelay.payments.lifecycle.PaymentStatus.UNKNOWN;

import io.payrelay.payments.ledger.Posting;
import io.payrelay.payments.ledger.PostingKind;
import io.payrelay.payments.ledger.Postings;
import io.payrelay.payments.lifecycle.Decision.NextAction;
import io.payrelay.payments.lifecycle.Decision.Note;
import io.payrelay.payments.money.Money;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The one function that decides what a fact means for a payment. Total, pure, stateless. Answers,
 * callbacks, queries, settlement lines and people all come through here, so they cannot overwrite
 * each other (ARCHITECTURE.md).
 */
public final class PaymentLifecycle {

  private static final String NO_CODE = "unspecified";

  private PaymentLifecycle() {}

  /**
   * What the ledger says beside the row. Immutable.
   *
   * @param claimedBy the other payment that already holds the fact's provider transaction, as its
   *     own or in suspense, or null
   * @param captured whether money is booked for the payment, as its own or in suspense
   */
  public record Context(@Nullable String claimedBy, boolean captured) {}

  /**
   * Decides.
   *
   * @param payment the row as it is locked
   */
  public static Decision decide(Payment payment, Fact fact, Context context) {
    if (!fact.paymentId().equals(payment.paymentId())) {
      throw new IllegalArgumentException("the fact is about another payment");
    }
    return switch (fact.observation()) {
      case REFUSED -> refused(payment, fact, context);
      case PAYLOAD_DIFFERS ->
          payment.status().terminal()
              ? nothing(payment)
              : raise(payment, fact, ExceptionKind.PAYLOAD_MISMATCH, List.of(), List.of());
      case UNRESOLVED ->
          payment.status().terminal()
              ? nothing(payment)
              : raise(payment, fact, ExceptionKind.UNRESOLVED, List.of(), List.of());
      case KEY_REFUSED ->
          payment.status().terminal()
              ? nothing(payment)
              : raise(payment, fact, ExceptionKind.KEY_REFUSED, toUnknown(payment), List.of());
      case DISPUTED -> moved(payment, fact, PostingKind.DISPUTE, ExceptionKind.DISPUTED);
      case DISPUTE_WON -> moved(payment, fact, PostingKind.DISPUTE_WON, ExceptionKind.DISPUTE_WON);
      case DISPUTE_LOST ->
          moved(payment, fact, PostingKind.DISPUTE_LOST, ExceptionKind.DISPUTE_LOST);
      case PROVIDER_REFUND ->
          moved(payment, fact, PostingKind.PROVIDER_REFUND, ExceptionKind.PROVIDER_REFUND);
      case PENDING, SUCCEEDED, FAILED, FAILURE_REPORTED, UNKNOWN -> outcome(payment, fact, context);
    };
  }

  private static Decision outcome(Payment payment, Fact fact, Context context) {
    String claimedBy = context.claimedBy();
    if (fact.observation() == Observation.SUCCEEDED && claimedBy != null) {
      // Its money was booked for the other payment; booking it here too would invent money.
      return raise(
          payment,
          fact,
          ExceptionKind.TRANSACTION_CLAIMED_TWICE,
          toUnknown(payment),
          List.of(),
          Map.of("claimed_by_payment_id", claimedBy));
    }
    ExceptionKind mismatch = mismatch(payment, fact);
    if (mismatch != null && !anotherSuccess(payment, fact)) {
      // Whatever it says, it does not speak of what we asked for.
      return raise(payment, fact, mismatch, toUnknown(payment), arrivedUnexplained(payment, fact));
    }
    return switch (fact.observation()) {
      case SUCCEEDED -> succeeded(payment, fact);
      case FAILED -> failed(payment, fact, context);
      case FAILURE_REPORTED -> payment.status() == SUCCEEDED ? ignored() : seen(payment);
      case PENDING -> seen(payment);
      case UNKNOWN ->
          payment.status().terminal() || payment.status() == UNKNOWN
              ? nothing(payment)
              : change(
                  payment,
                  payment.status() == CREATED ? List.of(PENDING, UNKNOWN) : List.of(UNKNOWN));
      case REFUSED,
          PAYLOAD_DIFFERS,
          KEY_REFUSED,
          UNRESOLVED,
          DISPUTED,
          DISPUTE_WON,
          DISPUTE_LOST,
          PROVIDER_REFUND ->
          throw new IllegalArgumentException(fact.observation() + " is no outcome");
    };
  }

  /** Money for a payment that has its end: late or double, whatever else is wrong with it. */
  private static boolean anotherSuccess(Payment payment, Fact fact) {
    return fact.observation() == Observation.SUCCEEDED
        && payment.status().terminal()
        && !transactionId(fact).equals(payment.providerTransactionId());
  }

  private static Decision succeeded(Payment payment, Fact fact) {
    String transactionId = transactionId(fact);
    return switch (payment.status()) {
      case SUCCEEDED ->
          transactionId.equals(payment.providerTransactionId())
              ? nothing(payment)
              : raise(
                  payment,
                  fact,
                  ExceptionKind.DOUBLE_CHARGE,
                  List.of(),
                  arrivedUnexplained(payment, fact));
      case FAILED ->
          raise(
              payment,
              fact,
              ExceptionKind.LATE_SUCCESS,
              List.of(),
              arrivedUnexplained(payment, fact));
      case CREATED, PENDING, UNKNOWN -> {
        List<Payment> states = new ArrayList<>();
        Payment current = payment;
        if (payment.status() == CREATED) {
          current = current.after(PENDING, null, null);
          states.add(current);
        }
        states.add(current.after(SUCCEEDED, transactionId, null));
        Posting capture =
            Postings.capture(
                payment.paymentId(),
                payment.provider(),
                transactionId,
                payment.amount(),
                fact.observedAt());
        yield new Decision(states, Note.NONE, List.of(capture), List.of(), NextAction.NONE);
      }
    };
  }

  private static Decision failed(Payment payment, Fact fact, Context context) {
    if (context.captured() && !payment.status().terminal()) {
      // FAILED lets the order be paid anew: not while the payer's money is here.
      return raise(
          payment, fact, ExceptionKind.FAILED_AFTER_CAPTURE, toUnknown(payment), List.of());
    }
    return switch (payment.status()) {
      case SUCCEEDED -> ignored();
      case FAILED -> nothing(payment);
      case CREATED, PENDING, UNKNOWN -> {
        List<Payment> states = new ArrayList<>();
        Payment current = payment;
        if (payment.status() == CREATED) {
          current = current.after(PENDING, null, null);
          states.add(current);
        }
        states.add(current.after(FAILED, null, code(fact)));
        yield new Decision(states, Note.NONE, List.of(), List.of(), NextAction.NONE);
      }
    };
  }

  /** Only where nothing can have been sent does a refusal end the payment. */
  private static Decision refused(Payment payment, Fact fact, Context context) {
    return payment.status() == CREATED ? failed(payment, fact, context) : nothing(payment);
  }

  private static Decision moved(
      Payment payment, Fact fact, PostingKind posting, ExceptionKind kind) {
    String reference = transactionId(fact) + ":" + Objects.requireNonNullElse(fact.reference(), "");
    Posting movement =
        Postings.movement(
            posting,
            payment.paymentId(),
            fact.provider(),
            reference,
            Objects.requireNonNull(fact.amount()),
            fact.observedAt());
    return new Decision(
        List.of(),
        Note.MONEY_REVERSED,
        List.of(movement),
        List.of(exception(payment, fact, kind, Map.of())),
        payment.status().terminal() ? NextAction.NONE : NextAction.QUERY);
  }

  private static @Nullable ExceptionKind mismatch(Payment payment, Fact fact) {
    if (!fact.provider().equals(payment.provider())) {
      return ExceptionKind.PROVIDER_MISMATCH;
    }
    Money amount = fact.amount();
    if (amount != null && !amount.currency().equals(payment.amount().currency())) {
      return ExceptionKind.CURRENCY_MISMATCH;
    }
    if (amount != null && amount.amountMinor() != payment.amount().amountMinor()) {
      return ExceptionKind.AMOUNT_MISMATCH;
    }
    if (fact.payeeAccount() != null
        && payment.payeeAccount() != null
        && !fact.payeeAccount().equals(payment.payeeAccount())) {
      return ExceptionKind.PAYEE_MISMATCH;
    }
    return null;
  }

  private static List<Posting> arrivedUnexplained(Payment payment, Fact fact) {
    return fact.observation() != Observation.SUCCEEDED
        ? List.of()
        : List.of(
            Postings.suspenseCapture(
                payment.paymentId(),
                fact.provider(),
                transactionId(fact),
                Objects.requireNonNull(fact.amount()),
                fact.observedAt()));
  }

  private static List<PaymentStatus> toUnknown(Payment payment) {
    return switch (payment.status()) {
      case CREATED -> List.of(PENDING, UNKNOWN);
      case PENDING -> List.of(UNKNOWN);
      case UNKNOWN, SUCCEEDED, FAILED -> List.of();
    };
  }

  private static Decision raise(
      Payment payment,
      Fact fact,
      ExceptionKind kind,
      List<PaymentStatus> path,
      List<Posting> postings) {
    return raise(payment, fact, kind, path, postings, Map.of());
  }

  private static Decision raise(
      Payment payment,
      Fact fact,
      ExceptionKind kind,
      List<PaymentStatus> path,
      List<Posting> postings,
      Map<String, String> more) {
    return new Decision(
        walk(payment, path),
        Note.CONFLICTING,
        postings,
        List.of(exception(payment, fact, kind, more)),
        // A wrong trigger says nothing about a charge that is already under way.
        kind == ExceptionKind.PAYLOAD_MISMATCH && payment.status() != CREATED
            ? NextAction.QUERY
            : NextAction.NONE);
  }

  private static Decision ignored() {
    return new Decision(List.of(), Note.IGNORED, List.of(), List.of(), NextAction.NONE);
  }

  /** The provider has it: what comes of it, its own answer tells. */
  private static Decision seen(Payment payment) {
    return payment.status() == CREATED ? change(payment, List.of(PENDING)) : nothing(payment);
  }

  private static Decision change(Payment payment, List<PaymentStatus> path) {
    return new Decision(walk(payment, path), Note.NONE, List.of(), List.of(), NextAction.QUERY);
  }

  private static List<Payment> walk(Payment payment, List<PaymentStatus> path) {
    List<Payment> states = new ArrayList<>();
    Payment current = payment;
    for (PaymentStatus status : path) {
      current = current.after(status, null, null);
      states.add(current);
    }
    return states;
  }

  private static Decision nothing(Payment payment) {
    return new Decision(List.of(), Note.NONE, List.of(), List.of(), nextOf(payment));
  }

  private static NextAction nextOf(Payment payment) {
    return payment.status().terminal() ? NextAction.NONE : NextAction.QUERY;
  }

  private static ExceptionCase exception(
      Payment payment, Fact fact, ExceptionKind kind, Map<String, String> more) {
    Map<String, String> evidence = new HashMap<>(fact.evidence());
    evidence.putAll(more);
    evidence.put("source", fact.source().name());
    evidence.put("observation", fact.observation().name());
    evidence.put("payment_status", payment.status().name());
    if (fact.code() != null) {
      evidence.put("code", fact.code());
    }
    if (fact.payeeAccount() != null) {
      evidence.put("observed_payee_account", fact.payeeAccount());
    }
    String about =
        fact.providerTransactionId() == null
            ? ""
            : ":"
                + fact.providerTransactionId()
                + (fact.reference() == null ? "" : ":" + fact.reference());
    return new ExceptionCase(
        // With the provider: two providers may give the same id to two transactions.
        kind + ":" + payment.paymentId() + ":" + fact.provider() + about,
        kind,
        payment.paymentId(),
        fact.provider(),
        fact.providerTransactionId(),
        payment.amount(),
        fact.amount(),
        payment.traceId(),
        evidence,
        fact.observedAt());
  }

  private static String code(Fact fact) {
    return Objects.requireNonNullElse(fact.code(), NO_CODE);
  }

  private static String transactionId(Fact fact) {
    return Objects.requireNonNull(fact.providerTransactionId());
  }
}

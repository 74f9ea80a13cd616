package io.payrelay.payments.lifecycle;

import static io.payrelay.payments.lifecycle.RefundStatus.FAILED;
import static io.payrelay.payments.lifecycle.RefundStatus.PENDING;
import static io.payrelay.payments.lifecycle.RefundStatus.REQUESTED;
import static io.payrelay.payments.lifecycle.RefundStatus.RETURNED;
import static io.payrelay.payments.lifecycle.RefundStatus.SUCCEEDED;
import static io.payrelay.payments.lifecycle.RefundStatus.UNKNOWN;

import io.payrelay.payments.ledger.AccountKind;
import io.payrelay.payments.ledger.Posting;
import io.payrelay.payments.lifecycle.Decision.NextAction;
import io.payrelay.payments.lifecycle.Decision.Note;
import io.payrelay.payments.money.Money;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The one function that decides what a fact means for a refund. Total, pure, stateless. Answers,
 * callbacks, queries, settlement lines and people all come through here, as for payments. Whether
 * the provider's word came as an answer or as news of a refund (SUCCEEDED, PROVIDER_REFUND) makes
 * no difference: the refund at the provider is one.
 */
public final class RefundLifecycle {

  private static final String NO_CODE = "unspecified";

  private RefundLifecycle() {}

  /**
   * What the ledger holds of the refund at the provider that the fact is about.
   *
   * @param against the account that was debited
   */
  public record Booked(AccountKind against, Money amount) {}

  /**
   * What the database says beside the row. Immutable.
   *
   * @param claimedBy the other refund that already holds the fact's reference, or null
   * @param fromSuspense no SUCCEEDED payment explains the money that is given back
   * @param booked null where nothing is booked, or what was is reversed
   * @param failure the latest word that the refund at the provider which the fact names has failed;
   *     null where nobody said so of it
   * @param returned what was booked of it is reversed
   */
  public record Context(
      @Nullable String claimedBy,
      boolean fromSuspense,
      @Nullable Booked booked,
      @Nullable RefundFailure failure,
      boolean returned) {}

  /**
   * Decides.
   *
   * @param refund the row as it is locked
   */
  public static RefundDecision decide(Refund refund, Fact fact, Context context) {
    if (!fact.paymentId().equals(refund.paymentId())
        || (fact.refundId() != null && !fact.refundId().equals(refund.refundId()))) {
      throw new IllegalArgumentException("the fact is about another refund");
    }
    return switch (fact.observation()) {
      case REFUSED -> refused(refund, fact, context);
      case PAYLOAD_DIFFERS ->
          refund.status().ended()
              ? same(refund)
              : raise(refund, fact, ExceptionKind.PAYLOAD_MISMATCH, List.of(), List.of());
      case UNRESOLVED ->
          // One that had succeeded is asked about where somebody says that it failed after all.
          refund.status().ended() && refund.status() != RefundStatus.SUCCEEDED
              ? same(refund)
              : raise(refund, fact, ExceptionKind.UNRESOLVED, List.of(), List.of());
      case KEY_REFUSED ->
          refund.status().ended()
              ? same(refund)
              : raise(refund, fact, ExceptionKind.KEY_REFUSED, toUnknown(refund), List.of());
      // They are about the payment.
      case DISPUTED, DISPUTE_WON, DISPUTE_LOST -> same(refund);
      case PENDING, SUCCEEDED, PROVIDER_REFUND, FAILED, FAILURE_REPORTED, UNKNOWN ->
          outcome(refund, fact, context);
    };
  }

  private static RefundDecision outcome(Refund refund, Fact fact, Context context) {
    String claimedBy = context.claimedBy();
    if (claimedBy != null) {
      // It speaks of another refund of ours, as a provider does that was asked under a used id.
      return raise(
          refund,
          fact,
          ExceptionKind.TRANSACTION_CLAIMED_TWICE,
          toUnknown(refund),
          List.of(),
          Map.of("claimed_by_refund_id", claimedBy));
    }
    ExceptionKind mismatch = mismatch(refund, fact);
    boolean notAsAsked =
        mismatch == null ? isAnother(refund, fact) : mismatch != ExceptionKind.PROVIDER_MISMATCH;
    if (notAsAsked && isSuccess(fact) && RefundFailure.isAfter(fact, context.failure())) {
      return ignored(refund);
    }
    if (notAsAsked && fact.observation() == Observation.FAILED) {
      if (context.returned()) {
        return same(refund);
      }
      if (isBooked(refund, fact, context.booked())) {
        return returned(refund, fact, context);
      }
    }
    if (mismatch != null && isAccepted(refund, fact, context)) {
      return accepted(refund, fact);
    }
    if (mismatch != null) {
      // Whatever it says, it does not speak of what we asked for.
      RefundDecision raised =
          raise(
              refund,
              fact,
              kindOf(mismatch, refund, fact),
              toUnknown(refund),
              RefundPostings.leftUnexplained(refund, fact));
      boolean ours =
          mismatch != ExceptionKind.PROVIDER_MISMATCH
              && !isAnother(refund, fact)
              && (isSuccess(fact) || !refund.status().ended());
      return ours ? identified(raised, fact.reference()) : raised;
    }
    return switch (fact.observation()) {
      case SUCCEEDED, PROVIDER_REFUND -> succeeded(refund, fact, context);
      case FAILED -> failed(refund, fact, context);
      case FAILURE_REPORTED -> hint(refund);
      case PENDING -> pending(refund, fact);
      case UNKNOWN ->
          switch (refund.status()) {
            case REQUESTED, PENDING -> change(refund, toUnknown(refund));
            case UNKNOWN, SUCCEEDED, FAILED, RETURNED -> same(refund);
          };
      case REFUSED, PAYLOAD_DIFFERS, KEY_REFUSED, UNRESOLVED, DISPUTED, DISPUTE_WON, DISPUTE_LOST ->
          throw new IllegalArgumentException(fact.observation() + " is no outcome");
    };
  }

  /** Only what the books show as gone can be back, and all of it. */
  private static boolean isBooked(Refund refund, Fact fact, @Nullable Booked booked) {
    return booked != null
        && (fact.amount() == null
            ? isAnother(refund, fact)
            : booked.amount().equals(fact.amount()));
  }

  /**
   * Does a person take what left for what was asked for? It has to be what the ledger shows as
   * gone: nothing is booked for it any more.
   */
  private static boolean isAccepted(Refund refund, Fact fact, Context context) {
    return fact.source() == FactSource.OPERATOR
        && isSuccess(fact)
        && !refund.status().ended()
        && !isAnother(refund, fact)
        && context.booked() != null
        && context.booked().amount().equals(fact.amount())
        && fact.provider().equals(refund.provider())
        && refund.providerTransactionId().equals(fact.providerTransactionId());
  }

  private static RefundDecision accepted(Refund refund, Fact fact) {
    List<Refund> states =
        walk(
            refund.identified(reference(refund, fact)),
            refund.status() == REQUESTED ? List.of(PENDING, SUCCEEDED) : List.of(SUCCEEDED));
    return new RefundDecision(
        states, last(refund, states), Note.NONE, List.of(), List.of(), NextAction.NONE);
  }

  /** Money that left late or twice, whatever else is wrong with it. */
  private static ExceptionKind kindOf(ExceptionKind mismatch, Refund refund, Fact fact) {
    if (!isSuccess(fact) || mismatch == ExceptionKind.PROVIDER_MISMATCH) {
      return mismatch;
    }
    if (refund.status() == FAILED) {
      return ExceptionKind.LATE_REFUND;
    }
    return isAnother(refund, fact) ? ExceptionKind.DOUBLE_REFUND : mismatch;
  }

  static boolean isSuccess(Fact fact) {
    return fact.observation() == Observation.SUCCEEDED
        || fact.observation() == Observation.PROVIDER_REFUND;
  }

  private static RefundDecision succeeded(Refund refund, Fact fact, Context context) {
    boolean another = isAnother(refund, fact);
    return switch (refund.status()) {
      case REQUESTED, PENDING, UNKNOWN -> {
        if (another) {
          yield raise(
              refund,
              fact,
              ExceptionKind.DOUBLE_REFUND,
              toUnknown(refund),
              RefundPostings.leftUnexplained(refund, fact));
        }
        List<Refund> states = new ArrayList<>();
        Refund current = refund.identified(reference(refund, fact));
        if (current.status() == REQUESTED) {
          current = current.after(PENDING, null);
          states.add(current);
        }
        current = current.after(SUCCEEDED, null);
        states.add(current);
        Posting gone = RefundPostings.gone(refund, fact, context);
        if (RefundFailure.isAfter(fact, context.failure())) {
          yield cameBackAlready(refund, fact, context, states, gone);
        }
        yield new RefundDecision(
            states, current, Note.NONE, List.of(gone), List.of(), NextAction.NONE);
      }
      case SUCCEEDED, RETURNED -> {
        if (another) {
          yield raise(
              refund,
              fact,
              ExceptionKind.DOUBLE_REFUND,
              List.of(),
              RefundPostings.leftUnexplained(refund, fact));
        }
        yield refund.status() == SUCCEEDED ? same(refund) : ignored(refund);
      }
      case FAILED ->
          RefundFailure.isAfter(fact, context.failure())
              ? ignored(refund)
              : identified(
                  raise(
                      refund,
                      fact,
                      ExceptionKind.LATE_REFUND,
                      List.of(),
                      List.of(RefundPostings.gone(refund, fact, context))),
                  fact.reference());
    };
  }

  /** Its failure was told before anybody knew that it is ours. */
  private static RefundDecision cameBackAlready(
      Refund refund, Fact success, Context context, List<Refund> states, Posting gone) {
    RefundFailure failure = Objects.requireNonNull(context.failure());
    Refund returned =
        last(refund, states).after(RETURNED, Objects.requireNonNullElse(failure.code(), NO_CODE));
    states.add(returned);
    if (context.returned()) {
      // Both postings are there, and the case that tells of them.
      return new RefundDecision(states, returned, Note.NONE, List.of(), List.of(), NextAction.NONE);
    }
    Posting back = RefundPostings.backAgain(refund, gone, context, failure.at());
    return new RefundDecision(
        states,
        returned,
        Note.NONE,
        List.of(gone, back),
        List.of(RefundCases.returned(refund, success)),
        NextAction.NONE);
  }

  private static RefundDecision failed(Refund refund, Fact fact, Context context) {
    if (isAnother(refund, fact)) {
      // Another refund at the provider failed; of ours that says nothing.
      return ignored(refund);
    }
    List<Posting> back = RefundPostings.cameBack(refund, fact, context);
    return switch (refund.status()) {
      case REQUESTED, PENDING, UNKNOWN -> {
        List<Refund> states = new ArrayList<>();
        Refund current = refund.identified(fact.reference());
        if (current.status() == REQUESTED) {
          current = current.after(PENDING, null);
          states.add(current);
        }
        current = current.after(FAILED, code(fact));
        states.add(current);
        List<ExceptionCase> cases = new ArrayList<>();
        if (!back.isEmpty()) {
          cases.add(RefundCases.returned(refund, fact));
        } else if (refund.isOfCase() && !context.returned()) {
          cases.add(RefundCases.notGivenBack(refund, fact, code(fact)));
        }
        yield new RefundDecision(states, current, Note.NONE, back, cases, NextAction.NONE);
      }
      case SUCCEEDED -> {
        Refund returned = refund.after(RETURNED, code(fact));
        yield new RefundDecision(
            List.of(returned),
            returned,
            Note.NONE,
            back,
            List.of(RefundCases.returned(refund, fact)),
            NextAction.NONE);
      }
      case FAILED -> back.isEmpty() ? same(refund) : returned(refund, fact, context);
      case RETURNED -> same(refund);
    };
  }

  /** Money that was booked as gone is back; what we asked for stands as it stood. */
  private static RefundDecision returned(Refund refund, Fact fact, Context context) {
    return new RefundDecision(
        List.of(),
        refund,
        Note.MONEY_REVERSED,
        RefundPostings.cameBack(refund, fact, context),
        List.of(RefundCases.returned(refund, fact)),
        nextOf(refund));
  }

  /** Only where nothing can have been sent does a refusal end the refund; and it names nothing. */
  private static RefundDecision refused(Refund refund, Fact fact, Context context) {
    if (refund.status() != REQUESTED) {
      return same(refund);
    }
    Fact unnamed =
        Fact.plain(
            fact.source(),
            fact.provider(),
            fact.paymentId(),
            fact.observation(),
            fact.code(),
            fact.observedAt(),
            fact.evidence());
    return failed(refund, unnamed, new Context(null, context.fromSuspense(), null, null, false));
  }

  private static RefundDecision pending(Refund refund, Fact fact) {
    if (refund.status().ended() || isAnother(refund, fact)) {
      return same(refund);
    }
    Refund known = refund.identified(fact.reference());
    if (refund.status() == REQUESTED) {
      return change(known, List.of(PENDING));
    }
    return new RefundDecision(List.of(), known, Note.NONE, List.of(), List.of(), NextAction.QUERY);
  }

  /** A failure that somebody reports is asked about, also where it had SUCCEEDED. */
  private static RefundDecision hint(Refund refund) {
    return switch (refund.status()) {
      case REQUESTED -> change(refund, List.of(PENDING));
      case PENDING, UNKNOWN, SUCCEEDED ->
          new RefundDecision(List.of(), refund, Note.NONE, List.of(), List.of(), NextAction.QUERY);
      case FAILED, RETURNED -> same(refund);
    };
  }

  /** A refund at the provider that is not the one we know as ours. */
  private static boolean isAnother(Refund refund, Fact fact) {
    return refund.providerRefundId() != null
        && fact.reference() != null
        && !refund.providerRefundId().equals(fact.reference());
  }

  private static @Nullable ExceptionKind mismatch(Refund refund, Fact fact) {
    boolean otherMoney =
        fact.providerTransactionId() != null
            && !fact.providerTransactionId().equals(refund.providerTransactionId());
    if (!fact.provider().equals(refund.provider()) || otherMoney) {
      return ExceptionKind.PROVIDER_MISMATCH;
    }
    Money amount = fact.amount();
    if (amount != null && !amount.currency().equals(refund.amount().currency())) {
      return ExceptionKind.CURRENCY_MISMATCH;
    }
    return amount != null && amount.amountMinor() != refund.amount().amountMinor()
        ? ExceptionKind.AMOUNT_MISMATCH
        : null;
  }

  /** Where nobody names the provider's id of it, ours stands for it. */
  public static String reference(Refund refund, Fact fact) {
    String known =
        refund.providerRefundId() == null ? refund.refundId() : refund.providerRefundId();
    return Objects.requireNonNullElse(fact.reference(), known);
  }

  private static List<RefundStatus> toUnknown(Refund refund) {
    return switch (refund.status()) {
      case REQUESTED -> List.of(PENDING, UNKNOWN);
      case PENDING -> List.of(UNKNOWN);
      case UNKNOWN, SUCCEEDED, FAILED, RETURNED -> List.of();
    };
  }

  private static RefundDecision raise(
      Refund refund,
      Fact fact,
      ExceptionKind kind,
      List<RefundStatus> path,
      List<Posting> postings) {
    return raise(refund, fact, kind, path, postings, Map.of());
  }

  private static RefundDecision raise(
      Refund refund,
      Fact fact,
      ExceptionKind kind,
      List<RefundStatus> path,
      List<Posting> postings,
      Map<String, String> more) {
    List<Refund> states = walk(refund, path);
    return new RefundDecision(
        states,
        last(refund, states),
        Note.CONFLICTING,
        postings,
        List.of(RefundCases.of(refund, fact, kind, more)),
        // A wrong trigger says nothing about a refund that is already under way.
        kind == ExceptionKind.PAYLOAD_MISMATCH && refund.status() != REQUESTED
            ? NextAction.QUERY
            : NextAction.NONE);
  }

  private static RefundDecision identified(RefundDecision decision, @Nullable String id) {
    return new RefundDecision(
        decision.states(),
        decision.result().identified(id),
        decision.note(),
        decision.postings(),
        decision.exceptions(),
        decision.next());
  }

  private static RefundDecision change(Refund refund, List<RefundStatus> path) {
    List<Refund> states = walk(refund, path);
    return new RefundDecision(
        states, last(refund, states), Note.NONE, List.of(), List.of(), NextAction.QUERY);
  }

  private static List<Refund> walk(Refund refund, List<RefundStatus> path) {
    List<Refund> states = new ArrayList<>();
    Refund current = refund;
    for (RefundStatus status : path) {
      current = current.after(status, null);
      states.add(current);
    }
    return states;
  }

  private static Refund last(Refund before, List<Refund> states) {
    return states.isEmpty() ? before : states.get(states.size() - 1);
  }

  private static RefundDecision ignored(Refund refund) {
    return new RefundDecision(
        List.of(), refund, Note.IGNORED, List.of(), List.of(), nextOf(refund));
  }

  private static RefundDecision same(Refund refund) {
    return new RefundDecision(List.of(), refund, Note.NONE, List.of(), List.of(), nextOf(refund));
  }

  private static NextAction nextOf(Refund refund) {
    return refund.status().ended() ? NextAction.NONE : NextAction.QUERY;
  }

  private static String code(Fact fact) {
    return Objects.requireNonNullElse(fact.code(), NO_CODE);
  }
}

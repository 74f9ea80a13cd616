package io.payrelay.payments.store;

import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What a person did, for the record. Immutable.
 *
 * @param action the command, such as {@code exceptions resolve close}
 * @param by who they say they are; the database adds the login
 * @param reason why; never empty
 * @param evidence what they rely on
 * @param arguments what they named, without secrets
 * @param result what came of it, a refusal included
 */
public record OperatorAction(
    String action,
    String by,
    String reason,
    @Nullable String evidence,
    @Nullable Long exceptionCaseId,
    @Nullable String paymentId,
    @Nullable String provider,
    @Nullable String eventId,
    Map<String, String> arguments,
    String result) {

  /** Copies the map. */
  public OperatorAction {
    arguments = Map.copyOf(arguments);
  }

  /** Of a person, about nothing yet. */
  public static OperatorAction of(String action, Person person, String result) {
    return new OperatorAction(
        action,
        person.by(),
        person.reason(),
        person.evidence(),
        null,
        null,
        null,
        null,
        Map.of(),
        result);
  }

  /** The same about a case and a payment. */
  public OperatorAction about(@Nullable Long caseId, @Nullable String aboutPaymentId) {
    return new OperatorAction(
        action, by, reason, evidence, caseId, aboutPaymentId, provider, eventId, arguments, result);
  }

  /** The same about a webhook event. */
  public OperatorAction aboutEvent(String ofProvider, String id, @Nullable String aboutPaymentId) {
    return new OperatorAction(
        action,
        by,
        reason,
        evidence,
        exceptionCaseId,
        aboutPaymentId,
        ofProvider,
        id,
        arguments,
        result);
  }

  /** The same with arguments. */
  public OperatorAction with(Map<String, String> given) {
    return new OperatorAction(
        action, by, reason, evidence, exceptionCaseId, paymentId, provider, eventId, given, result);
  }
}

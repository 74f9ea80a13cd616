package io.payrelay.webhook;

import io.payrelay.payments.money.Money;
import io.payrelay.payments.store.CaseStore;
import io.payrelay.payments.store.OperatorAction;
import io.payrelay.payments.store.OperatorActionStore;
import io.payrelay.payments.store.Person;
import io.payrelay.providers.WebhookAdapter;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jdbi.v3.core.Handle;
import org.jdbi.v3.core.Jdbi;
import org.jspecify.annotations.Nullable;

/**
 * What a person does with stored webhook events, under a login with the role payrelay_operator.
 * Each deed and its record are one transaction. Safe for any thread.
 */
public final class WebhookDesk {

  /** As the ingest's own defaults; an event that still has no payment is looked at again soon. */
  private static final Duration DELAY_FIRST = Duration.ofSeconds(1);

  private static final Duration DELAY_MAX = Duration.ofMinutes(5);

  private final ParkedMatcher matcher;
  private final Map<String, WebhookAdapter> adapters;
  private final EventStore events = new EventStore();
  private final CaseStore cases = new CaseStore();
  private final OperatorActionStore actions = new OperatorActionStore();

  /**
   * A desk.
   *
   * @param adapters read only: their secrets may be any
   * @param parkLimit the ingest's: an event that has no payment yet waits on, and is looked at
   *     again by the ingest, which gives it up at that age; one that was given up is given up again
   */
  public WebhookDesk(
      Jdbi jdbi, List<WebhookAdapter> adapters, InstantSource clock, Duration parkLimit) {
    this.adapters = ParkedMatcher.byName(adapters);
    this.matcher =
        ParkedMatcher.forCommands(
            jdbi, adapters, clock, new ParkSchedule(DELAY_FIRST, DELAY_MAX, parkLimit));
  }

  /**
   * Applies an event again that is FAILED, UNMATCHED, PARKED or of an unknown type, and resolves
   * the cases that said that it could not be. What was applied is not applied twice.
   *
   * @return what it is now; empty where there is no such event, or its body was wiped
   */
  public Optional<Disposition> reprocess(String provider, String eventId, Person person) {
    return matcher.reprocess(
        provider,
        eventId,
        (tx, before, after, reason, paymentId) -> {
          String result =
              "%s to %s%s".formatted(before, after, reason == null ? "" : " (" + reason + ")");
          boolean settled =
              switch (after) {
                case APPLIED, NO_CHANGE, CONFLICT -> true;
                case PARKED, UNMATCHED, FAILED, UNKNOWN_TYPE -> false;
              };
          List<Long> resolved =
              settled
                  ? cases.resolveOfEvent(
                      tx, provider, eventId, person.by(), "reprocessed: " + result)
                  : List.of();
          actions.append(
              tx,
              OperatorAction.of(
                      "webhooks reprocess",
                      person,
                      resolved.isEmpty() ? result : result + "; resolves cases " + resolved)
                  .aboutEvent(provider, eventId, paymentId));
        });
  }

  /**
   * Has the waiting events of an adopted payment applied by the next look of an ingest.
   *
   * @param namedPaymentId what they call it
   * @return their ids
   */
  public List<String> makeDue(
      Handle tx, String provider, @Nullable String namedPaymentId, String transactionId) {
    return events.makeDue(tx, provider, namedPaymentId, transactionId);
  }

  /**
   * What events that wait for a provider's payment say has left it again, or may still.
   *
   * @param namedPaymentId what they call it
   * @param money what had come in
   */
  public GoneMoney gone(
      Handle tx,
      String provider,
      @Nullable String namedPaymentId,
      String transactionId,
      Money money) {
    return GoneMoney.of(
        events.unsettled(tx, provider, namedPaymentId, transactionId),
        adapters.get(provider),
        transactionId,
        money);
  }
}

package io.payrelay.app;

import io.payrelay.payments.lifecycle.ExceptionKind;
import io.payrelay.payments.money.Money;
import io.payrelay.payments.store.CaseResolution;
import io.payrelay.payments.store.StoredCase;
import io.payrelay.platform.errors.Category;
import io.payrelay.platform.errors.PayrelayException;
import io.payrelay.webhook.GoneMoney;
import io.payrelay.webhook.WebhookDesk;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;
import org.jdbi.v3.core.Handle;
import org.jspecify.annotations.Nullable;

/**
 * Giving back a provider's payment that nobody here had asked for: its ledger begins with the
 * refund, so what went back at the provider before is known from the events alone that wait for it.
 * Immutable.
 *
 * @param resolution what is asked for, taken down to what is left
 * @param sentences what a person should know of that
 */
record StrayRefund(CaseResolution resolution, List<String> sentences) {

  /** Copies the list. */
  StrayRefund {
    sentences = List.copyOf(sentences);
  }

  /**
   * Bounds a refund by what is left; any other resolution stays as it is.
   *
   * @throws PayrelayException REJECTED where less is left than asked for, or nobody can say
   */
  static StrayRefund bounded(
      Handle tx, WebhookDesk webhooks, @Nullable StoredCase found, CaseResolution resolution) {
    StrayRefund asIs = new StrayRefund(resolution, List.of());
    if (!(resolution instanceof CaseResolution.Refund refund)
        || found == null
        || !found.isOpen()
        || found.kind() != ExceptionKind.UNMATCHED_PROVIDER_PAYMENT) {
      return asIs;
    }
    String provider = found.provider();
    String transactionId = found.providerTransactionId();
    Money money = found.observed();
    if (provider == null || transactionId == null || money == null) {
      return asIs;
    }
    GoneMoney gone = webhooks.gone(tx, provider, found.paymentId(), transactionId, money);
    if (!gone.unread().isEmpty()) {
      throw refused(
          "Events %s of %s name transaction %s and cannot be read: they may tell of money that went back already. See `webhooks show`, reprocess them, or take the payment over with --adopt"
              .formatted(sorted(gone.unread()), provider, transactionId));
    }
    // A command holds no keys of providers.
    String notAsked =
        "%s itself was not asked what went back of transaction %s: only its events that are kept here were read; compare with its own records"
            .formatted(provider, transactionId);
    if (gone.minor() == 0) {
      return new StrayRefund(resolution, List.of(notAsked));
    }
    long left = money.amountMinor() - gone.minor();
    Long wanted = refund.amountMinor();
    String known =
        "%d of the %d %s of transaction %s went back at the provider already, or is disputed, as its events %s say"
            .formatted(
                gone.minor(),
                money.amountMinor(),
                money.currency(),
                transactionId,
                sorted(gone.eventIds()));
    if (left <= 0 || (wanted != null && wanted > left)) {
      throw refused(
          "%s: %s. Nothing was changed"
              .formatted(
                  known,
                  left <= 0
                      ? "nothing is left to refund; take the payment over with --adopt, and its events are booked"
                      : "refund %d at most (--amount-minor)".formatted(left)));
    }
    List<String> sentences = new ArrayList<>(List.of(known, notAsked));
    if (wanted == null) {
      sentences.add("so the rest is asked for, %d %s".formatted(left, money.currency()));
    }
    return new StrayRefund(
        new CaseResolution.Refund(wanted == null ? Long.valueOf(left) : wanted, refund.adoption()),
        sentences);
  }

  private static TreeSet<String> sorted(Iterable<String> ids) {
    TreeSet<String> sorted = new TreeSet<>();
    ids.forEach(sorted::add);
    return sorted;
  }

  private static PayrelayException refused(String sentence) {
    return new PayrelayException(Category.REJECTED, sentence);
  }
}

package io.payrelay.providers;

import io.payrelay.payments.lifecycle.Fact;
import java.util.List;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * What a webhook body says. Immutable; the array is not changed by anybody.
 *
 * @param eventId the provider's id of the event, the same on every delivery; where the provider
 *     gives none, made by the adapter of what is the same on every delivery
 * @param businessDigest SHA-256 of the fields that say what happened, without those that differ
 *     from delivery to delivery
 * @param paymentId ours, where the body names it; null: the payment is the one that holds the
 *     facts' provider transaction, and the facts are {@link #UNNAMED}
 * @param facts what it says of that one payment, all about the same provider transaction; empty
 *     where it says nothing we act on
 * @param asksProvider true where what it says can still change: the provider is to be asked now
 */
public record WebhookEvent(
    String eventId,
    String eventType,
    byte[] businessDigest,
    @Nullable String paymentId,
    List<Fact> facts,
    boolean asksProvider) {

  /** The payment id of facts that name their provider transaction only. */
  public static final String UNNAMED = "";

  /** The column that keeps event ids is no longer. */
  public static final int ID_LENGTH_MAX = 256;

  private static final Pattern ID = Pattern.compile("[\\x21-\\x7e]{1," + ID_LENGTH_MAX + "}");

  /** Copies the list. */
  public WebhookEvent {
    facts = List.copyOf(facts);
  }

  /** Can the text be kept as the id of an event? */
  public static boolean isId(String text) {
    return ID.matcher(text).matches();
  }
}

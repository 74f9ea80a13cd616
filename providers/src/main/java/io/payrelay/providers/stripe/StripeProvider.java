package io.payrelay.providers.stripe;

import io.payrelay.payments.lifecycle.Payment;
import io.payrelay.providers.Capabilities;
import io.payrelay.providers.ChargeCall;
import io.payrelay.providers.ChargeRef;
import io.payrelay.providers.PaymentProvider;
import io.payrelay.providers.Prepared;
import io.payrelay.providers.ProviderAnswer;
import io.payrelay.providers.ProviderResult;
import io.payrelay.providers.ProviderResult.Declined;
import io.payrelay.providers.ProviderResult.Pending;
import io.payrelay.providers.ProviderResult.Unknown;
import io.payrelay.providers.RefundCall;
import io.payrelay.providers.RefundOrder;
import io.payrelay.providers.RefundRef;
import io.payrelay.providers.RefundSupport;
import io.payrelay.providers.http.DeadlineBody;
import io.payrelay.providers.http.HttpAnswer;
import io.payrelay.providers.http.ProviderHttp;
import io.payrelay.providers.stripe.StripeClassifier.Reading;
import io.payrelay.providers.stripe.StripeLists.Found;
import java.net.URI;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Calls Stripe's API v1. A payment is one payment intent, created and confirmed in one call; its id
 * is the provider's transaction id. A declined intent can still be paid, so it is cancelled before
 * the payment is called declined. Safe for any thread.
 */
public final class StripeProvider implements PaymentProvider {

  /** Answers are read, and webhooks should be sent, in this version's shape. */
  static final String API_VERSION = "2026-07-29.dahlia";

  /** Stripe forgets a key no earlier than this. */
  private static final Duration KEY_LIFETIME = Duration.ofHours(24);

  private static final String FORM = "application/x-www-form-urlencoded";

  private final StripeConfig config;
  private final InstantSource clock;
  private final Capabilities capabilities;
  private final @Nullable String account;
  private final String intents;
  private final String refunds;
  private final StripeClassifier classifier;
  private final ProviderHttp http;
  private final StripeLists lists;
  private final StripeRefunds given;

  /** A client of the configured account; opens connections when they are needed. */
  public StripeProvider(StripeConfig config, InstantSource clock) {
    this.config = config;
    this.clock = clock;
    this.capabilities =
        new Capabilities(
            KEY_LIFETIME,
            true,
            config.queryLag(),
            true,
            RefundSupport.PARTIAL,
            "payment_intent",
            StripeAmounts.AMOUNTS);
    this.account = config.account().isEmpty() ? null : config.account();
    String base = ProviderHttp.base(config.url()) + "/v1/";
    this.intents = base + "payment_intents";
    this.refunds = base + "refunds";
    this.classifier = new StripeClassifier(config.liveMode(), account);
    this.http =
        new ProviderHttp(
            StripeWebhooks.NAME, config.connectTimeout(), clock, StripeLists.PAGE_BYTES_MAX);
    this.lists = new StripeLists(http, classifier, clock, config.queryPagesMax(), this::request);
    this.given = new StripeRefunds(http, classifier, clock, refunds, this::request);
  }

  @Override
  public String name() {
    return StripeWebhooks.NAME;
  }

  @Override
  public Capabilities capabilities() {
    return capabilities;
  }

  @Override
  public Prepared prepareCharge(Payment payment) {
    return StripeRequest.charge(payment, account);
  }

  @Override
  public CompletableFuture<ProviderAnswer> charge(ChargeCall call) {
    long deadlineNs = System.nanoTime() + call.timeout().toNanos();
    return http.send(
            order(intents, call.idempotencyKey()),
            new DeadlineBody(call.body(), call.sendDeadlineNs()),
            call.timeout(),
            answer -> {
              Reading reading = classifier.ofIntent(answer, call.paymentId(), clock.instant());
              return new Found(reading, answer(reading.result(), answer));
            },
            unanswered -> new Found(new Reading(unanswered.result()), unanswered))
        .thenCompose(
            found -> settled(found.reading(), call.paymentId(), found.answer(), deadlineNs));
  }

  @Override
  public CompletableFuture<ProviderAnswer> query(ChargeRef charge, Duration timeout) {
    long deadlineNs = System.nanoTime() + timeout.toNanos();
    return find(charge, deadlineNs)
        .thenCompose(
            found -> settled(found.reading(), charge.paymentId(), found.answer(), deadlineNs))
        .thenCompose(answer -> given.with(answer, deadlineNs));
  }

  @Override
  public CompletableFuture<ProviderAnswer> cancel(ChargeRef charge, Duration timeout) {
    long deadlineNs = System.nanoTime() + timeout.toNanos();
    return find(charge, deadlineNs)
        .thenCompose(
            found -> {
              Reading reading = found.reading();
              String open =
                  reading.result() instanceof Pending pending
                      ? pending.providerTransactionId()
                      : reading.payable();
              if (open == null) {
                return CompletableFuture.completedFuture(found.answer());
              }
              return cancelled(open, charge.paymentId(), deadlineNs);
            })
        .thenCompose(answer -> given.with(answer, deadlineNs));
  }

  @Override
  public Prepared prepareRefund(RefundOrder order) {
    return StripeRequest.refund(order);
  }

  @Override
  public CompletableFuture<ProviderAnswer> refund(RefundCall call) {
    return http.send(
        order(refunds, call.idempotencyKey()),
        new DeadlineBody(call.body(), call.sendDeadlineNs()),
        call.timeout(),
        answer -> refundAnswer(answer, call.refundId(), call.providerTransactionId()),
        Function.identity());
  }

  @Override
  public CompletableFuture<ProviderAnswer> queryRefund(RefundRef refund, Duration timeout) {
    String transaction = refund.providerTransactionId();
    if (refund.providerReference() != null) {
      URI uri = URI.create(refunds + "/" + StripeForm.encode(refund.providerReference()));
      return http.ask(
          request(uri).GET(),
          timeout,
          answer -> asked(refundAnswer(answer, refund.refundId(), transaction)));
    }
    StripeForm form =
        new StripeForm().put(StripeRequest.transactionField(transaction), transaction);
    return lists
        .matching(
            refunds,
            form,
            System.nanoTime() + timeout.toNanos(),
            item -> refund.refundId().equals(StripeMetadata.refundId(item)),
            item -> new Reading(classifier.refund(item, refund.refundId(), transaction)))
        .thenApply(StripeLists.Found::answer);
  }

  @Override
  public Duration pauseLeft() {
    return http.pauseLeft();
  }

  @Override
  public void close() {
    http.close();
  }

  private CompletableFuture<Found> find(ChargeRef charge, long deadlineNs) {
    String paymentId = charge.paymentId();
    if (charge.providerReference() != null) {
      URI uri = URI.create(intents + "/" + StripeForm.encode(charge.providerReference()));
      return http.ask(
          request(uri).GET(),
          StripeLists.left(deadlineNs),
          answer -> {
            Reading reading = classifier.ofIntent(answer, paymentId, clock.instant());
            ProviderAnswer read = asked(answer(reading.result(), answer));
            boolean says = read.result().equals(reading.result());
            return new StripeLists.Found(says ? reading : new Reading(read.result()), read);
          },
          none -> new StripeLists.Found(new Reading(none.result()), none));
    }
    return lists.matching(
        intents,
        StripeLists.made(charge, clock.instant()),
        deadlineNs,
        item -> paymentId.equals(StripeMetadata.paymentId(item)),
        item -> classifier.intent(item, paymentId));
  }

  /** Cancels what was declined and can still be paid; else the answer stands as it is. */
  private CompletableFuture<ProviderAnswer> settled(
      Reading reading, String paymentId, ProviderAnswer answer, long deadlineNs) {
    String payable = reading.payable();
    if (payable == null) {
      return CompletableFuture.completedFuture(answer);
    }
    ProviderAnswer open =
        new ProviderAnswer(
            reading.asLongAsPayable(), answer.further(), answer.httpStatus(), answer.body());
    if (System.nanoTime() - deadlineNs >= 0) {
      return CompletableFuture.completedFuture(open);
    }
    return cancelled(payable, paymentId, deadlineNs)
        .thenApply(
            cancelled -> {
              ProviderResult result = cancelled.result();
              boolean ended = result instanceof Declined last && !last.stillPayable();
              if (ended && reading.result() instanceof Declined declined) {
                // Why it was declined says more than that it is cancelled now.
                return new ProviderAnswer(
                    declined, answer.further(), answer.httpStatus(), answer.body());
              }
              boolean told =
                  !(result instanceof Unknown || result instanceof ProviderResult.NotProcessed);
              return told ? cancelled : open;
            });
  }

  private CompletableFuture<ProviderAnswer> cancelled(
      String intent, String paymentId, long deadlineNs) {
    URI uri = URI.create(intents + "/" + StripeForm.encode(intent) + "/cancel");
    HttpRequest.Builder request =
        request(uri)
            .header("Content-Type", FORM)
            // Without a key: a second cancellation does no harm, and a stored 500 would stay one.
            .POST(BodyPublishers.ofString("cancellation_reason=abandoned"));
    return http.ask(
        request,
        StripeLists.left(deadlineNs),
        answer -> answer(classifier.ofCancel(answer, paymentId, clock.instant()), answer));
  }

  private ProviderAnswer refundAnswer(HttpAnswer answer, String refundId, String transaction) {
    return answer(classifier.ofRefund(answer, refundId, transaction, clock.instant()), answer);
  }

  /** A refused question says nothing about what was asked for. */
  private static ProviderAnswer asked(ProviderAnswer answer) {
    boolean says =
        answer.httpStatus() == 200
            || !(answer.result() instanceof Declined
                || answer.result() instanceof ProviderResult.KeyRefused);
    return says
        ? answer
        : new ProviderAnswer(
            new Unknown("the question was refused with status " + answer.httpStatus()),
            answer.httpStatus(),
            answer.body());
  }

  private static ProviderAnswer answer(ProviderResult result, HttpAnswer answer) {
    return new ProviderAnswer(result, List.of(), answer.status(), answer.keptBody());
  }

  private HttpRequest.Builder order(String url, String idempotencyKey) {
    return request(URI.create(url))
        .header("Content-Type", FORM)
        .header("Idempotency-Key", idempotencyKey);
  }

  private HttpRequest.Builder request(URI uri) {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(uri)
            .header("Accept", "application/json")
            .header("Authorization", "Bearer " + config.apiKey().reveal())
            .header("Stripe-Version", API_VERSION);
    return account == null ? request : request.header("Stripe-Account", account);
  }
}

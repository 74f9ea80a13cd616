package io.payrelay.providers.generic;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.payrelay.payments.lifecycle.Payment;
import io.payrelay.providers.Capabilities;
import io.payrelay.providers.ChargeCall;
import io.payrelay.providers.ChargeRef;
import io.payrelay.providers.PaymentProvider;
import io.payrelay.providers.Prepared;
import io.payrelay.providers.ProviderAnswer;
import io.payrelay.providers.ProviderResult;
import io.payrelay.providers.RefundCall;
import io.payrelay.providers.RefundOrder;
import io.payrelay.providers.RefundRef;
import io.payrelay.providers.RefundSupport;
import io.payrelay.providers.http.DeadlineBody;
import io.payrelay.providers.http.HttpAnswer;
import io.payrelay.providers.http.ProviderHttp;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** Calls the generic HTTP provider (docs/generic-provider.md). Safe for any thread. */
public final class GenericProvider implements PaymentProvider {

  private static final String JSON = "application/json";

  private final GenericConfig config;
  private final InstantSource clock;
  private final Capabilities capabilities;
  private final URI charges;
  private final URI refunds;
  private final ProviderHttp http;

  /** A client of the configured provider; opens connections when they are needed. */
  public GenericProvider(GenericConfig config, InstantSource clock) {
    this.config = config;
    this.clock = clock;
    this.capabilities =
        new Capabilities(
            config.keyLifetime(), config.queries(), config.queryLag(), true, RefundSupport.PARTIAL);
    String base = ProviderHttp.base(config.url()) + "/v1/";
    this.charges = URI.create(base + "charges");
    this.refunds = URI.create(base + "refunds");
    this.http = new ProviderHttp(config.name(), config.connectTimeout(), clock);
  }

  @Override
  public String name() {
    return config.name();
  }

  @Override
  public Capabilities capabilities() {
    return capabilities;
  }

  @Override
  public Prepared prepareCharge(Payment payment) {
    return GenericRequest.charge(payment);
  }

  @Override
  public CompletableFuture<ProviderAnswer> charge(ChargeCall call) {
    return http.send(
        order(charges, call.idempotencyKey()),
        new DeadlineBody(call.body(), call.sendDeadlineNs()),
        call.timeout(),
        answer ->
            answered(
                List.of(GenericClassifier.ofCharge(answer, call.paymentId(), clock.instant())),
                answer),
        Function.identity());
  }

  @Override
  public CompletableFuture<ProviderAnswer> query(ChargeRef charge, Duration timeout) {
    String paymentId = charge.paymentId();
    URI uri = URI.create(charges + "?merchant_transaction_id=" + encode(paymentId));
    return http.ask(
        request(uri).GET(),
        timeout,
        answer -> {
          List<ProviderResult> results =
              GenericClassifier.ofQuery(answer, paymentId, clock.instant());
          return answered(results, answer).withRefunds(GenericRefunds.of(answer, results));
        });
  }

  @Override
  public CompletableFuture<ProviderAnswer> cancel(ChargeRef charge, Duration timeout) {
    return query(charge, timeout)
        .thenCompose(
            found -> {
              String payable = payable(found.result());
              return payable == null
                  ? CompletableFuture.completedFuture(found)
                  : cancelCharge(charge.paymentId(), payable, timeout);
            });
  }

  /** Id of the charge that may still be paid; null where there is none. */
  private static @Nullable String payable(ProviderResult found) {
    if (found instanceof ProviderResult.Pending pending) {
      return pending.providerTransactionId();
    }
    return found instanceof ProviderResult.Declined declined && declined.stillPayable()
        ? declined.providerTransactionId()
        : null;
  }

  @Override
  public Prepared prepareRefund(RefundOrder order) {
    return GenericRequest.refund(order);
  }

  @Override
  public CompletableFuture<ProviderAnswer> refund(RefundCall call) {
    return http.send(
        order(refunds, call.idempotencyKey()),
        new DeadlineBody(call.body(), call.sendDeadlineNs()),
        call.timeout(),
        answer ->
            answered(
                List.of(GenericClassifier.ofRefund(answer, call.refundId(), clock.instant())),
                answer),
        Function.identity());
  }

  @Override
  public CompletableFuture<ProviderAnswer> queryRefund(RefundRef refund, Duration timeout) {
    if (!config.queries()) {
      // Its own id of the refund is known, but here refunds too are looked up by ours.
      return CompletableFuture.completedFuture(
          ProviderAnswer.without(new ProviderResult.Unknown(NOBODY_TO_ASK)));
    }
    String refundId = refund.refundId();
    URI uri = URI.create(refunds + "?merchant_refund_id=" + encode(refundId));
    return http.ask(
        request(uri).GET(),
        timeout,
        answer ->
            answered(GenericClassifier.ofRefundQuery(answer, refundId, clock.instant()), answer));
  }

  @Override
  public Duration pauseLeft() {
    return http.pauseLeft();
  }

  @Override
  public void close() {
    http.close();
  }

  private CompletableFuture<ProviderAnswer> cancelCharge(
      String paymentId, String chargeId, Duration timeout) {
    URI uri = URI.create(charges + "/" + encode(chargeId) + "/cancel");
    return http.ask(
        request(uri).POST(BodyPublishers.noBody()),
        timeout,
        answer -> answered(List.of(GenericClassifier.ofCancel(answer, paymentId)), answer));
  }

  private HttpRequest.Builder order(URI uri, String idempotencyKey) {
    return request(uri).header("Content-Type", JSON).header("Idempotency-Key", idempotencyKey);
  }

  private HttpRequest.Builder request(URI uri) {
    return HttpRequest.newBuilder(uri)
        .header("Accept", JSON)
        .header("Authorization", "Bearer " + config.apiKey().reveal());
  }

  private static ProviderAnswer answered(List<ProviderResult> results, HttpAnswer answer) {
    return new ProviderAnswer(
        results.get(0), results.subList(1, results.size()), answer.status(), answer.keptBody());
  }

  private static String encode(String text) {
    return URLEncoder.encode(text, UTF_8).replace("+", "%20");
  }
}

package io.payrelay.chargeworker;

import io.payrelay.payments.lifecycle.Refund;
import io.payrelay.payments.store.Claim;
import io.payrelay.payments.store.RefundStore;
import io.payrelay.providers.Capabilities;
import io.payrelay.providers.PaymentProvider;
import io.payrelay.providers.ProviderAnswer;
import io.payrelay.providers.RefundCall;
import io.payrelay.providers.RefundRef;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.jdbi.v3.core.Handle;

/** Calls and questions about refunds, for claims that are about one. Stateless. */
final class RefundCalls {

  private static final RefundStore REFUNDS = new RefundStore();

  private RefundCalls() {}

  /** The refunds that claims are about, by operation; those of charges are left out. */
  static Map<Long, Refund> of(Handle tx, List<Claim> claims) {
    List<Long> ids =
        claims.stream()
            .filter(claim -> RefundAcceptance.isRefundKey(claim.idempotencyKey()))
            .map(Claim::operationId)
            .toList();
    return REFUNDS.ofOperations(tx, ids);
  }

  /** What the provider promises of that refund: one whose id it told can be asked for by that. */
  static Capabilities capabilities(PaymentProvider provider, Refund refund) {
    Capabilities promised = provider.capabilities();
    return new Capabilities(
        promised.keyLifetime(),
        promised.queryByPaymentId() || refund.providerRefundId() != null,
        promised.queryLag(),
        /* cancel= */ false,
        promised.refunds(),
        promised.transactionObject(),
        promised.amounts());
  }

  static CompletableFuture<ProviderAnswer> call(
      PaymentProvider provider, Claim claim, Refund refund, long sendDeadlineNs, Duration timeout) {
    return switch (claim.action()) {
      case CALL ->
          provider.refund(
              new RefundCall(
                  refund.refundId(),
                  refund.paymentId(),
                  refund.providerTransactionId(),
                  claim.idempotencyKey(),
                  claim.body(),
                  sendDeadlineNs,
                  timeout));
      case QUERY, CANCEL ->
          capabilities(provider, refund).queryByPaymentId()
              ? provider.queryRefund(
                  new RefundRef(
                      refund.refundId(),
                      refund.paymentId(),
                      refund.providerTransactionId(),
                      refund.providerRefundId(),
                      claim.requestedAt()),
                  timeout)
              : CompletableFuture.completedFuture(
                  ProviderAnswer.without(ProviderLane.NOBODY_TO_ASK));
    };
  }
}

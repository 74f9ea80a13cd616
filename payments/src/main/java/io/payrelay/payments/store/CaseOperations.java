package io.payrelay.payments.store;

import io.payrelay.payments.lifecycle.Payment;
import java.util.ArrayList;
import java.util.List;
import org.jdbi.v3.core.Handle;

/** What the worker does about the payment or the refund of a case. Stateless. */
final class CaseOperations {

  private static final String GIVEN_UP = "given up";

  private final CaseStore cases = new CaseStore();

  /**
   * Would something without an end be nobody's, were the case closed?
   *
   * @param state how it stands, in words
   */
  record Forgotten(boolean isSo, String state) {}

  Forgotten forgotten(CaseWork work) {
    String refundId = work.found().refundId();
    if (refundId != null) {
      return forgottenRefund(work.tx(), refundId);
    }
    Payment payment = work.payment();
    if (payment == null || payment.status().terminal()) {
      return new Forgotten(false, "nothing else was changed");
    }
    List<Long> open = new ArrayList<>(cases.openOf(work.tx(), payment.paymentId()));
    open.remove(work.found().id());
    if (!open.isEmpty()) {
      return new Forgotten(
          false, "case %s of payment %s stays open".formatted(open, payment.paymentId()));
    }
    String operation =
        operation(work.tx(), "payment_id = :id AND kind = 'CHARGE'", payment.paymentId());
    return switch (operation) {
      case "none" ->
          new Forgotten(
              false,
              "the worker now takes payment %s, which is %s, from its row"
                  .formatted(payment.paymentId(), payment.status()));
      case "working" ->
          new Forgotten(false, "the worker goes on with payment " + payment.paymentId());
      default ->
          new Forgotten(
              true,
              "payment %s is %s and nobody asks for it any more"
                  .formatted(payment.paymentId(), payment.status()));
    };
  }

  private static Forgotten forgottenRefund(Handle tx, String refundId) {
    String status = QueryRequests.refundStatus(tx, refundId).orElse("gone");
    boolean isSo =
        !QueryRequests.isEndOfRefund(status)
            && operation(tx, "refund_id = :id", refundId).equals(GIVEN_UP);
    return new Forgotten(
        isSo,
        "refund %s is %s%s"
            .formatted(refundId, status, isSo ? " and nobody asks for it any more" : ""));
  }

  private static String operation(Handle tx, String which, String id) {
    return tx.createQuery(
            """
            SELECT CASE WHEN next_action IS NULL THEN 'given up' ELSE 'working' END
            FROM payrelay.operation WHERE %s
            """
                .formatted(which))
        .bind("id", id)
        .mapTo(String.class)
        .findOne()
        .orElse("none");
  }

  /** Is the payment charged at this moment? Nobody begins to from now on. */
  boolean chargeUnderWay(Handle tx, String paymentId) {
    return callUnderWay(tx, "o.payment_id = :id AND o.kind = 'CHARGE'", paymentId);
  }

  /** Is the refund sent at this moment? Nobody begins to from now on. */
  boolean refundUnderWay(Handle tx, String refundId) {
    return callUnderWay(tx, "o.refund_id = :id", refundId);
  }

  private static boolean callUnderWay(Handle tx, String which, String id) {
    tx.createQuery("SELECT 1 FROM payrelay.operation o WHERE %s FOR UPDATE".formatted(which))
        .bind("id", id)
        .mapTo(Integer.class)
        .forEach(one -> {});
    return tx.createQuery(
            """
            SELECT EXISTS (SELECT FROM payrelay.attempt a JOIN payrelay.operation o USING (operation_id)
              WHERE %s AND a.kind = 'CALL' AND a.finished_at IS NULL AND a.lease_until > clock_timestamp())
            """
                .formatted(which))
        .bind("id", id)
        .mapTo(Boolean.class)
        .one();
  }
}

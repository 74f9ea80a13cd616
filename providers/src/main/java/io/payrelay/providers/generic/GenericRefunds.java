package io.payrelay.providers.generic;

import com.fasterxml.jackson.databind.JsonNode;
import io.payrelay.payments.money.Money;
import io.payrelay.providers.ProviderRefund;
import io.payrelay.providers.ProviderRefund.Status;
import io.payrelay.providers.ProviderResult;
import io.payrelay.providers.ProviderResult.Succeeded;
import io.payrelay.providers.http.AnswerReader;
import io.payrelay.providers.http.HttpAnswer;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The refunds that an answer to a query shows within its charges. One that cannot be read is left
 * to its webhook: the charge is not doubted for it. Pure, stateless.
 */
final class GenericRefunds {

  private GenericRefunds() {}

  /**
   * Those of the charges that moved money.
   *
   * @param results what the answer says of the charges
   */
  static List<ProviderRefund> of(HttpAnswer answer, List<ProviderResult> results) {
    Set<String> paid =
        results.stream()
            .filter(Succeeded.class::isInstance)
            .map(result -> ((Succeeded) result).providerTransactionId())
            .collect(Collectors.toSet());
    JsonNode body = paid.isEmpty() ? null : GenericClassifier.json(answer);
    if (body == null) {
      return List.of();
    }
    List<ProviderRefund> refunds = new ArrayList<>();
    for (JsonNode charge : body.path("data")) {
      String chargeId = charge.path("id").asText("");
      if (paid.contains(chargeId)) {
        for (JsonNode shown : charge.path("refunds")) {
          ProviderRefund refund = refund(shown, chargeId);
          if (refund != null) {
            refunds.add(refund);
          }
        }
      }
    }
    return refunds;
  }

  private static @Nullable ProviderRefund refund(JsonNode refund, String chargeId) {
    String id = AnswerReader.id(refund.path("id"));
    Money amount = GenericClassifier.money(refund);
    Status status =
        switch (refund.path("status").asText("")) {
          case "succeeded" -> Status.SUCCEEDED;
          case "pending" -> Status.PENDING;
          case "failed" -> Status.FAILED;
          default -> null;
        };
    if (id == null
        || amount == null
        || status == null
        || !chargeId.equals(refund.path("charge").asText(""))) {
      return null;
    }
    return new ProviderRefund(
        chargeId,
        id,
        AnswerReader.id(refund.path("merchant_refund_id")),
        status,
        amount,
        status == Status.FAILED ? AnswerReader.code(refund.path("failure_code")) : null,
        GenericClassifier.instant(refund.path("created_at")));
  }
}

package io.payrelay.providers.stripe;

/** Stripe's events as its API writes them, cut to the fields that matter. */
final class StripeObjects {

  static final long CREATED = 1_767_323_000;

  private StripeObjects() {}

  static String event(String type, String object) {
    return """
        {"id":"evt_1","object":"event","api_version":"2025-09-30.clover","created":%d,"type":"%s",
         "livemode":true,"pending_webhooks":2,"request":{"id":"req_1","idempotency_key":"key_1"},
         "data":{"object":%s}}"""
        .formatted(CREATED, type, object);
  }

  static String intent(String status, String more) {
    return """
        {"id":"pi_1","object":"payment_intent","amount":1999,"amount_received":1999,"currency":"eur",
         "status":"%s","metadata":{"payrelay_payment_id":"pay_0001"}%s}"""
        .formatted(status, more);
  }

  static String charge(String status, boolean captured, String more) {
    return """
        {"id":"ch_1","object":"charge","amount":1999,"amount_captured":%d,"currency":"eur",
         "captured":%b,"paid":true,"status":"%s","metadata":{"payrelay_payment_id":"pay_0001"},
         "payment_intent":"pi_1"%s}"""
        .formatted(captured ? 1999 : 0, captured, status, more);
  }

  static String refund(String status) {
    return """
        {"id":"re_1","object":"refund","amount":500,"currency":"eur","charge":"ch_1",
         "payment_intent":"pi_1","status":"%s","metadata":{"payrelay_payment_id":"pay_9999"}}"""
        .formatted(status);
  }

  /** One that we asked for. */
  static String ourRefund(String status) {
    return refund(status)
        .replace("metadata\":{", "metadata\":{\"payrelay_refund_id\":\"ref_0001\",");
  }

  static String dispute(String status) {
    return """
        {"id":"dp_1","object":"dispute","amount":1999,"currency":"eur","charge":"ch_1",
         "payment_intent":"pi_1","status":"%s","reason":"fraudulent","metadata":{}}"""
        .formatted(status);
  }
}

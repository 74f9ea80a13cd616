-- Writes payment and outbox row in the caller's transaction. Called again with equal arguments it writes
-- nothing and returns the same payment_id; with other arguments it is refused.
CREATE FUNCTION payrelay.request_payment(
  payment_id text,
  merchant text,
  merchant_order_id text,
  provider text,
  amount_minor bigint,
  currency text,
  payee_account text DEFAULT NULL,
  customer_id text DEFAULT NULL,
  business_refs jsonb DEFAULT '{}',
  provider_data jsonb DEFAULT '{}',
  trace_id text DEFAULT NULL,
  traceparent text DEFAULT NULL
) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = payrelay, pg_temp AS $$
#variable_conflict use_variable
DECLARE
  existing payrelay.payment%ROWTYPE;
  differing text;
BEGIN
  INSERT INTO payrelay.payment AS p (payment_id, merchant, merchant_order_id, provider, amount_minor, currency,
    payee_account, customer_id, business_refs, provider_data, trace_id)
  VALUES (payment_id, merchant, merchant_order_id, provider, amount_minor, currency,
    payee_account, customer_id, coalesce(business_refs, '{}'), coalesce(provider_data, '{}'), trace_id)
  ON CONFLICT ON CONSTRAINT payment_pkey DO NOTHING;
  IF FOUND THEN
    INSERT INTO payrelay.outbox (aggregate_type, aggregate_id, event_type, payload, trace_id, traceparent)
    VALUES ('payment', payment_id, 'ChargeRequested', json_build_object(
      'payment_id', payment_id, 'merchant', merchant, 'merchant_order_id', merchant_order_id,
      'provider', provider, 'amount_minor', amount_minor, 'currency', currency, 'trace_id', trace_id),
      trace_id, traceparent);
    RETURN payment_id;
  END IF;

  SELECT * INTO STRICT existing FROM payrelay.payment p WHERE p.payment_id = request_payment.payment_id;
  differing := concat_ws(', ',
    CASE WHEN existing.merchant <> merchant THEN 'merchant' END,
    CASE WHEN existing.merchant_order_id <> merchant_order_id THEN 'merchant_order_id' END,
    CASE WHEN existing.provider <> provider THEN 'provider' END,
    CASE WHEN existing.amount_minor <> amount_minor THEN 'amount_minor' END,
    CASE WHEN existing.currency <> currency THEN 'currency' END,
    CASE WHEN existing.payee_account IS DISTINCT FROM payee_account THEN 'payee_account' END,
    CASE WHEN existing.customer_id IS DISTINCT FROM customer_id THEN 'customer_id' END,
    CASE WHEN existing.business_refs <> coalesce(business_refs, '{}') THEN 'business_refs' END,
    CASE WHEN existing.provider_data <> coalesce(provider_data, '{}') THEN 'provider_data' END,
    CASE WHEN existing.trace_id IS DISTINCT FROM trace_id THEN 'trace_id' END);
  IF differing <> '' THEN
    RAISE EXCEPTION 'payment % exists with another %: a payment_id names one payment for good', payment_id, differing
      USING ERRCODE = 'unique_violation', CONSTRAINT = 'payment_pkey';
  END IF;
  RETURN payment_id;
END
$$;
REVOKE ALL ON FUNCTION payrelay.request_payment FROM PUBLIC;

-- migrate runs this last, when slot and position exist: before that an event could be written that no relay will read.
CREATE FUNCTION payrelay.open_for_upstreams() RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  GRANT INSERT (payment_id, merchant, merchant_order_id, provider, amount_minor, currency, payee_account,
    customer_id, business_refs, provider_data, trace_id) ON payrelay.payment TO payrelay_upstream;
  GRANT INSERT (event_id, aggregate_type, aggregate_id, event_type, payload, trace_id, traceparent)
    ON payrelay.outbox TO payrelay_upstream;
  GRANT INSERT ON payrelay.outbox TO payrelay_worker, payrelay_ingest, payrelay_operator;
  GRANT EXECUTE ON FUNCTION payrelay.request_payment TO payrelay_upstream;
END
$$;
REVOKE ALL ON FUNCTION payrelay.open_for_upstreams() FROM PUBLIC;

-- PostgreSQL lets everybody execute a new function. Here nobody may but who was granted it: a SECURITY
-- DEFINER trigger function on a table of one's own would write with its owner's rights. Triggers need no
-- grant to fire. (Not by default privileges: for functions they only work for all schemas of the owner.)
REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA payrelay FROM PUBLIC;
-- A policy runs as whoever inserts.
GRANT EXECUTE ON FUNCTION payrelay.event_type_is_upstream(text) TO payrelay_upstream;

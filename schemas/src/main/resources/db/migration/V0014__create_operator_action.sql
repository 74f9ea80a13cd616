-- What people did through Payrelay's commands: who, when, what, on what, why, and what came of it. Written in the
-- transaction of the deed itself; what was refused is noted too.
CREATE TABLE payrelay.operator_action (
  operator_action_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  acted_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  action text NOT NULL CONSTRAINT operator_action_form CHECK (action ~ '^[a-z]+( [a-z-]+)*$'),
  -- Who they say they are, and the login that the database knows.
  acted_by text NOT NULL CONSTRAINT operator_action_by_length CHECK (length(acted_by) BETWEEN 1 AND 128),
  database_user text NOT NULL DEFAULT session_user,
  client_address inet DEFAULT inet_client_addr(),
  reason text NOT NULL CONSTRAINT operator_action_reason_length CHECK (length(reason) BETWEEN 1 AND 4000),
  evidence text CONSTRAINT operator_action_evidence_length CHECK (length(evidence) <= 16000),
  exception_case_id bigint REFERENCES payrelay.exception_case (exception_case_id),
  payment_id text,
  provider text,
  event_id text,
  arguments jsonb NOT NULL DEFAULT '{}',
  result text NOT NULL
);
CREATE INDEX operator_action_payment ON payrelay.operator_action (payment_id) WHERE payment_id IS NOT NULL;
CREATE INDEX operator_action_case ON payrelay.operator_action (exception_case_id) WHERE exception_case_id IS NOT NULL;
CREATE INDEX operator_action_event ON payrelay.operator_action (provider, event_id) WHERE event_id IS NOT NULL;

CREATE TRIGGER operator_action_append_only BEFORE UPDATE OR DELETE ON payrelay.operator_action
  FOR EACH ROW EXECUTE FUNCTION payrelay.refuse_change();
CREATE TRIGGER operator_action_no_truncate BEFORE TRUNCATE ON payrelay.operator_action
  FOR EACH STATEMENT EXECUTE FUNCTION payrelay.refuse_change();

-- Time, login and address are the database's word: nobody may write them.
GRANT INSERT (action, acted_by, reason, evidence, exception_case_id, payment_id, provider, event_id, arguments, result)
  ON payrelay.operator_action TO payrelay_operator;
GRANT SELECT ON payrelay.operator_action TO payrelay_operator;

-- A case is resolved once, and what it told stays.
CREATE FUNCTION payrelay.exception_case_guard() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
  IF OLD.status = 'RESOLVED' THEN
    RAISE EXCEPTION 'exception case % was resolved by % and stays so', OLD.exception_case_id, OLD.resolved_by
      USING ERRCODE = 'restrict_violation';
  END IF;
  IF (to_jsonb(NEW) - '{status,resolved_at,resolved_by,resolution}'::text[])
    IS DISTINCT FROM (to_jsonb(OLD) - '{status,resolved_at,resolved_by,resolution}'::text[]) THEN
    RAISE EXCEPTION 'exception case % is evidence and does not change', OLD.exception_case_id
      USING ERRCODE = 'restrict_violation';
  END IF;
  RETURN NEW;
END
$$;
CREATE TRIGGER exception_case_guard BEFORE UPDATE ON payrelay.exception_case
  FOR EACH ROW EXECUTE FUNCTION payrelay.exception_case_guard();
CREATE INDEX exception_case_open_event ON payrelay.exception_case (provider, (evidence ->> 'event_id'))
  WHERE status = 'OPEN';

-- A provider's payment that nobody here had asked for and that a person took over as a payment.
CREATE TABLE payrelay.payment_adoption (
  payment_id text PRIMARY KEY REFERENCES payrelay.payment (payment_id) DEFERRABLE INITIALLY DEFERRED,
  exception_case_id bigint NOT NULL REFERENCES payrelay.exception_case (exception_case_id),
  provider text NOT NULL,
  provider_transaction_id text NOT NULL,
  -- What the provider's events call it, where they name a payment: later ones go to the adopted one.
  named_payment_id text,
  adopted_by text NOT NULL,
  database_user text NOT NULL DEFAULT session_user,
  adopted_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  CONSTRAINT payment_adoption_transaction_key UNIQUE (provider, provider_transaction_id)
);
CREATE INDEX payment_adoption_named ON payrelay.payment_adoption (provider, named_payment_id)
  WHERE named_payment_id IS NOT NULL;
CREATE TRIGGER payment_adoption_append_only BEFORE UPDATE OR DELETE ON payrelay.payment_adoption
  FOR EACH ROW EXECUTE FUNCTION payrelay.refuse_change();
CREATE TRIGGER payment_adoption_no_truncate BEFORE TRUNCATE ON payrelay.payment_adoption
  FOR EACH STATEMENT EXECUTE FUNCTION payrelay.refuse_change();
GRANT SELECT ON payrelay.payment_adoption TO payrelay_operator, payrelay_ingest, payrelay_worker;

-- Makes the payment row, on the terms of the case and without any event that would charge for it. The caller
-- applies the SUCCEEDED fact in the same transaction.
CREATE FUNCTION payrelay.adopt_payment(
  case_id bigint,
  payment_id text,
  merchant text,
  merchant_order_id text,
  adopted_by text
) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = payrelay, pg_temp AS $$
#variable_conflict use_variable
DECLARE
  unmatched payrelay.exception_case%ROWTYPE;
  adopted_as text;
BEGIN
  SELECT * INTO unmatched FROM payrelay.exception_case c WHERE c.exception_case_id = case_id FOR UPDATE;
  IF NOT FOUND OR unmatched.status <> 'OPEN' OR unmatched.kind <> 'UNMATCHED_PROVIDER_PAYMENT'
      OR unmatched.evidence ->> 'observation' IS DISTINCT FROM 'SUCCEEDED'
      OR unmatched.provider_transaction_id IS NULL OR unmatched.observed_amount_minor IS NULL THEN
    RAISE EXCEPTION 'case % is no open case of a provider''s payment that came in without one of ours', case_id
      USING ERRCODE = 'check_violation';
  END IF;
  IF EXISTS (SELECT FROM payrelay.payment p WHERE p.payment_id = payment_id) THEN
    RAISE EXCEPTION 'payment % exists: adopt under an id that is new', payment_id
      USING ERRCODE = 'check_violation';
  END IF;
  SELECT a.payment_id INTO adopted_as FROM payrelay.payment_adoption a
  WHERE a.provider = unmatched.provider AND a.provider_transaction_id = unmatched.provider_transaction_id;
  IF FOUND THEN
    RAISE EXCEPTION 'transaction % of % was adopted already, as payment %', unmatched.provider_transaction_id,
      unmatched.provider, adopted_as USING ERRCODE = 'check_violation';
  END IF;
  -- First: the trigger of the payment row looks here for who asked for it.
  INSERT INTO payrelay.payment_adoption
    (payment_id, exception_case_id, provider, provider_transaction_id, named_payment_id, adopted_by)
  VALUES (payment_id, case_id, unmatched.provider, unmatched.provider_transaction_id, unmatched.payment_id, adopted_by);
  INSERT INTO payrelay.payment
    (payment_id, merchant, merchant_order_id, provider, amount_minor, currency, business_refs, trace_id)
  VALUES (payment_id, merchant, merchant_order_id, unmatched.provider, unmatched.observed_amount_minor,
    unmatched.observed_currency, jsonb_build_object('adopted_from_case', case_id), unmatched.trace_id);
END
$$;
REVOKE ALL ON FUNCTION payrelay.adopt_payment FROM PUBLIC;
GRANT EXECUTE ON FUNCTION payrelay.adopt_payment TO payrelay_operator;

-- As before, but an adopted payment says that a person asked for it.
CREATE OR REPLACE FUNCTION payrelay.payment_requested() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = payrelay, pg_temp AS $$
DECLARE
  adopted_case bigint;
BEGIN
  -- It writes with its owner's rights: on any other table it would let others forge events.
  IF TG_RELID <> 'payrelay.payment'::regclass THEN
    RAISE EXCEPTION 'payment_requested is for payrelay.payment, not for %', TG_RELID::regclass
      USING ERRCODE = 'insufficient_privilege';
  END IF;
  SELECT a.exception_case_id INTO adopted_case FROM payrelay.payment_adoption a WHERE a.payment_id = NEW.payment_id;
  INSERT INTO payrelay.payment_event
    (payment_id, version, event_type, status, fact_source, evidence, event_at)
  VALUES
    (NEW.payment_id, 1, 'PaymentRequested', 'CREATED',
     CASE WHEN adopted_case IS NULL THEN 'UPSTREAM' ELSE 'OPERATOR' END,
     jsonb_build_object('merchant', NEW.merchant, 'merchant_order_id', NEW.merchant_order_id,
       'provider', NEW.provider, 'amount_minor', NEW.amount_minor, 'currency', NEW.currency,
       'trace_id', NEW.trace_id, 'by', session_user)
     || CASE WHEN adopted_case IS NULL THEN '{}' ELSE jsonb_build_object('adopted_from_case', adopted_case) END,
     NEW.created_at);
  RETURN NULL;
END
$$;

-- Bodies hold payers' names and addresses: after a while they are wiped. The digests stay, so that a repeated
-- delivery is still known.
ALTER TABLE payrelay.provider_event ADD COLUMN wiped_at timestamptz;
CREATE INDEX provider_event_unwiped ON payrelay.provider_event (received_at) WHERE wiped_at IS NULL;

CREATE OR REPLACE FUNCTION payrelay.provider_event_guard() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
  IF (NEW.provider, NEW.event_id, NEW.event_type, NEW.body_digest, NEW.business_digest, NEW.key_id, NEW.received_at)
    IS DISTINCT FROM
     (OLD.provider, OLD.event_id, OLD.event_type, OLD.body_digest, OLD.business_digest, OLD.key_id, OLD.received_at)
    OR ((NEW.body, NEW.headers, NEW.wiped_at) IS DISTINCT FROM (OLD.body, OLD.headers, OLD.wiped_at)
      AND NOT (OLD.wiped_at IS NULL AND NEW.wiped_at IS NOT NULL AND OLD.disposition <> 'PARKED'
        AND NEW.body = ''::bytea AND NEW.headers = '{}'::jsonb)) THEN
    RAISE EXCEPTION 'webhook event % of % is evidence and does not change', OLD.event_id, OLD.provider
      USING ERRCODE = 'restrict_violation';
  END IF;
  RETURN NEW;
END
$$;

-- Wipes events that came longer ago than that, the oldest first, and returns how many. Not those that wait for
-- their payment, nor those that an open case is about: its person may need them.
CREATE FUNCTION payrelay.wipe_provider_events(retention_days integer, batch_max integer) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = payrelay, pg_temp AS $$
DECLARE
  wiped integer;
BEGIN
  IF retention_days IS NULL OR retention_days NOT BETWEEN 1 AND 36500
      OR batch_max IS NULL OR batch_max NOT BETWEEN 1 AND 10000 THEN
    RAISE EXCEPTION 'retention of % days or batch of % is out of range', retention_days, batch_max
      USING ERRCODE = 'invalid_parameter_value';
  END IF;
  WITH due AS (
    SELECT e.provider, e.event_id FROM payrelay.provider_event e
    WHERE e.wiped_at IS NULL AND e.received_at < now() - make_interval(days => retention_days)
      AND e.disposition <> 'PARKED'
      AND NOT EXISTS (SELECT FROM payrelay.exception_case c
        WHERE c.status = 'OPEN' AND c.provider = e.provider AND c.evidence ->> 'event_id' = e.event_id)
      AND NOT EXISTS (SELECT FROM payrelay.exception_case c
        WHERE c.status = 'OPEN' AND c.payment_id = e.payment_id)
      -- Of several events of one unmatched payment the case names the first only.
      AND (e.disposition <> 'UNMATCHED' OR NOT EXISTS (SELECT FROM payrelay.exception_case c
        WHERE c.status = 'OPEN' AND c.kind = 'UNMATCHED_PROVIDER_PAYMENT' AND c.provider = e.provider))
    ORDER BY e.received_at LIMIT batch_max FOR UPDATE SKIP LOCKED)
  UPDATE payrelay.provider_event e SET body = '', headers = '{}', wiped_at = clock_timestamp()
  FROM due WHERE e.provider = due.provider AND e.event_id = due.event_id;
  GET DIAGNOSTICS wiped = ROW_COUNT;
  -- Later migrations keep what came under the same id with another meaning.
  IF wiped > 0 AND to_regclass('payrelay.provider_event_conflict') IS NOT NULL THEN
    DELETE FROM payrelay.provider_event_conflict c USING payrelay.provider_event e
    WHERE e.provider = c.provider AND e.event_id = c.event_id AND e.wiped_at IS NOT NULL
      AND c.received_at < now() - retention_days * interval '1 day'
      AND NOT EXISTS (SELECT FROM payrelay.exception_case x
        WHERE x.status = 'OPEN' AND x.provider = e.provider AND x.evidence ->> 'event_id' = e.event_id);
  END IF;
  RETURN wiped;
END
$$;
REVOKE ALL ON FUNCTION payrelay.wipe_provider_events(integer, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION payrelay.wipe_provider_events(integer, integer) TO payrelay_ingest;

REVOKE EXECUTE ON FUNCTION payrelay.exception_case_guard() FROM PUBLIC;

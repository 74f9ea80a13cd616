-- Money that goes back: asked for by SQL like a payment, bounded by what the ledger shows as captured.

ALTER TABLE payrelay.ledger_posting DROP CONSTRAINT ledger_posting_kind_check;
ALTER TABLE payrelay.ledger_posting ADD CONSTRAINT ledger_posting_kind_check CHECK (kind IN ('CAPTURE',
  'SUSPENSE_CAPTURE', 'DISPUTE', 'DISPUTE_WON', 'DISPUTE_LOST', 'PROVIDER_REFUND', 'REFUND', 'REFUND_RETURNED',
  'ADJUSTMENT'));

ALTER TABLE payrelay.exception_case DROP CONSTRAINT exception_case_kind_check;
ALTER TABLE payrelay.exception_case ADD CONSTRAINT exception_case_kind_check CHECK (kind IN ('LATE_SUCCESS',
  'FAILED_AFTER_CAPTURE', 'DOUBLE_CHARGE', 'AMOUNT_MISMATCH', 'CURRENCY_MISMATCH', 'PAYEE_MISMATCH',
  'PROVIDER_MISMATCH', 'TRANSACTION_CLAIMED_TWICE', 'PAYLOAD_MISMATCH', 'UNRESOLVED', 'KEY_REFUSED',
  'UNKNOWN_PROVIDER', 'DISPUTED', 'DISPUTE_WON', 'DISPUTE_LOST', 'PROVIDER_REFUND', 'UNMATCHED_PROVIDER_PAYMENT',
  'WEBHOOK_CONFLICT', 'WEBHOOK_FAILED', 'MISSING_EVENT', 'REFUND_RETURNED', 'LATE_REFUND', 'DOUBLE_REFUND'));

-- One giving back of captured money. Upstreams insert the contract's columns; the trigger fills in which money it is.
CREATE TABLE payrelay.refund (
  refund_id text PRIMARY KEY CONSTRAINT refund_id_form CHECK (refund_id ~ '^[0-9A-Za-z_]{6,32}$'),
  payment_id text NOT NULL REFERENCES payrelay.payment (payment_id),
  -- Counts the refunds of a payment. Where a snapshot is older than the lock on the payment (REPEATABLE READ), two
  -- sessions count to the same number, and one of them is refused.
  refund_number integer NOT NULL,
  provider text NOT NULL CONSTRAINT refund_provider_form CHECK (provider ~ '^[a-z][a-z0-9-]{0,31}$'),
  -- Which captured money is given back.
  provider_transaction_id text NOT NULL,
  amount_minor bigint NOT NULL CONSTRAINT refund_amount_positive CHECK (amount_minor > 0),
  -- The captured one, which is not the payment's where that was the trouble.
  currency text NOT NULL CONSTRAINT refund_currency_form CHECK (currency ~ '^[A-Z]{3}$'),
  -- Told to the provider, where it takes one.
  reason text CONSTRAINT refund_reason_length CHECK (length(reason) BETWEEN 1 AND 128),
  business_refs jsonb NOT NULL DEFAULT '{}'
    CONSTRAINT refund_business_refs_object CHECK (jsonb_typeof(business_refs) = 'object'
      AND octet_length(business_refs::text) <= 16384),
  trace_id text CONSTRAINT refund_trace_id_form CHECK (trace_id ~ '^[0-9A-Za-z_-]{1,64}$'),
  -- Ours from here on.
  status text NOT NULL DEFAULT 'REQUESTED' CONSTRAINT refund_status_known
    CHECK (status IN ('REQUESTED', 'PENDING', 'SUCCEEDED', 'FAILED', 'UNKNOWN', 'RETURNED')),
  version bigint NOT NULL DEFAULT 1 CONSTRAINT refund_version_positive CHECK (version > 0),
  provider_refund_id text,
  failure_code text,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  CONSTRAINT refund_number_key UNIQUE (payment_id, refund_number),
  CONSTRAINT refund_succeeded_names_provider_refund
    CHECK (status NOT IN ('SUCCEEDED', 'RETURNED') OR provider_refund_id IS NOT NULL),
  CONSTRAINT refund_failed_names_code CHECK (status NOT IN ('FAILED', 'RETURNED') OR failure_code IS NOT NULL)
);

-- One refund at the provider is one of ours.
CREATE UNIQUE INDEX refund_provider_refund_id_key
  ON payrelay.refund (provider, provider_refund_id) WHERE provider_refund_id IS NOT NULL;
-- The sweep looks for refunds that nobody works on.
CREATE INDEX refund_waiting ON payrelay.refund (created_at) WHERE status IN ('REQUESTED', 'PENDING', 'UNKNOWN');

-- What was captured for a payment, by provider transaction, and how much of it can still be given back: not what the
-- ledger shows as gone (refunds, whoever asked for them, unless they came back; disputes that are not won), nor
-- what refunds without an end may still take. suspense: no SUCCEEDED payment explains the money.
CREATE FUNCTION payrelay.refundable(wanted_payment_id text)
RETURNS TABLE (provider text, provider_transaction_id text, currency text, suspense boolean, captured_minor bigint,
  refundable_minor bigint)
LANGUAGE sql STABLE SET search_path = payrelay, pg_temp AS $$
  -- The receivable's entry of each posting: what the provider owes us more, or less.
  WITH moved AS MATERIALIZED (
    SELECT p.posting_id, p.business_key, p.kind, a.provider, e.currency, e.amount_minor
    FROM payrelay.ledger_posting p
    JOIN payrelay.ledger_entry e USING (posting_id)
    JOIN payrelay.ledger_account a ON a.account_id = e.account_id AND a.kind IN ('PROVIDER_RECEIVABLE', 'CUSTOMER_PAYMENTS')
    WHERE p.payment_id = wanted_payment_id
      AND (a.kind = 'PROVIDER_RECEIVABLE' OR p.kind = 'DISPUTE_LOST')),
  captured AS (
    SELECT m.provider, substr(m.business_key, length('capture:' || m.provider || ':') + 1) AS transaction_id,
      m.currency, m.amount_minor, m.kind = 'SUSPENSE_CAPTURE' AND NOT EXISTS (SELECT FROM payrelay.ledger_posting x
        WHERE x.business_key = 'adjust:' || m.business_key) AS suspense
    FROM moved m WHERE m.kind IN ('CAPTURE', 'SUSPENSE_CAPTURE'))
  SELECT c.provider, c.transaction_id, c.currency, c.suspense, c.amount_minor,
    greatest(0, c.amount_minor
      - (SELECT coalesce(sum(m.amount_minor), 0) FROM moved m
         WHERE m.kind IN ('REFUND', 'PROVIDER_REFUND') AND m.currency = c.currency
           AND starts_with(m.business_key, 'provider_refund:' || c.provider || ':' || c.transaction_id || ':')
           AND NOT EXISTS (SELECT FROM payrelay.ledger_posting x WHERE x.payment_id = wanted_payment_id
             AND x.kind = 'REFUND_RETURNED' AND x.reverses_posting_id = m.posting_id))
      - (SELECT coalesce(sum(d.gone), 0) FROM (
           SELECT greatest(0, greatest(coalesce(sum(m.amount_minor) FILTER (WHERE m.kind = 'DISPUTE'), 0),
               coalesce(sum(m.amount_minor) FILTER (WHERE m.kind = 'DISPUTE_LOST'), 0))
             - coalesce(sum(m.amount_minor) FILTER (WHERE m.kind = 'DISPUTE_WON'), 0)) AS gone
           FROM moved m
           WHERE m.kind IN ('DISPUTE', 'DISPUTE_WON', 'DISPUTE_LOST') AND m.currency = c.currency
             AND starts_with(m.business_key, lower(m.kind) || ':' || c.provider || ':' || c.transaction_id || ':')
           GROUP BY substr(m.business_key, length(m.kind) + 1)) d)
      - (SELECT coalesce(sum(r.amount_minor), 0) FROM payrelay.refund r
         WHERE r.payment_id = wanted_payment_id AND r.provider = c.provider
           AND r.provider_transaction_id = c.transaction_id AND r.currency = c.currency
           AND r.status IN ('REQUESTED', 'PENDING', 'UNKNOWN')))::bigint
  FROM captured c
$$;

CREATE FUNCTION payrelay.refund_check() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = payrelay, pg_temp AS $$
DECLARE
  payment payrelay.payment%ROWTYPE;
  captured integer;
  listed text;
  source record;
BEGIN
  IF TG_RELID <> 'payrelay.refund'::regclass THEN
    RAISE EXCEPTION 'refund_check is for payrelay.refund, not for %', TG_RELID::regclass
      USING ERRCODE = 'insufficient_privilege';
  END IF;
  IF NEW.refund_id IS NULL OR NEW.refund_id !~ '^[0-9A-Za-z_]{6,32}$' THEN
    RAISE EXCEPTION 'refund_id % is not 6 to 32 of the characters 0-9 A-Z a-z _ (a UUID without its dashes fits)',
      coalesce(quote_literal(NEW.refund_id), 'NULL') USING ERRCODE = 'check_violation';
  END IF;
  IF NEW.amount_minor IS NULL OR NEW.amount_minor <= 0 THEN
    RAISE EXCEPTION 'amount_minor % of refund % is not a positive number of minor units',
      coalesce(NEW.amount_minor::text, 'NULL'), NEW.refund_id USING ERRCODE = 'check_violation';
  END IF;
  IF payrelay.has_card_like_digits(NEW.reason) OR payrelay.has_card_like_digits(NEW.business_refs::text) THEN
    RAISE EXCEPTION 'reason or business_refs of refund % holds digits that look like a card number: a refund needs none',
      NEW.refund_id USING ERRCODE = 'check_violation';
  END IF;
  IF NEW.status <> 'REQUESTED' OR NEW.version <> 1 OR NEW.provider_refund_id IS NOT NULL OR NEW.failure_code IS NOT NULL THEN
    RAISE EXCEPTION 'refund % must begin as REQUESTED: status, version, provider_refund_id and failure_code are written by Payrelay only',
      NEW.refund_id USING ERRCODE = 'check_violation';
  END IF;
  -- One refund of a payment after the other: what the next may take depends on it. As facts lock it, payments first.
  SELECT * INTO payment FROM payrelay.payment p WHERE p.payment_id = NEW.payment_id FOR NO KEY UPDATE;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'refund % is for payment %, which does not exist', NEW.refund_id,
      coalesce(quote_literal(NEW.payment_id), 'NULL')
      USING ERRCODE = 'foreign_key_violation', CONSTRAINT = 'refund_payment_id_fkey';
  END IF;
  IF EXISTS (SELECT FROM payrelay.refund r WHERE r.refund_id = NEW.refund_id) THEN
    RAISE EXCEPTION 'refund % exists: your first try had committed, or the id names another refund', NEW.refund_id
      USING ERRCODE = 'unique_violation', CONSTRAINT = 'refund_pkey';
  END IF;

  SELECT count(*), string_agg(format('%s (%s %s, refundable %s)', c.provider_transaction_id, c.captured_minor, c.currency,
      c.refundable_minor), ', ' ORDER BY c.suspense, c.provider_transaction_id)
    INTO captured, listed FROM payrelay.refundable(NEW.payment_id) c;
  IF captured = 0 THEN
    RAISE EXCEPTION 'payment % is % and no money is captured for it: there is nothing that refund % could give back',
      NEW.payment_id, payment.status, NEW.refund_id
      USING ERRCODE = 'check_violation', CONSTRAINT = 'refund_within_captured';
  END IF;
  IF NEW.provider_transaction_id IS NULL AND captured > 1 THEN
    RAISE EXCEPTION 'payment % has % captured transactions: name in provider_transaction_id which of them refund % gives back: %',
      NEW.payment_id, captured, NEW.refund_id, listed
      USING ERRCODE = 'check_violation', CONSTRAINT = 'refund_names_captured_transaction';
  END IF;
  -- Two providers may give one id to two transactions: the payment's own goes first.
  SELECT * INTO source FROM payrelay.refundable(NEW.payment_id) c
  WHERE NEW.provider_transaction_id IS NULL OR c.provider_transaction_id = NEW.provider_transaction_id
  ORDER BY c.provider <> payment.provider LIMIT 1;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'payment % has no captured transaction % that refund % could give back: it has %',
      NEW.payment_id, quote_literal(NEW.provider_transaction_id), NEW.refund_id, listed
      USING ERRCODE = 'check_violation', CONSTRAINT = 'refund_names_captured_transaction';
  END IF;
  IF NEW.currency IS DISTINCT FROM source.currency THEN
    RAISE EXCEPTION 'currency % of refund % is not %, in which transaction % was captured',
      coalesce(quote_literal(NEW.currency), 'NULL'), NEW.refund_id, source.currency, source.provider_transaction_id
      USING ERRCODE = 'check_violation', CONSTRAINT = 'refund_currency_captured';
  END IF;
  IF NEW.amount_minor > source.refundable_minor THEN
    RAISE EXCEPTION 'refund % asks for % % of transaction %: % of the % captured can still be given back',
      NEW.refund_id, NEW.amount_minor, source.currency, source.provider_transaction_id, source.refundable_minor,
      source.captured_minor
      USING ERRCODE = 'check_violation', CONSTRAINT = 'refund_within_captured';
  END IF;
  NEW.provider := source.provider;
  NEW.provider_transaction_id := source.provider_transaction_id;
  SELECT coalesce(max(r.refund_number), 0) + 1 INTO NEW.refund_number
  FROM payrelay.refund r WHERE r.payment_id = NEW.payment_id;
  RETURN NEW;
END
$$;
CREATE TRIGGER refund_check BEFORE INSERT ON payrelay.refund
  FOR EACH ROW EXECUTE FUNCTION payrelay.refund_check();

CREATE FUNCTION payrelay.refund_guard() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
  IF (NEW.refund_id, NEW.payment_id, NEW.refund_number, NEW.provider, NEW.provider_transaction_id, NEW.amount_minor,
      NEW.currency, NEW.reason, NEW.business_refs, NEW.trace_id, NEW.created_at)
    IS DISTINCT FROM
     (OLD.refund_id, OLD.payment_id, OLD.refund_number, OLD.provider, OLD.provider_transaction_id, OLD.amount_minor,
      OLD.currency, OLD.reason, OLD.business_refs, OLD.trace_id, OLD.created_at) THEN
    RAISE EXCEPTION 'what was asked for in refund % does not change: make a new refund', OLD.refund_id
      USING ERRCODE = 'restrict_violation';
  END IF;
  IF OLD.provider_refund_id IS NOT NULL AND NEW.provider_refund_id IS DISTINCT FROM OLD.provider_refund_id THEN
    RAISE EXCEPTION 'provider_refund_id of refund % is set once', OLD.refund_id USING ERRCODE = 'restrict_violation';
  END IF;
  -- Without a change of status only the provider's id becomes known.
  IF NEW.status = OLD.status THEN
    IF (NEW.version, NEW.failure_code) IS DISTINCT FROM (OLD.version, OLD.failure_code) THEN
      RAISE EXCEPTION 'refund % stays %: its version and failure_code do not change', OLD.refund_id, OLD.status
        USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NEW;
  END IF;
  IF OLD.status IN ('FAILED', 'RETURNED') OR (OLD.status = 'SUCCEEDED' AND NEW.status <> 'RETURNED') THEN
    RAISE EXCEPTION 'refund % is % and does not become %', OLD.refund_id, OLD.status, NEW.status
      USING ERRCODE = 'restrict_violation';
  END IF;
  IF NEW.status = 'REQUESTED' OR (OLD.status = 'UNKNOWN' AND NEW.status = 'PENDING') THEN
    RAISE EXCEPTION 'refund % is % and does not become %', OLD.refund_id, OLD.status, NEW.status
      USING ERRCODE = 'restrict_violation';
  END IF;
  IF NEW.version <= OLD.version THEN
    RAISE EXCEPTION 'refund % has version %: version % is not after it', OLD.refund_id, OLD.version, NEW.version
      USING ERRCODE = 'restrict_violation';
  END IF;
  RETURN NEW;
END
$$;
CREATE TRIGGER refund_guard BEFORE UPDATE ON payrelay.refund
  FOR EACH ROW EXECUTE FUNCTION payrelay.refund_guard();
CREATE TRIGGER refund_no_delete BEFORE DELETE ON payrelay.refund
  FOR EACH ROW EXECUTE FUNCTION payrelay.refuse_change();
CREATE TRIGGER refund_no_truncate BEFORE TRUNCATE ON payrelay.refund
  FOR EACH STATEMENT EXECUTE FUNCTION payrelay.refuse_change();

-- What happened to a refund, in order. version is set where the status changed, once a version.
CREATE TABLE payrelay.refund_event (
  refund_event_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  refund_id text NOT NULL REFERENCES payrelay.refund (refund_id),
  version bigint,
  event_type text NOT NULL CHECK (event_type IN ('RefundRequested', 'RefundPending', 'RefundConfirmed', 'RefundFailed',
    'RefundUnknown', 'RefundReturned', 'FactIgnored', 'FactConflicting', 'MoneyReversed')),
  previous_status text,
  status text,
  fact_source text NOT NULL CHECK (fact_source IN
    ('UPSTREAM', 'RESPONSE', 'QUERY', 'WEBHOOK', 'SETTLEMENT', 'OPERATOR', 'WORKER')),
  evidence jsonb NOT NULL DEFAULT '{}',
  event_at timestamptz NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  CONSTRAINT refund_event_version_key UNIQUE (refund_id, version),
  CONSTRAINT refund_event_version_with_status CHECK ((version IS NULL) = (status IS NULL))
);
CREATE TRIGGER refund_event_append_only BEFORE UPDATE OR DELETE ON payrelay.refund_event
  FOR EACH ROW EXECUTE FUNCTION payrelay.refuse_change();
CREATE TRIGGER refund_event_no_truncate BEFORE TRUNCATE ON payrelay.refund_event
  FOR EACH STATEMENT EXECUTE FUNCTION payrelay.refuse_change();

CREATE FUNCTION payrelay.refund_requested() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = payrelay, pg_temp AS $$
BEGIN
  -- It writes with its owner's rights: on any other table it would let others forge events.
  IF TG_RELID <> 'payrelay.refund'::regclass THEN
    RAISE EXCEPTION 'refund_requested is for payrelay.refund, not for %', TG_RELID::regclass
      USING ERRCODE = 'insufficient_privilege';
  END IF;
  INSERT INTO payrelay.refund_event (refund_id, version, event_type, status, fact_source, evidence, event_at)
  VALUES
    (NEW.refund_id, 1, 'RefundRequested', 'REQUESTED', 'UPSTREAM',
     jsonb_build_object('payment_id', NEW.payment_id, 'provider', NEW.provider,
       'provider_transaction_id', NEW.provider_transaction_id, 'amount_minor', NEW.amount_minor,
       'currency', NEW.currency, 'reason', NEW.reason, 'trace_id', NEW.trace_id, 'by', session_user),
     NEW.created_at);
  RETURN NULL;
END
$$;
CREATE TRIGGER refund_requested AFTER INSERT ON payrelay.refund
  FOR EACH ROW EXECUTE FUNCTION payrelay.refund_requested();

-- A refund is an operation of its own, with a key of its own. payment_id stays the payment's.
ALTER TABLE payrelay.operation ADD COLUMN refund_id text REFERENCES payrelay.refund (refund_id);
ALTER TABLE payrelay.operation ADD CONSTRAINT operation_refund_has_id
  CHECK ((kind = 'REFUND') = (refund_id IS NOT NULL));
CREATE UNIQUE INDEX operation_refund_key ON payrelay.operation (refund_id) WHERE refund_id IS NOT NULL;

CREATE FUNCTION payrelay.operation_refund_guard() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'operation % is about its refund for good', OLD.operation_id USING ERRCODE = 'restrict_violation';
END
$$;
CREATE TRIGGER operation_refund_guard BEFORE UPDATE OF refund_id ON payrelay.operation
  FOR EACH ROW WHEN (NEW.refund_id IS DISTINCT FROM OLD.refund_id)
  EXECUTE FUNCTION payrelay.operation_refund_guard();

-- Writes refund and outbox row in the caller's transaction. Called again with equal arguments it writes nothing and
-- returns the same refund_id; with other arguments it is refused.
CREATE FUNCTION payrelay.request_refund(
  refund_id text,
  payment_id text,
  amount_minor bigint,
  currency text,
  provider_transaction_id text DEFAULT NULL,
  reason text DEFAULT NULL,
  business_refs jsonb DEFAULT '{}',
  trace_id text DEFAULT NULL,
  traceparent text DEFAULT NULL
) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = payrelay, pg_temp AS $$
#variable_conflict use_variable
DECLARE
  existing payrelay.refund%ROWTYPE;
  written payrelay.refund%ROWTYPE;
  differing text;
BEGIN
  -- Before looking: an equal call of another session may be about to commit.
  PERFORM FROM payrelay.payment p WHERE p.payment_id = request_refund.payment_id FOR NO KEY UPDATE;
  SELECT * INTO existing FROM payrelay.refund r WHERE r.refund_id = request_refund.refund_id;
  IF NOT FOUND THEN
    INSERT INTO payrelay.refund AS r (refund_id, payment_id, provider_transaction_id, amount_minor, currency, reason,
      business_refs, trace_id)
    VALUES (refund_id, payment_id, provider_transaction_id, amount_minor, currency, reason,
      coalesce(business_refs, '{}'), trace_id)
    RETURNING * INTO written;
    -- Under the payment's id, so that a payment and its refunds keep their order.
    INSERT INTO payrelay.outbox (aggregate_type, aggregate_id, event_type, payload, trace_id, traceparent)
    VALUES ('payment', payment_id, 'RefundRequested', json_build_object(
      'refund_id', refund_id, 'payment_id', payment_id, 'provider', written.provider,
      'provider_transaction_id', written.provider_transaction_id, 'amount_minor', amount_minor, 'currency', currency,
      'trace_id', trace_id), trace_id, traceparent);
    RETURN refund_id;
  END IF;

  differing := concat_ws(', ',
    CASE WHEN existing.payment_id IS DISTINCT FROM payment_id THEN 'payment_id' END,
    CASE WHEN existing.amount_minor IS DISTINCT FROM amount_minor THEN 'amount_minor' END,
    CASE WHEN existing.currency IS DISTINCT FROM currency THEN 'currency' END,
    -- Not named: the one that was filled in then.
    CASE WHEN existing.provider_transaction_id <> provider_transaction_id THEN 'provider_transaction_id' END,
    CASE WHEN existing.reason IS DISTINCT FROM reason THEN 'reason' END,
    CASE WHEN existing.business_refs <> coalesce(business_refs, '{}') THEN 'business_refs' END,
    CASE WHEN existing.trace_id IS DISTINCT FROM trace_id THEN 'trace_id' END);
  IF differing <> '' THEN
    RAISE EXCEPTION 'refund % exists with another %: a refund_id names one refund for good', refund_id, differing
      USING ERRCODE = 'unique_violation', CONSTRAINT = 'refund_pkey';
  END IF;
  RETURN refund_id;
END
$$;

CREATE OR REPLACE FUNCTION payrelay.open_for_upstreams() RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  GRANT INSERT (payment_id, merchant, merchant_order_id, provider, amount_minor, currency, payee_account,
    customer_id, business_refs, provider_data, trace_id) ON payrelay.payment TO payrelay_upstream;
  GRANT INSERT (refund_id, payment_id, provider_transaction_id, amount_minor, currency, reason, business_refs, trace_id)
    ON payrelay.refund TO payrelay_upstream;
  GRANT INSERT (event_id, aggregate_type, aggregate_id, event_type, payload, trace_id, traceparent)
    ON payrelay.outbox TO payrelay_upstream;
  GRANT INSERT ON payrelay.outbox TO payrelay_worker, payrelay_ingest, payrelay_operator;
  GRANT EXECUTE ON FUNCTION payrelay.request_payment TO payrelay_upstream;
  -- Operators give back what a case is about.
  GRANT EXECUTE ON FUNCTION payrelay.request_refund TO payrelay_upstream, payrelay_operator;
END
$$;

REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA payrelay FROM PUBLIC;
GRANT EXECUTE ON FUNCTION payrelay.refundable(text) TO payrelay_worker, payrelay_ingest, payrelay_operator;
GRANT SELECT, UPDATE (status, version, provider_refund_id, failure_code, updated_at)
  ON payrelay.refund TO payrelay_worker, payrelay_ingest, payrelay_operator;
GRANT SELECT, INSERT ON payrelay.refund_event TO payrelay_worker, payrelay_ingest, payrelay_operator;

-- A database that is open already stays so; a new one opens when migrate has ended.
DO $$
BEGIN
  IF has_column_privilege('payrelay_upstream', 'payrelay.outbox', 'event_type', 'INSERT') THEN
    PERFORM payrelay.open_for_upstreams();
  END IF;
END
$$;

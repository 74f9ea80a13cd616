-- The intent to move money from a payer once. Upstreams insert the contract's columns; the rest is a
-- projection of what payment_event and the ledger hold, and only Payrelay writes it.
CREATE TABLE payrelay.payment (
  payment_id text PRIMARY KEY
    CONSTRAINT payment_id_form CHECK (payment_id ~ '^[0-9A-Za-z_]{6,32}$'),
  merchant text NOT NULL CONSTRAINT payment_merchant_length CHECK (length(merchant) BETWEEN 1 AND 128),
  merchant_order_id text NOT NULL
    CONSTRAINT payment_merchant_order_id_length CHECK (length(merchant_order_id) BETWEEN 1 AND 128),
  provider text NOT NULL CONSTRAINT payment_provider_form CHECK (provider ~ '^[a-z][a-z0-9-]{0,31}$'),
  amount_minor bigint NOT NULL CONSTRAINT payment_amount_positive CHECK (amount_minor > 0),
  currency text NOT NULL CONSTRAINT payment_currency_known REFERENCES payrelay.currency (code),
  payee_account text CONSTRAINT payment_payee_account_length CHECK (length(payee_account) BETWEEN 1 AND 128),
  customer_id text CONSTRAINT payment_customer_id_length CHECK (length(customer_id) BETWEEN 1 AND 128),
  business_refs jsonb NOT NULL DEFAULT '{}'
    CONSTRAINT payment_business_refs_object CHECK (jsonb_typeof(business_refs) = 'object'
      AND octet_length(business_refs::text) <= 16384),
  provider_data jsonb NOT NULL DEFAULT '{}'
    CONSTRAINT payment_provider_data_object CHECK (jsonb_typeof(provider_data) = 'object'
      AND octet_length(provider_data::text) <= 16384),
  trace_id text CONSTRAINT payment_trace_id_form CHECK (trace_id ~ '^[0-9A-Za-z_-]{1,64}$'),
  -- Ours from here on.
  status text NOT NULL DEFAULT 'CREATED' CONSTRAINT payment_status_known
    CHECK (status IN ('CREATED', 'PENDING', 'SUCCEEDED', 'FAILED', 'UNKNOWN')),
  version bigint NOT NULL DEFAULT 1 CONSTRAINT payment_version_positive CHECK (version > 0),
  provider_transaction_id text,
  failure_code text,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  CONSTRAINT payment_succeeded_names_transaction
    CHECK (status <> 'SUCCEEDED' OR provider_transaction_id IS NOT NULL),
  CONSTRAINT payment_failed_names_code CHECK (status <> 'FAILED' OR failure_code IS NOT NULL)
);

-- One provider transaction pays one payment.
CREATE UNIQUE INDEX payment_provider_transaction_id_key
  ON payrelay.payment (provider, provider_transaction_id) WHERE provider_transaction_id IS NOT NULL;

-- One live payment an order; after a failed one the order may be paid anew.
CREATE UNIQUE INDEX payment_live_order_key
  ON payrelay.payment (merchant, merchant_order_id) WHERE status <> 'FAILED';

-- The sweep looks for payments that nobody works on.
CREATE INDEX payment_waiting ON payrelay.payment (created_at) WHERE status IN ('CREATED', 'PENDING', 'UNKNOWN');

CREATE FUNCTION payrelay.payment_check() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = payrelay, pg_temp AS $$
BEGIN
  IF TG_RELID <> 'payrelay.payment'::regclass THEN
    RAISE EXCEPTION 'payment_check is for payrelay.payment, not for %', TG_RELID::regclass
      USING ERRCODE = 'insufficient_privilege';
  END IF;
  IF NEW.payment_id IS NULL OR NEW.payment_id !~ '^[0-9A-Za-z_]{6,32}$' THEN
    RAISE EXCEPTION 'payment_id % is not 6 to 32 of the characters 0-9 A-Z a-z _ (a UUID without its dashes fits)',
      coalesce(quote_literal(NEW.payment_id), 'NULL') USING ERRCODE = 'check_violation';
  END IF;
  IF NEW.amount_minor IS NULL OR NEW.amount_minor <= 0 THEN
    RAISE EXCEPTION 'amount_minor % of payment % is not a positive number of minor units',
      coalesce(NEW.amount_minor::text, 'NULL'), NEW.payment_id USING ERRCODE = 'check_violation';
  END IF;
  IF NEW.currency IS NULL OR NOT EXISTS (SELECT FROM payrelay.currency WHERE code = NEW.currency) THEN
    RAISE EXCEPTION 'currency % of payment % is not an ISO 4217 code that payrelay.currency lists (upper case, three letters)',
      coalesce(quote_literal(NEW.currency), 'NULL'), NEW.payment_id USING ERRCODE = 'check_violation';
  END IF;
  IF NEW.provider IS NULL OR NEW.provider !~ '^[a-z][a-z0-9-]{0,31}$' THEN
    RAISE EXCEPTION 'provider % of payment % is not a provider name (lower case letters, digits, dashes)',
      coalesce(quote_literal(NEW.provider), 'NULL'), NEW.payment_id USING ERRCODE = 'check_violation';
  END IF;
  IF NEW.merchant IS NULL OR NEW.merchant_order_id IS NULL THEN
    RAISE EXCEPTION 'payment % needs merchant and merchant_order_id: they name the order it pays', NEW.payment_id
      USING ERRCODE = 'not_null_violation';
  END IF;
  IF payrelay.has_card_like_digits(NEW.provider_data::text)
      OR payrelay.has_card_like_digits(NEW.business_refs::text) THEN
    RAISE EXCEPTION 'provider_data or business_refs of payment % holds digits that look like a card number: store the provider''s token for the card instead',
      NEW.payment_id USING ERRCODE = 'check_violation';
  END IF;
  IF NEW.status <> 'CREATED' OR NEW.version <> 1 OR NEW.provider_transaction_id IS NOT NULL
      OR NEW.failure_code IS NOT NULL THEN
    RAISE EXCEPTION 'payment % must begin as CREATED: status, version, provider_transaction_id and failure_code are written by Payrelay only',
      NEW.payment_id USING ERRCODE = 'check_violation';
  END IF;
  IF EXISTS (SELECT FROM payrelay.payment p
      WHERE p.merchant = NEW.merchant AND p.merchant_order_id = NEW.merchant_order_id
        AND p.status <> 'FAILED')
      -- A repeated payment_id is for the primary key, or for request_payment, to answer.
      AND NOT EXISTS (SELECT FROM payrelay.payment p WHERE p.payment_id = NEW.payment_id) THEN
    RAISE EXCEPTION 'order % of merchant % already has a live payment: wait for its end, a new one is allowed after FAILED',
      NEW.merchant_order_id, NEW.merchant
      USING ERRCODE = 'unique_violation', CONSTRAINT = 'payment_live_order_key';
  END IF;
  RETURN NEW;
END
$$;

CREATE TRIGGER payment_check BEFORE INSERT ON payrelay.payment
  FOR EACH ROW EXECUTE FUNCTION payrelay.payment_check();

CREATE FUNCTION payrelay.payment_guard() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
  IF (NEW.payment_id, NEW.merchant, NEW.merchant_order_id, NEW.provider, NEW.amount_minor, NEW.currency,
      NEW.payee_account, NEW.customer_id, NEW.business_refs, NEW.provider_data, NEW.trace_id, NEW.created_at)
    IS DISTINCT FROM
     (OLD.payment_id, OLD.merchant, OLD.merchant_order_id, OLD.provider, OLD.amount_minor, OLD.currency,
      OLD.payee_account, OLD.customer_id, OLD.business_refs, OLD.provider_data, OLD.trace_id, OLD.created_at) THEN
    RAISE EXCEPTION 'what was asked for in payment % does not change: make a new payment', OLD.payment_id
      USING ERRCODE = 'restrict_violation';
  END IF;
  IF OLD.status IN ('SUCCEEDED', 'FAILED') THEN
    RAISE EXCEPTION 'payment % is % and stays so', OLD.payment_id, OLD.status USING ERRCODE = 'restrict_violation';
  END IF;
  IF NEW.version <= OLD.version THEN
    RAISE EXCEPTION 'payment % has version %: version % is not after it', OLD.payment_id, OLD.version, NEW.version
      USING ERRCODE = 'restrict_violation';
  END IF;
  RETURN NEW;
END
$$;

CREATE TRIGGER payment_guard BEFORE UPDATE ON payrelay.payment
  FOR EACH ROW EXECUTE FUNCTION payrelay.payment_guard();
CREATE TRIGGER payment_no_delete BEFORE DELETE ON payrelay.payment
  FOR EACH ROW EXECUTE FUNCTION payrelay.refuse_change();
CREATE TRIGGER payment_no_truncate BEFORE TRUNCATE ON payrelay.payment
  FOR EACH STATEMENT EXECUTE FUNCTION payrelay.refuse_change();

-- What happened to a payment, in order. version is set where the status changed, once a version.
CREATE TABLE payrelay.payment_event (
  payment_event_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  payment_id text NOT NULL REFERENCES payrelay.payment (payment_id),
  version bigint,
  event_type text NOT NULL CHECK (event_type IN ('PaymentRequested', 'PaymentPending', 'PaymentConfirmed',
    'PaymentFailed', 'PaymentUnknown', 'FactIgnored', 'FactConflicting', 'MoneyReversed')),
  previous_status text,
  status text,
  fact_source text NOT NULL CHECK (fact_source IN
    ('UPSTREAM', 'RESPONSE', 'QUERY', 'WEBHOOK', 'SETTLEMENT', 'OPERATOR', 'WORKER')),
  evidence jsonb NOT NULL DEFAULT '{}',
  event_at timestamptz NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  CONSTRAINT payment_event_version_key UNIQUE (payment_id, version),
  CONSTRAINT payment_event_version_with_status CHECK ((version IS NULL) = (status IS NULL))
);

CREATE TRIGGER payment_event_append_only BEFORE UPDATE OR DELETE ON payrelay.payment_event
  FOR EACH ROW EXECUTE FUNCTION payrelay.refuse_change();
CREATE TRIGGER payment_event_no_truncate BEFORE TRUNCATE ON payrelay.payment_event
  FOR EACH STATEMENT EXECUTE FUNCTION payrelay.refuse_change();

CREATE FUNCTION payrelay.payment_requested() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = payrelay, pg_temp AS $$
BEGIN
  -- It writes with its owner's rights: on any other table it would let others forge events.
  IF TG_RELID <> 'payrelay.payment'::regclass THEN
    RAISE EXCEPTION 'payment_requested is for payrelay.payment, not for %', TG_RELID::regclass
      USING ERRCODE = 'insufficient_privilege';
  END IF;
  INSERT INTO payrelay.payment_event
    (payment_id, version, event_type, status, fact_source, evidence, event_at)
  VALUES
    (NEW.payment_id, 1, 'PaymentRequested', 'CREATED', 'UPSTREAM',
     jsonb_build_object('merchant', NEW.merchant, 'merchant_order_id', NEW.merchant_order_id,
       'provider', NEW.provider, 'amount_minor', NEW.amount_minor, 'currency', NEW.currency,
       'trace_id', NEW.trace_id, 'by', session_user),
     NEW.created_at);
  RETURN NULL;
END
$$;

CREATE TRIGGER payment_requested AFTER INSERT ON payrelay.payment
  FOR EACH ROW EXECUTE FUNCTION payrelay.payment_requested();

GRANT SELECT, UPDATE (status, version, provider_transaction_id, failure_code, updated_at)
  ON payrelay.payment TO payrelay_worker, payrelay_ingest, payrelay_operator;
GRANT SELECT, INSERT ON payrelay.payment_event TO payrelay_worker, payrelay_ingest, payrelay_operator;

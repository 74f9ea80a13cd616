-- What does not converge by itself, with the evidence a person needs. business_key makes one conflict one open
-- case; what recurs after it was resolved is a new one.
CREATE TABLE payrelay.exception_case (
  exception_case_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  business_key text NOT NULL,
  kind text NOT NULL CHECK (kind IN ('LATE_SUCCESS', 'FAILED_AFTER_CAPTURE', 'DOUBLE_CHARGE', 'AMOUNT_MISMATCH',
    'CURRENCY_MISMATCH', 'PAYEE_MISMATCH', 'PROVIDER_MISMATCH', 'TRANSACTION_CLAIMED_TWICE', 'PAYLOAD_MISMATCH', 'UNRESOLVED',
    'KEY_REFUSED', 'UNKNOWN_PROVIDER', 'DISPUTED', 'DISPUTE_WON', 'DISPUTE_LOST', 'PROVIDER_REFUND',
    'UNMATCHED_PROVIDER_PAYMENT', 'WEBHOOK_CONFLICT', 'WEBHOOK_FAILED', 'MISSING_EVENT')),
  payment_id text,
  provider text,
  provider_transaction_id text,
  expected_amount_minor bigint,
  expected_currency text,
  observed_amount_minor bigint,
  observed_currency text,
  trace_id text,
  evidence jsonb NOT NULL DEFAULT '{}',
  event_at timestamptz NOT NULL,
  opened_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  status text NOT NULL DEFAULT 'OPEN' CHECK (status IN ('OPEN', 'RESOLVED')),
  resolved_at timestamptz,
  resolved_by text,
  resolution text,
  CONSTRAINT exception_case_resolved_by_somebody
    CHECK ((status = 'RESOLVED') = (resolved_at IS NOT NULL AND resolved_by IS NOT NULL AND resolution IS NOT NULL))
);
CREATE UNIQUE INDEX exception_case_open_key ON payrelay.exception_case (business_key) WHERE status = 'OPEN';
CREATE INDEX exception_case_business_key ON payrelay.exception_case (business_key);
CREATE INDEX exception_case_open ON payrelay.exception_case (opened_at) WHERE status = 'OPEN';
CREATE INDEX exception_case_payment ON payrelay.exception_case (payment_id) WHERE payment_id IS NOT NULL;

CREATE TRIGGER exception_case_no_delete BEFORE DELETE ON payrelay.exception_case
  FOR EACH ROW EXECUTE FUNCTION payrelay.refuse_change();
CREATE TRIGGER exception_case_no_truncate BEFORE TRUNCATE ON payrelay.exception_case
  FOR EACH STATEMENT EXECUTE FUNCTION payrelay.refuse_change();

GRANT SELECT, INSERT ON payrelay.exception_case TO payrelay_worker, payrelay_ingest, payrelay_operator;
GRANT UPDATE (status, resolved_at, resolved_by, resolution) ON payrelay.exception_case TO payrelay_operator;

-- A lock that somebody holds for long must not queue everybody behind this: run migrate again.
SET LOCAL lock_timeout = '5s';
LOCK TABLE payrelay.ledger_posting IN SHARE ROW EXCLUSIVE MODE;

-- Money that leaves, or comes back, without a request of ours changes what a refund may take. It touches the payment's
-- row: a transaction above READ COMMITTED whose snapshot is older cannot see the posting, and is refused with 40001
-- when refund_check locks that row. Captures only make more refundable, and are most of the postings.
CREATE FUNCTION payrelay.ledger_posting_touches_payment() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
  -- With the rights of whoever books: all who may book may update payments.
  UPDATE payrelay.payment SET updated_at = updated_at WHERE payment_id = NEW.payment_id;
  RETURN NULL;
END
$$;
CREATE TRIGGER ledger_posting_touches_payment AFTER INSERT ON payrelay.ledger_posting
  FOR EACH ROW WHEN (NEW.payment_id IS NOT NULL AND NEW.kind NOT IN ('CAPTURE', 'SUSPENSE_CAPTURE', 'ADJUSTMENT'))
  EXECUTE FUNCTION payrelay.ledger_posting_touches_payment();

-- As before, but a row that stays as it is may be written.
CREATE OR REPLACE FUNCTION payrelay.payment_guard() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
  IF NEW IS NOT DISTINCT FROM OLD THEN
    RETURN NEW;
  END IF;
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

-- A refund that a person asked for has no upstream that hears of its failure: it becomes a case again.
ALTER TABLE payrelay.exception_case DROP CONSTRAINT exception_case_kind_check;
ALTER TABLE payrelay.exception_case ADD CONSTRAINT exception_case_kind_check CHECK (kind IN ('LATE_SUCCESS',
  'FAILED_AFTER_CAPTURE', 'DOUBLE_CHARGE', 'AMOUNT_MISMATCH', 'CURRENCY_MISMATCH', 'PAYEE_MISMATCH',
  'PROVIDER_MISMATCH', 'TRANSACTION_CLAIMED_TWICE', 'PAYLOAD_MISMATCH', 'UNRESOLVED', 'KEY_REFUSED',
  'UNKNOWN_PROVIDER', 'DISPUTED', 'DISPUTE_WON', 'DISPUTE_LOST', 'PROVIDER_REFUND', 'UNMATCHED_PROVIDER_PAYMENT',
  'WEBHOOK_CONFLICT', 'WEBHOOK_FAILED', 'MISSING_EVENT', 'REFUND_RETURNED', 'LATE_REFUND', 'DOUBLE_REFUND',
  'REFUND_FAILED'));

-- When the newest answer came for an operation that was wiped already: its body has a time of its own.
ALTER TABLE payrelay.operation ADD COLUMN late_body_at timestamptz;
CREATE INDEX operation_late_body ON payrelay.operation (late_body_at) WHERE late_body_at IS NOT NULL;
-- Those that came before this migration.
UPDATE payrelay.operation o SET late_body_at = clock_timestamp()
WHERE o.wiped_at IS NOT NULL AND EXISTS (SELECT FROM payrelay.attempt a
  WHERE a.operation_id = o.operation_id AND a.response_body IS NOT NULL);

REVOKE EXECUTE ON FUNCTION payrelay.ledger_posting_touches_payment() FROM PUBLIC;

-- What the resolver and the upkeep of operations need beside V0005.
ALTER TABLE payrelay.operation
  -- The provider's own id of what the operation made there, as an answer or a webhook first gave it: not every
  -- provider can be asked by our id.
  ADD COLUMN provider_reference text,
  -- It had been left to a person and was opened again: the provider is asked and nothing is sent any more.
  ADD COLUMN queries_only boolean NOT NULL DEFAULT false,
  -- When its bodies were removed; the digest stays.
  ADD COLUMN wiped_at timestamptz,
  ADD CONSTRAINT operation_wiped_is_never_sent CHECK (wiped_at IS NULL OR next_action IS DISTINCT FROM 'CALL'),
  ADD CONSTRAINT operation_queries_only_never_calls CHECK (NOT queries_only OR next_action IS DISTINCT FROM 'CALL');

-- Closed operations whose bodies are there still, the oldest first: one entry more when an operation is closed.
CREATE INDEX operation_unwiped ON payrelay.operation (updated_at) WHERE next_action IS NULL AND wiped_at IS NULL;

CREATE OR REPLACE FUNCTION payrelay.operation_guard() RETURNS trigger
LANGUAGE plpgsql AS $$
DECLARE
  unfinished boolean;
BEGIN
  IF (NEW.payment_id, NEW.kind, NEW.provider, NEW.idempotency_key, NEW.request_digest)
    IS DISTINCT FROM
     (OLD.payment_id, OLD.kind, OLD.provider, OLD.idempotency_key, OLD.request_digest) THEN
    RAISE EXCEPTION 'operation % has its key and its bytes for good', OLD.operation_id USING ERRCODE = 'restrict_violation';
  END IF;
  IF NEW.request_body IS DISTINCT FROM OLD.request_body OR NEW.wiped_at IS DISTINCT FROM OLD.wiped_at THEN
    IF NEW.wiped_at IS NULL OR OLD.wiped_at IS NOT NULL OR octet_length(NEW.request_body) > 0 THEN
      RAISE EXCEPTION 'operation % has its key and its bytes for good', OLD.operation_id USING ERRCODE = 'restrict_violation';
    END IF;
    -- One question a kind: a refund's payment may be unresolved for good, its money in suspense.
    IF OLD.kind = 'CHARGE' THEN
      unfinished := EXISTS (SELECT FROM payrelay.payment
        WHERE payment_id = OLD.payment_id AND status NOT IN ('SUCCEEDED', 'FAILED'));
    ELSE
      unfinished := EXISTS (SELECT FROM payrelay.refund
        WHERE refund_id = OLD.refund_id AND status NOT IN ('SUCCEEDED', 'FAILED', 'RETURNED'));
    END IF;
    IF unfinished OR NEW.next_action IS NOT NULL THEN
      RAISE EXCEPTION 'operation % is not wiped before it and what it is for have their end', OLD.operation_id
        USING ERRCODE = 'restrict_violation';
    END IF;
  END IF;
  IF OLD.key_safe_until IS NOT NULL AND NEW.key_safe_until IS DISTINCT FROM OLD.key_safe_until THEN
    RAISE EXCEPTION 'key_safe_until of operation % is set once', OLD.operation_id USING ERRCODE = 'restrict_violation';
  END IF;
  IF OLD.provider_reference IS NOT NULL AND NEW.provider_reference IS DISTINCT FROM OLD.provider_reference THEN
    RAISE EXCEPTION 'provider_reference of operation % is set once', OLD.operation_id USING ERRCODE = 'restrict_violation';
  END IF;
  IF OLD.queries_only AND NOT NEW.queries_only THEN
    RAISE EXCEPTION 'operation % was left to a person: nothing is sent under it any more', OLD.operation_id
      USING ERRCODE = 'restrict_violation';
  END IF;
  RETURN NEW;
END
$$;

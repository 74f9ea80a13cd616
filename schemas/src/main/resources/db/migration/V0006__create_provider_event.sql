-- A provider's webhook event as it came, once. Only what we did with it may change.
CREATE TABLE payrelay.provider_event (
  provider text NOT NULL,
  event_id text NOT NULL CHECK (length(event_id) BETWEEN 1 AND 256),
  event_type text NOT NULL,
  body bytea NOT NULL,
  body_digest bytea NOT NULL CHECK (octet_length(body_digest) = 32),
  -- Digest of the fields that say what happened, without those that change from delivery to delivery.
  business_digest bytea NOT NULL CHECK (octet_length(business_digest) = 32),
  headers jsonb NOT NULL DEFAULT '{}',
  key_id text NOT NULL,
  received_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  payment_id text,
  disposition text NOT NULL CHECK (disposition IN
    ('APPLIED', 'NO_CHANGE', 'CONFLICT', 'PARKED', 'UNMATCHED', 'FAILED', 'UNKNOWN_TYPE')),
  disposition_reason text,
  disposition_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  delivery_count integer NOT NULL DEFAULT 1,
  match_count integer NOT NULL DEFAULT 0,
  next_match_at timestamptz,
  CONSTRAINT provider_event_key PRIMARY KEY (provider, event_id)
);
CREATE INDEX provider_event_parked ON payrelay.provider_event (next_match_at) WHERE disposition = 'PARKED';
CREATE INDEX provider_event_payment ON payrelay.provider_event (payment_id) WHERE payment_id IS NOT NULL;

CREATE FUNCTION payrelay.provider_event_guard() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
  IF (NEW.provider, NEW.event_id, NEW.event_type, NEW.body, NEW.body_digest, NEW.business_digest, NEW.headers,
      NEW.key_id, NEW.received_at)
    IS DISTINCT FROM
     (OLD.provider, OLD.event_id, OLD.event_type, OLD.body, OLD.body_digest, OLD.business_digest, OLD.headers,
      OLD.key_id, OLD.received_at) THEN
    RAISE EXCEPTION 'webhook event % of % is evidence and does not change', OLD.event_id, OLD.provider
      USING ERRCODE = 'restrict_violation';
  END IF;
  RETURN NEW;
END
$$;
CREATE TRIGGER provider_event_guard BEFORE UPDATE ON payrelay.provider_event
  FOR EACH ROW EXECUTE FUNCTION payrelay.provider_event_guard();
CREATE TRIGGER provider_event_no_delete BEFORE DELETE ON payrelay.provider_event
  FOR EACH ROW EXECUTE FUNCTION payrelay.refuse_change();
CREATE TRIGGER provider_event_no_truncate BEFORE TRUNCATE ON payrelay.provider_event
  FOR EACH STATEMENT EXECUTE FUNCTION payrelay.refuse_change();

GRANT SELECT, INSERT ON payrelay.provider_event TO payrelay_ingest;
GRANT UPDATE (payment_id, disposition, disposition_reason, disposition_at, delivery_count, match_count, next_match_at)
  ON payrelay.provider_event TO payrelay_ingest, payrelay_operator;
GRANT SELECT ON payrelay.provider_event TO payrelay_operator, payrelay_worker;

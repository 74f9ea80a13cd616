-- What we ask of a provider once: it owns the idempotency key, the exact body bytes and the time until
-- which the provider surely remembers the key.
CREATE TABLE payrelay.operation (
  operation_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  payment_id text NOT NULL REFERENCES payrelay.payment (payment_id),
  kind text NOT NULL CHECK (kind IN ('CHARGE', 'REFUND')),
  provider text NOT NULL,
  idempotency_key text NOT NULL CONSTRAINT operation_idempotency_key_key UNIQUE,
  request_body bytea NOT NULL,
  request_digest bytea NOT NULL CHECK (octet_length(request_digest) = 32),
  -- NULL until the first attempt is claimed, then never changed.
  key_safe_until timestamptz,
  -- NULL: nothing is left to do.
  next_action text CHECK (next_action IN ('CALL', 'QUERY', 'CANCEL')),
  next_action_at timestamptz,
  -- Past this an unresolved operation becomes a person's.
  resolve_until timestamptz,
  call_count integer NOT NULL DEFAULT 0,
  query_count integer NOT NULL DEFAULT 0,
  trace_id text,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  CONSTRAINT operation_action_has_time CHECK ((next_action IS NULL) = (next_action_at IS NULL))
);
CREATE UNIQUE INDEX operation_charge_key ON payrelay.operation (payment_id) WHERE kind = 'CHARGE';
CREATE INDEX operation_due ON payrelay.operation (provider, next_action_at) WHERE next_action IS NOT NULL;

CREATE FUNCTION payrelay.operation_guard() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
  IF (NEW.payment_id, NEW.kind, NEW.provider, NEW.idempotency_key, NEW.request_body, NEW.request_digest)
    IS DISTINCT FROM
     (OLD.payment_id, OLD.kind, OLD.provider, OLD.idempotency_key, OLD.request_body, OLD.request_digest) THEN
    RAISE EXCEPTION 'operation % has its key and its bytes for good', OLD.operation_id USING ERRCODE = 'restrict_violation';
  END IF;
  IF OLD.key_safe_until IS NOT NULL AND NEW.key_safe_until IS DISTINCT FROM OLD.key_safe_until THEN
    RAISE EXCEPTION 'key_safe_until of operation % is set once', OLD.operation_id USING ERRCODE = 'restrict_violation';
  END IF;
  RETURN NEW;
END
$$;
CREATE TRIGGER operation_guard BEFORE UPDATE ON payrelay.operation
  FOR EACH ROW EXECUTE FUNCTION payrelay.operation_guard();
CREATE TRIGGER operation_no_delete BEFORE DELETE ON payrelay.operation
  FOR EACH ROW EXECUTE FUNCTION payrelay.refuse_change();
CREATE TRIGGER operation_no_truncate BEFORE TRUNCATE ON payrelay.operation
  FOR EACH STATEMENT EXECUTE FUNCTION payrelay.refuse_change();

-- One call to the provider under an operation. Unfinished: in flight, owned until lease_until.
CREATE TABLE payrelay.attempt (
  attempt_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  operation_id bigint NOT NULL REFERENCES payrelay.operation (operation_id),
  attempt_number integer NOT NULL CHECK (attempt_number > 0),
  kind text NOT NULL CHECK (kind IN ('CALL', 'QUERY', 'CANCEL')),
  lease_owner text NOT NULL,
  lease_until timestamptz NOT NULL,
  started_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  finished_at timestamptz,
  outcome text CHECK (outcome IN ('SUCCEEDED', 'PENDING', 'DECLINED', 'NOT_PROCESSED', 'UNKNOWN', 'NOT_FOUND',
    'RETURNED_UNSENT', 'ABANDONED')),
  http_status integer,
  response_body bytea CHECK (octet_length(response_body) <= 65536),
  detail text,
  CONSTRAINT attempt_number_key UNIQUE (operation_id, attempt_number),
  CONSTRAINT attempt_finished_has_outcome CHECK ((finished_at IS NULL) = (outcome IS NULL))
);
CREATE UNIQUE INDEX attempt_in_flight_key ON payrelay.attempt (operation_id) WHERE finished_at IS NULL;

GRANT SELECT, INSERT, UPDATE ON payrelay.operation, payrelay.attempt TO payrelay_worker;
GRANT SELECT, UPDATE ON payrelay.operation TO payrelay_ingest, payrelay_operator;
GRANT SELECT ON payrelay.attempt TO payrelay_ingest, payrelay_operator;

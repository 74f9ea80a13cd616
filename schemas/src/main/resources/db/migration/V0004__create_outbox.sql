-- Which event types there are, where each goes, and who may write it. migrate fills it from the event
-- catalogue and PAYRELAY_SCHEMAS_DIR.
CREATE TABLE payrelay.event_type (
  event_type text PRIMARY KEY CHECK (event_type ~ '^[A-Z][0-9A-Za-z]{0,63}$'),
  topic text NOT NULL,
  -- True: upstream services may write it. False: only Payrelay's own processes.
  upstream boolean NOT NULL
);

-- Appended in the business transaction, read from the WAL by the relay, never updated. Partitioned by the
-- day of created_at. Without primary key and without unique index on the root: Debezium would take it as
-- the record key. event_id is unique by an index on each partition.
CREATE TABLE payrelay.outbox (
  event_id uuid NOT NULL DEFAULT gen_random_uuid(),
  aggregate_type text NOT NULL CONSTRAINT outbox_aggregate_type_length CHECK (length(aggregate_type) BETWEEN 1 AND 64),
  aggregate_id text NOT NULL CONSTRAINT outbox_aggregate_id_length CHECK (length(aggregate_id) BETWEEN 1 AND 128),
  event_type text NOT NULL CONSTRAINT outbox_event_type_length CHECK (length(event_type) BETWEEN 1 AND 64),
  payload json NOT NULL CONSTRAINT outbox_payload_size CHECK (octet_length(payload::text) <= 900000),
  trace_id text CONSTRAINT outbox_trace_id_form CHECK (trace_id ~ '^[0-9A-Za-z_-]{1,64}$'),
  traceparent text CONSTRAINT outbox_traceparent_length CHECK (length(traceparent) <= 128),
  created_at timestamptz NOT NULL DEFAULT now()
) PARTITION BY RANGE (created_at);

CREATE TABLE payrelay.outbox_default (
  LIKE payrelay.outbox INCLUDING DEFAULTS INCLUDING CONSTRAINTS
);
CREATE UNIQUE INDEX outbox_default_event_id_key ON payrelay.outbox_default (event_id);
ALTER TABLE payrelay.outbox ATTACH PARTITION payrelay.outbox_default DEFAULT;

CREATE FUNCTION payrelay.outbox_check() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = payrelay, pg_temp AS $$
BEGIN
  -- It fires on a partition. Only the owner makes tables in this schema.
  IF TG_TABLE_SCHEMA <> 'payrelay' OR TG_TABLE_NAME !~ '^outbox(_|$)' THEN
    RAISE EXCEPTION 'outbox_check is for payrelay.outbox, not for %', TG_RELID::regclass
      USING ERRCODE = 'insufficient_privilege';
  END IF;
  IF NEW.payload IS NULL THEN
    RAISE EXCEPTION 'payload of a % event for % is NULL: write the event as a JSON object', NEW.event_type, NEW.aggregate_id
      USING ERRCODE = 'not_null_violation';
  END IF;
  IF octet_length(NEW.payload::text) > 900000 THEN
    RAISE EXCEPTION 'payload of a % event for % has % bytes: at most 900000 fit into a Kafka record', NEW.event_type,
      NEW.aggregate_id, octet_length(NEW.payload::text)
      USING ERRCODE = 'check_violation', CONSTRAINT = 'outbox_payload_size';
  END IF;
  -- current_setting('role') is what the session's user is; inside this function current_user is the owner.
  IF pg_has_role(CASE WHEN current_setting('role') = 'none' THEN session_user::text ELSE current_setting('role') END,
      'payrelay_upstream', 'USAGE')
    AND NOT pg_has_role(CASE WHEN current_setting('role') = 'none' THEN session_user::text ELSE current_setting('role') END,
      'payrelay_worker', 'USAGE')
    AND NOT EXISTS (SELECT FROM payrelay.event_type t WHERE t.event_type = NEW.event_type AND t.upstream) THEN
    RAISE EXCEPTION 'event type % is not one that upstream services may write: see payrelay.event_type', quote_literal(NEW.event_type)
      USING ERRCODE = 'insufficient_privilege';
  END IF;
  RETURN NEW;
END
$$;

CREATE TRIGGER outbox_check BEFORE INSERT ON payrelay.outbox
  FOR EACH ROW EXECUTE FUNCTION payrelay.outbox_check();

CREATE FUNCTION payrelay.event_type_is_upstream(name text) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = payrelay, pg_temp AS $$
  SELECT EXISTS (SELECT FROM payrelay.event_type t WHERE t.event_type = name AND t.upstream)
$$;

-- The policy is the lock, the trigger above the sentence.
ALTER TABLE payrelay.outbox ENABLE ROW LEVEL SECURITY;
CREATE POLICY outbox_upstream_insert ON payrelay.outbox FOR INSERT TO payrelay_upstream
  WITH CHECK (payrelay.event_type_is_upstream(event_type));
CREATE POLICY outbox_payrelay_insert ON payrelay.outbox FOR INSERT
  TO payrelay_worker, payrelay_ingest, payrelay_operator WITH CHECK (true);
CREATE POLICY outbox_payrelay_read ON payrelay.outbox FOR SELECT
  TO payrelay_relay, payrelay_operator USING (true);

-- Makes the partitions of today (UTC) and the days after it, and returns how many are new. By CREATE TABLE
-- (LIKE) + ATTACH, because PARTITION OF would lock the parent exclusively; with a lock limit, because a
-- waiting ATTACH would queue every INSERT behind one long transaction. A day whose rows already lie in
-- DEFAULT is left there: moved rows would be published twice.
CREATE FUNCTION payrelay.create_outbox_partitions(days_ahead integer DEFAULT 7) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = payrelay, pg_temp SET lock_timeout = '2s' AS $$
DECLARE
  day date;
  name text;
  made integer := 0;
BEGIN
  IF days_ahead IS NULL OR days_ahead NOT BETWEEN 0 AND 366 THEN
    RAISE EXCEPTION 'days_ahead % is not between 0 and 366', days_ahead USING ERRCODE = 'invalid_parameter_value';
  END IF;
  PERFORM pg_advisory_xact_lock(hashtext('payrelay.outbox_partitions'));
  FOR day IN SELECT generate_series(0, days_ahead) + (now() AT TIME ZONE 'UTC')::date LOOP
    name := 'outbox_' || to_char(day, 'YYYYMMDD');
    CONTINUE WHEN to_regclass('payrelay.' || name) IS NOT NULL;
    CONTINUE WHEN EXISTS (SELECT FROM payrelay.outbox_default d
      WHERE d.created_at >= day::timestamp AT TIME ZONE 'UTC'
        AND d.created_at < (day + 1)::timestamp AT TIME ZONE 'UTC');
    EXECUTE format('CREATE TABLE payrelay.%I (LIKE payrelay.outbox INCLUDING DEFAULTS INCLUDING CONSTRAINTS)', name);
    EXECUTE format('CREATE UNIQUE INDEX %I ON payrelay.%I (event_id)', name || '_event_id_key', name);
    EXECUTE format('ALTER TABLE payrelay.outbox ATTACH PARTITION payrelay.%I FOR VALUES FROM (%L) TO (%L)', name,
      to_char(day, 'YYYY-MM-DD') || ' 00:00:00+00', to_char(day + 1, 'YYYY-MM-DD') || ' 00:00:00+00');
    made := made + 1;
  END LOOP;
  RETURN made;
END
$$;
REVOKE ALL ON FUNCTION payrelay.create_outbox_partitions(integer) FROM PUBLIC;

SELECT payrelay.create_outbox_partitions();

-- One relay owns a slot at a time. The lease says who tries; Kafka's fencing is the safety.
CREATE TABLE payrelay.relay_owner (
  slot_name text PRIMARY KEY,
  owner text NOT NULL,
  lease_until timestamptz NOT NULL,
  -- [{"pid": 1, "backend_start": "..."}]: when all of them are gone, so is the owner.
  backends jsonb NOT NULL DEFAULT '[]'
);

GRANT SELECT ON payrelay.event_type TO payrelay_upstream, payrelay_relay, payrelay_worker, payrelay_ingest, payrelay_operator;
GRANT EXECUTE ON FUNCTION payrelay.create_outbox_partitions(integer) TO payrelay_relay, payrelay_operator;
GRANT SELECT ON payrelay.outbox TO payrelay_relay, payrelay_operator;
GRANT SELECT, INSERT, UPDATE ON payrelay.relay_owner TO payrelay_relay;
GRANT SELECT ON payrelay.relay_owner TO payrelay_operator;

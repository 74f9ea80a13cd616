-- Upkeep of the outbox's partitions, step by step: each function does one thing in the caller's transaction,
-- waits for locks no longer than it was told, and can be called again at any time. The relay calls them; it has no
-- DDL rights itself.

-- Partitions that are no longer part of the outbox, until they are dropped and after.
CREATE TABLE payrelay.outbox_detached (
  partition_name text PRIMARY KEY,
  -- Retention counts from here.
  end_at timestamptz NOT NULL,
  detached_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- Every row was committed before this place in the WAL: a slot confirmed to it has delivered them all.
  detached_lsn pg_lsn NOT NULL,
  confirmed_at timestamptz,
  dropped_at timestamptz
);
GRANT SELECT ON payrelay.outbox_detached TO payrelay_relay, payrelay_operator;

CREATE FUNCTION payrelay.outbox_partitions() RETURNS TABLE (partition_name text, from_at timestamptz, to_at timestamptz)
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = payrelay, pg_temp SET TimeZone = 'UTC' SET DateStyle = 'ISO, YMD' AS $$
  SELECT c.relname::text,
    CASE WHEN b.bounds[1] = 'MINVALUE' THEN '-infinity' ELSE trim('''' FROM b.bounds[1]) END::timestamptz,
    CASE WHEN b.bounds[2] = 'MAXVALUE' THEN 'infinity' ELSE trim('''' FROM b.bounds[2]) END::timestamptz
  FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
  CROSS JOIN LATERAL regexp_match(pg_get_expr(c.relpartbound, c.oid),
    'FROM \((MINVALUE|''[^'']*'')\) TO \((MAXVALUE|''[^'']*'')\)') AS b (bounds)
  WHERE i.inhparent = 'payrelay.outbox'::regclass AND b.bounds IS NOT NULL
$$;

-- One day (UTC), unless a partition covers a part of it or DEFAULT holds rows of it. By CREATE TABLE (LIKE) +
-- ATTACH, because PARTITION OF would lock the parent exclusively.
CREATE FUNCTION payrelay.create_outbox_partition(day date) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
  name text := 'outbox_' || to_char(day, 'YYYYMMDD');
  from_day timestamptz := day::timestamp AT TIME ZONE 'UTC';
  to_day timestamptz := (day + 1)::timestamp AT TIME ZONE 'UTC';
BEGIN
  IF to_regclass('payrelay.' || name) IS NOT NULL
    OR EXISTS (SELECT FROM payrelay.outbox_partitions() p WHERE p.from_at < to_day AND p.to_at > from_day)
    OR EXISTS (SELECT FROM payrelay.outbox_default d WHERE d.created_at >= from_day AND d.created_at < to_day) THEN
    RETURN false;
  END IF;
  EXECUTE format('CREATE TABLE payrelay.%I (LIKE payrelay.outbox INCLUDING DEFAULTS INCLUDING CONSTRAINTS)', name);
  EXECUTE format('CREATE UNIQUE INDEX %I ON payrelay.%I (event_id)', name || '_event_id_key', name);
  EXECUTE format('ALTER TABLE payrelay.outbox ATTACH PARTITION payrelay.%I FOR VALUES FROM (%L) TO (%L)', name,
    to_char(day, 'YYYY-MM-DD') || ' 00:00:00+00', to_char(day + 1, 'YYYY-MM-DD') || ' 00:00:00+00');
  RETURN true;
END
$$;

-- As before, with the limit of each wait for a lock as an argument: a waiting ATTACH queues whoever needs DEFAULT.
DROP FUNCTION payrelay.create_outbox_partitions(integer);
CREATE FUNCTION payrelay.create_outbox_partitions(days_ahead integer DEFAULT 7, lock_timeout_ms integer DEFAULT 2000)
RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = payrelay, pg_temp SET lock_timeout = '2s' AS $$
DECLARE
  day date;
  made integer := 0;
BEGIN
  IF days_ahead IS NULL OR days_ahead NOT BETWEEN 0 AND 366 THEN
    RAISE EXCEPTION 'days_ahead % is not between 0 and 366', days_ahead USING ERRCODE = 'invalid_parameter_value';
  END IF;
  PERFORM payrelay.limit_lock_waits(lock_timeout_ms);
  PERFORM pg_advisory_xact_lock(hashtext('payrelay.outbox_partitions'));
  FOR day IN SELECT generate_series(0, days_ahead) + (now() AT TIME ZONE 'UTC')::date LOOP
    IF payrelay.create_outbox_partition(day) THEN
      made := made + 1;
    END IF;
  END LOOP;
  RETURN made;
END
$$;

-- For the rest of the calling function, whose own SET clause restores what was before.
CREATE FUNCTION payrelay.limit_lock_waits(limit_ms integer) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  IF limit_ms IS NULL OR limit_ms NOT BETWEEN 1 AND 10000 THEN
    RAISE EXCEPTION 'lock_timeout_ms % is not between 1 and 10000', limit_ms USING ERRCODE = 'invalid_parameter_value';
  END IF;
  PERFORM set_config('lock_timeout', limit_ms || 'ms', true);
END
$$;

-- Rows in DEFAULT are never moved: a moved row is a new INSERT and would be published twice. The whole table is
-- renamed and an empty DEFAULT takes its place. Where it is small enough to be looked through under the lock, and
-- its days are free, it becomes their partition; else it stays beside the outbox and is dropped like a day.
-- Returns its new name, or NULL where nothing was to be done. What is in nobody's way is rotated once a day at most.
CREATE FUNCTION payrelay.rotate_outbox_default(days_ahead integer DEFAULT 7, lock_timeout_ms integer DEFAULT 200,
  attach_bytes_max bigint DEFAULT 67108864) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = payrelay, pg_temp SET lock_timeout = '2s' SET TimeZone = 'UTC' SET DateStyle = 'ISO, YMD' AS $$
DECLARE
  today timestamptz := date_trunc('day', now());
  rotated text;
  from_day timestamptz;
  to_day timestamptz;
BEGIN
  PERFORM payrelay.limit_lock_waits(lock_timeout_ms);
  PERFORM pg_advisory_xact_lock(hashtext('payrelay.outbox_partitions'));
  IF NOT EXISTS (SELECT FROM payrelay.outbox_default)
    OR (EXISTS (SELECT FROM payrelay.outbox_detached x
          WHERE x.partition_name LIKE 'outbox\_default\_%' AND x.detached_at > now() - interval '1 day')
        AND NOT EXISTS (SELECT FROM payrelay.outbox_default d
          WHERE d.created_at >= today AND d.created_at < today + (days_ahead + 1) * interval '1 day')) THEN
    RETURN NULL;
  END IF;
  -- Whoever had written into DEFAULT has ended when this is granted.
  LOCK TABLE ONLY payrelay.outbox IN ACCESS EXCLUSIVE MODE;
  LOCK TABLE payrelay.outbox_default IN ACCESS EXCLUSIVE MODE;
  rotated := 'outbox_default_' || to_char(clock_timestamp(), 'YYYYMMDDHH24MISSUS');
  IF pg_relation_size('payrelay.outbox_default') <= attach_bytes_max THEN
    SELECT date_trunc('day', min(d.created_at)), date_trunc('day', max(d.created_at)) + interval '1 day'
      INTO from_day, to_day FROM payrelay.outbox_default d;
    IF EXISTS (SELECT FROM payrelay.outbox_partitions() p WHERE p.from_at < to_day AND p.to_at > from_day) THEN
      from_day := NULL;
    END IF;
  END IF;
  ALTER TABLE payrelay.outbox DETACH PARTITION payrelay.outbox_default;
  EXECUTE format('ALTER TABLE payrelay.outbox_default RENAME TO %I', rotated);
  EXECUTE format('ALTER INDEX payrelay.outbox_default_event_id_key RENAME TO %I', rotated || '_event_id_key');
  CREATE TABLE payrelay.outbox_default (LIKE payrelay.outbox INCLUDING DEFAULTS INCLUDING CONSTRAINTS);
  CREATE UNIQUE INDEX outbox_default_event_id_key ON payrelay.outbox_default (event_id);
  ALTER TABLE payrelay.outbox ATTACH PARTITION payrelay.outbox_default DEFAULT;
  IF from_day IS NOT NULL THEN
    EXECUTE format('ALTER TABLE payrelay.outbox ATTACH PARTITION payrelay.%I FOR VALUES FROM (%L) TO (%L)',
      rotated, from_day, to_day);
  ELSE
    INSERT INTO payrelay.outbox_detached (partition_name, end_at, detached_lsn)
    VALUES (rotated, clock_timestamp(), pg_current_wal_insert_lsn());
    -- In the same breath, or today's next rows would stand in its way.
    PERFORM payrelay.create_outbox_partition((now() AT TIME ZONE 'UTC')::date);
  END IF;
  RETURN rotated;
END
$$;

-- How far every relay's slot is confirmed; NULL while one of them is missing or lost, or there was no relay yet.
-- A slot that was given up for good is taken out with DELETE FROM payrelay.relay_owner.
CREATE FUNCTION payrelay.outbox_confirmed_lsn() RETURNS pg_lsn
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = payrelay, pg_temp AS $$
  SELECT CASE WHEN count(*) = count(s.confirmed_flush_lsn) FILTER (WHERE s.wal_status IN ('reserved', 'extended', 'unreserved'))
    THEN min(s.confirmed_flush_lsn) END
  FROM payrelay.relay_owner o
  LEFT JOIN pg_replication_slots s ON s.slot_name = o.slot_name AND s.database = current_database()
$$;

CREATE FUNCTION payrelay.outbox_partition_is_held(name text) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
DECLARE
  held boolean;
BEGIN
  EXECUTE format('SELECT EXISTS (SELECT FROM payrelay.unresolved_dead_letter u JOIN payrelay.%I p USING (event_id))', name)
    INTO held;
  RETURN held OR EXISTS (SELECT FROM payrelay.unresolved_dead_letter u WHERE u.source = 'gap');
END
$$;

-- Takes the oldest day that is older than the retention, and holds no unresolved dead letter, out of the outbox.
-- Returns its name, or NULL where there is none. While a slot is missing or lost nothing is detached: a recovery needs
-- the rows. DETACH locks the parent: CONCURRENTLY is impossible beside a DEFAULT partition.
CREATE FUNCTION payrelay.detach_outbox_partition(retention_days integer, lock_timeout_ms integer DEFAULT 200) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = payrelay, pg_temp SET lock_timeout = '2s' AS $$
DECLARE
  day record;
BEGIN
  PERFORM payrelay.check_retention(retention_days);
  PERFORM payrelay.limit_lock_waits(lock_timeout_ms);
  PERFORM pg_advisory_xact_lock(hashtext('payrelay.outbox_partitions'));
  IF payrelay.outbox_confirmed_lsn() IS NULL THEN
    RETURN NULL;
  END IF;
  FOR day IN SELECT p.partition_name, p.to_at FROM payrelay.outbox_partitions() p
    WHERE p.to_at <= now() - retention_days * interval '1 day' ORDER BY p.to_at LOOP
    CONTINUE WHEN payrelay.outbox_partition_is_held(day.partition_name);
    EXECUTE format('ALTER TABLE payrelay.outbox DETACH PARTITION payrelay.%I', day.partition_name);
    -- Who had written into it had committed before the lock was granted.
    INSERT INTO payrelay.outbox_detached (partition_name, end_at, detached_lsn)
    VALUES (day.partition_name, day.to_at, pg_current_wal_insert_lsn());
    RETURN day.partition_name;
  END LOOP;
  RETURN NULL;
END
$$;

-- Notes which detached partitions every slot has passed. Whatever of them became a dead letter is on the topic by now.
CREATE FUNCTION payrelay.confirm_detached_outbox() RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = payrelay, pg_temp AS $$
DECLARE
  confirmed integer;
BEGIN
  UPDATE payrelay.outbox_detached SET confirmed_at = clock_timestamp()
  WHERE confirmed_at IS NULL AND detached_lsn <= payrelay.outbox_confirmed_lsn();
  GET DIAGNOSTICS confirmed = ROW_COUNT;
  RETURN confirmed;
END
$$;

-- Drops the oldest detached partition whose retention is over, that every slot has passed, after which the
-- dead letters were read to their end, and which holds none that is unresolved. Returns its name or NULL.
CREATE FUNCTION payrelay.drop_outbox_partition(retention_days integer, lock_timeout_ms integer DEFAULT 200) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = payrelay, pg_temp SET lock_timeout = '2s' AS $$
DECLARE
  name text;
BEGIN
  PERFORM payrelay.check_retention(retention_days);
  PERFORM payrelay.limit_lock_waits(lock_timeout_ms);
  PERFORM pg_advisory_xact_lock(hashtext('payrelay.outbox_partitions'));
  FOR name IN SELECT x.partition_name FROM payrelay.outbox_detached x
    WHERE x.dropped_at IS NULL AND x.end_at <= now() - retention_days * interval '1 day'
      AND x.confirmed_at < (SELECT max(p.complete_at) FROM payrelay.dead_letter_progress p)
    ORDER BY x.end_at LOOP
    CONTINUE WHEN payrelay.outbox_partition_is_held(name);
    EXECUTE format('DROP TABLE payrelay.%I', name);
    UPDATE payrelay.outbox_detached SET dropped_at = clock_timestamp() WHERE partition_name = name;
    RETURN name;
  END LOOP;
  RETURN NULL;
END
$$;

CREATE FUNCTION payrelay.check_retention(retention_days integer) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  IF retention_days IS NULL OR retention_days NOT BETWEEN 2 AND 3650 THEN
    RAISE EXCEPTION 'retention_days % is not between 2 and 3650', retention_days USING ERRCODE = 'invalid_parameter_value';
  END IF;
END
$$;

-- Rows that are no longer in payrelay.outbox but not dropped either: recovery and redriving look here too.
CREATE FUNCTION payrelay.detached_outbox_rows(wanted_event_id uuid DEFAULT NULL) RETURNS SETOF payrelay.outbox
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = payrelay, pg_temp AS $$
DECLARE
  name text;
BEGIN
  FOR name IN SELECT x.partition_name FROM payrelay.outbox_detached x WHERE x.dropped_at IS NULL ORDER BY x.end_at LOOP
    RETURN QUERY EXECUTE format('SELECT event_id, aggregate_type, aggregate_id, event_type, payload, trace_id, traceparent, created_at '
      'FROM payrelay.%I WHERE $1 IS NULL OR event_id = $1', name) USING wanted_event_id;
  END LOOP;
END
$$;

-- The same without payloads, with what their order is made of: a rotated DEFAULT may hold rows of today.
CREATE FUNCTION payrelay.detached_outbox_heads(from_at timestamptz, to_at timestamptz)
RETURNS TABLE (event_id uuid, created_at timestamptz, xid_age integer, place text, event_type text, aggregate_id text)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = payrelay, pg_temp AS $$
#variable_conflict use_column
DECLARE
  name text;
BEGIN
  FOR name IN SELECT x.partition_name FROM payrelay.outbox_detached x WHERE x.dropped_at IS NULL ORDER BY x.end_at LOOP
    RETURN QUERY EXECUTE format('SELECT event_id, created_at, age(xmin), ctid::text, event_type::text, aggregate_id::text '
      'FROM payrelay.%I WHERE created_at >= $1 AND created_at < $2', name) USING from_at, to_at;
  END LOOP;
END
$$;

-- How the upkeep stands. days_ahead: days after today that have a partition without a gap; -1: not even today.
CREATE FUNCTION payrelay.outbox_upkeep_state(retention_days integer, OUT days_ahead integer, OUT default_rows bigint,
  OUT detached_count bigint, OUT held_count bigint, OUT unresolved_count bigint, OUT slots_known boolean)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = payrelay, pg_temp AS $$
BEGIN
  SELECT coalesce(min(n), 367) - 1 INTO days_ahead FROM generate_series(0, 366) n
  WHERE NOT EXISTS (SELECT FROM payrelay.outbox_partitions() p
    WHERE p.from_at <= ((now() AT TIME ZONE 'UTC')::date + n)::timestamp AT TIME ZONE 'UTC'
      AND p.to_at >= ((now() AT TIME ZONE 'UTC')::date + n + 1)::timestamp AT TIME ZONE 'UTC');
  SELECT count(*) INTO default_rows FROM (SELECT FROM payrelay.outbox_default LIMIT 1000000) d;
  SELECT count(*) INTO detached_count FROM payrelay.outbox_detached x WHERE x.dropped_at IS NULL;
  SELECT count(*) INTO held_count FROM (
    SELECT p.partition_name FROM payrelay.outbox_partitions() p WHERE p.to_at <= now() - retention_days * interval '1 day'
    UNION ALL
    SELECT x.partition_name FROM payrelay.outbox_detached x
    WHERE x.dropped_at IS NULL AND x.end_at <= now() - retention_days * interval '1 day') old
  WHERE payrelay.outbox_partition_is_held(old.partition_name);
  SELECT count(*) INTO unresolved_count FROM payrelay.unresolved_dead_letter;
  slots_known := payrelay.outbox_confirmed_lsn() IS NOT NULL;
END
$$;

REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA payrelay FROM PUBLIC;
GRANT EXECUTE ON FUNCTION payrelay.create_outbox_partitions(integer, integer) TO payrelay_relay, payrelay_operator;
GRANT EXECUTE ON FUNCTION payrelay.rotate_outbox_default(integer, integer, bigint),
  payrelay.detach_outbox_partition(integer, integer), payrelay.confirm_detached_outbox(),
  payrelay.drop_outbox_partition(integer, integer) TO payrelay_relay;
GRANT EXECUTE ON FUNCTION payrelay.outbox_partitions(), payrelay.outbox_upkeep_state(integer),
  payrelay.detached_outbox_rows(uuid), payrelay.detached_outbox_heads(timestamptz, timestamptz)
  TO payrelay_relay, payrelay_operator;

-- In the order of those who write; a lock that somebody holds for long must not queue everybody behind this.
SET LOCAL lock_timeout = '5s';
LOCK TABLE payrelay.payment, payrelay.refund, payrelay.outbox IN SHARE ROW EXCLUSIVE MODE;

-- A row says when it was written, and partitions, retention and recovery believe it. 'infinity' or a year far away is
-- no such time. Only the owner of the tables can write the column at all: for him, and for his mistakes.

-- One function for the three tables; which rows it refuses is said by the triggers. No CHECK: a payment or refund that
-- is there already with such a time must still be able to reach its end, and a CHECK is tested on each UPDATE.
CREATE FUNCTION payrelay.refuse_created_at() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'created_at % of a row for payrelay.% is no time at which it can have been written: leave it out, and the database sets it (taken is what lies between 2000-01-01 and 366 days from now)',
    NEW.created_at, TG_ARGV[0] USING ERRCODE = 'check_violation', CONSTRAINT = TG_ARGV[0] || '_created_at_range';
END
$$;
REVOKE ALL ON FUNCTION payrelay.refuse_created_at() FROM PUBLIC;

-- As far ahead as the upkeep makes days at most. By its name it speaks before the checks of its table.
CREATE TRIGGER created_at_range BEFORE INSERT ON payrelay.outbox FOR EACH ROW
  WHEN (NEW.created_at < '2000-01-01 00:00:00+00' OR NEW.created_at > clock_timestamp() + interval '366 days')
  EXECUTE FUNCTION payrelay.refuse_created_at('outbox');
CREATE TRIGGER created_at_range BEFORE INSERT ON payrelay.payment FOR EACH ROW
  WHEN (NEW.created_at < '2000-01-01 00:00:00+00' OR NEW.created_at > clock_timestamp() + interval '366 days')
  EXECUTE FUNCTION payrelay.refuse_created_at('payment');
CREATE TRIGGER created_at_range BEFORE INSERT ON payrelay.refund FOR EACH ROW
  WHEN (NEW.created_at < '2000-01-01 00:00:00+00' OR NEW.created_at > clock_timestamp() + interval '366 days')
  EXECUTE FUNCTION payrelay.refuse_created_at('refund');

-- As before, but rows whose time cannot be true, or that lie far apart, get no partition of all the days between
-- them, which would never become old: they stay beside the outbox and are dropped like a day.
CREATE OR REPLACE FUNCTION payrelay.rotate_outbox_default(days_ahead integer DEFAULT 7, lock_timeout_ms integer DEFAULT 200,
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
    IF from_day < '2000-01-01 00:00:00+00' OR to_day > today + interval '368 days'
      OR to_day > from_day + interval '32 days'
      OR EXISTS (SELECT FROM payrelay.outbox_partitions() p WHERE p.from_at < to_day AND p.to_at > from_day) THEN
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

-- As before, but up to 'infinity' means all, those at 'infinity' too.
CREATE OR REPLACE FUNCTION payrelay.detached_outbox_heads(from_at timestamptz, to_at timestamptz)
RETURNS TABLE (event_id uuid, created_at timestamptz, xid_age integer, place text, event_type text, aggregate_id text)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = payrelay, pg_temp AS $$
#variable_conflict use_column
DECLARE
  name text;
BEGIN
  FOR name IN SELECT x.partition_name FROM payrelay.outbox_detached x WHERE x.dropped_at IS NULL ORDER BY x.end_at LOOP
    RETURN QUERY EXECUTE format('SELECT event_id, created_at, age(xmin), ctid::text, event_type::text, aggregate_id::text '
      'FROM payrelay.%I WHERE created_at >= $1 AND (created_at < $2 OR $2 = ''infinity'')', name) USING from_at, to_at;
  END LOOP;
END
$$;

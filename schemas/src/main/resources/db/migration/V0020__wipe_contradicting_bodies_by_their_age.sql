-- As before, but contradicting bodies go by their own age, also where no event's body is left to be wiped.
CREATE OR REPLACE FUNCTION payrelay.wipe_provider_events(retention_days integer, batch_max integer) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = payrelay, pg_temp AS $$
DECLARE
  wiped integer;
BEGIN
  IF retention_days IS NULL OR retention_days NOT BETWEEN 1 AND 36500
      OR batch_max IS NULL OR batch_max NOT BETWEEN 1 AND 10000 THEN
    RAISE EXCEPTION 'retention of % days or batch of % is out of range', retention_days, batch_max
      USING ERRCODE = 'invalid_parameter_value';
  END IF;
  WITH due AS (
    SELECT e.provider, e.event_id FROM payrelay.provider_event e
    WHERE e.wiped_at IS NULL AND e.received_at < now() - make_interval(days => retention_days)
      AND e.disposition <> 'PARKED'
      AND NOT EXISTS (SELECT FROM payrelay.exception_case c
        WHERE c.status = 'OPEN' AND c.provider = e.provider AND c.evidence ->> 'event_id' = e.event_id)
      AND NOT EXISTS (SELECT FROM payrelay.exception_case c
        WHERE c.status = 'OPEN' AND c.payment_id = e.payment_id)
      -- Of several events of one unmatched payment the case names the first only.
      AND (e.disposition <> 'UNMATCHED' OR NOT EXISTS (SELECT FROM payrelay.exception_case c
        WHERE c.status = 'OPEN' AND c.kind = 'UNMATCHED_PROVIDER_PAYMENT' AND c.provider = e.provider))
    ORDER BY e.received_at LIMIT batch_max FOR UPDATE SKIP LOCKED)
  UPDATE payrelay.provider_event e SET body = '', headers = '{}', wiped_at = clock_timestamp()
  FROM due WHERE e.provider = due.provider AND e.event_id = due.event_id;
  GET DIAGNOSTICS wiped = ROW_COUNT;
  DELETE FROM payrelay.provider_event_conflict WHERE ctid IN (
    SELECT c.ctid FROM payrelay.provider_event_conflict c
    JOIN payrelay.provider_event e ON e.provider = c.provider AND e.event_id = c.event_id
    WHERE e.wiped_at IS NOT NULL AND c.received_at < now() - make_interval(days => retention_days)
      AND NOT EXISTS (SELECT FROM payrelay.exception_case x
        WHERE x.status = 'OPEN' AND x.provider = e.provider AND x.evidence ->> 'event_id' = e.event_id)
      AND NOT EXISTS (SELECT FROM payrelay.exception_case x
        WHERE x.status = 'OPEN' AND x.payment_id = e.payment_id)
    LIMIT batch_max FOR UPDATE OF c SKIP LOCKED);
  RETURN wiped;
END
$$;

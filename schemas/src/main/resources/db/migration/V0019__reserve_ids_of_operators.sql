-- In the order of those who write; a lock that somebody holds for long must not queue everybody behind this.
SET LOCAL lock_timeout = '5s';
LOCK TABLE payrelay.payment, payrelay.refund IN SHARE ROW EXCLUSIVE MODE;

-- What operators ask for out of an exception case has an id made of the case's number, so that it is one however often
-- they ask. Taken by somebody else, it would stand in their way, or be taken for theirs.
-- The login counts, and not the current role: request_refund and adopt_payment run with their owner's rights.
CREATE FUNCTION payrelay.refuse_reserved_id() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF pg_catalog.pg_has_role(session_user, 'payrelay_operator', 'MEMBER')
      OR pg_catalog.pg_has_role(session_user, (SELECT c.relowner FROM pg_catalog.pg_class c WHERE c.oid = TG_RELID), 'MEMBER') THEN
    RETURN NEW;
  END IF;
  RAISE EXCEPTION '%_id % is reserved: what begins with % is asked for by operators, out of an exception case; choose another id',
    TG_ARGV[0], to_jsonb(NEW) ->> (TG_ARGV[0] || '_id'), TG_ARGV[1]
    USING ERRCODE = 'check_violation', CONSTRAINT = TG_ARGV[0] || '_id_not_reserved';
END
$$;
REVOKE ALL ON FUNCTION payrelay.refuse_reserved_id() FROM PUBLIC;

-- By their name they speak before the checks of their tables, which may wait for a lock.
CREATE TRIGGER id_not_reserved BEFORE INSERT ON payrelay.payment FOR EACH ROW
  WHEN (starts_with(NEW.payment_id, 'adopted_'))
  EXECUTE FUNCTION payrelay.refuse_reserved_id('payment', 'adopted_');
CREATE TRIGGER id_not_reserved BEFORE INSERT ON payrelay.refund FOR EACH ROW
  WHEN (starts_with(NEW.refund_id, 'refund_case_'))
  EXECUTE FUNCTION payrelay.refuse_reserved_id('refund', 'refund_case_');

-- In the order of those who write; a lock that somebody holds for long must not queue everybody behind this.
SET LOCAL lock_timeout = '5s';
LOCK TABLE payrelay.ledger_posting, payrelay.ledger_entry IN ACCESS EXCLUSIVE MODE;

-- As before, per statement instead of per row: three checks an event were a fifth of what a webhook cost here.
-- Entries come with their posting, in the same transaction, and the entries of one statement balance per
-- posting and currency. So a posting balances after each statement, however many bring its entries; and
-- because amounts are positive, one that balances has at least two entries.
DROP TRIGGER ledger_entry_with_posting ON payrelay.ledger_entry;
DROP TRIGGER ledger_entry_balances ON payrelay.ledger_entry;
DROP TRIGGER ledger_posting_balances ON payrelay.ledger_posting;
DROP FUNCTION payrelay.ledger_entry_with_posting();
DROP FUNCTION payrelay.ledger_posting_balances();

CREATE FUNCTION payrelay.ledger_entries_balance() RETURNS trigger
LANGUAGE plpgsql AS $$
DECLARE
  wrong bigint;
  unbalanced text;
BEGIN
  SELECT e.posting_id INTO wrong FROM written e
  WHERE NOT EXISTS (SELECT FROM payrelay.ledger_posting p
    WHERE p.posting_id = e.posting_id AND p.created_xid = pg_current_xact_id())
  LIMIT 1;
  IF FOUND THEN
    RAISE EXCEPTION 'posting % was written by an earlier transaction: entries come with their posting', wrong
      USING ERRCODE = 'restrict_violation';
  END IF;
  SELECT posting_id, string_agg(format('%s off by %s', currency, difference), ', ' ORDER BY currency)
  INTO wrong, unbalanced
  FROM (SELECT posting_id, currency,
          sum(CASE side WHEN 'DEBIT' THEN amount_minor::numeric ELSE -amount_minor::numeric END) AS difference
        FROM written GROUP BY posting_id, currency) sums
  WHERE difference <> 0 GROUP BY posting_id LIMIT 1;
  IF FOUND THEN
    RAISE EXCEPTION 'posting % (%) does not balance: %', wrong,
      (SELECT business_key FROM payrelay.ledger_posting WHERE posting_id = wrong), unbalanced
      USING ERRCODE = 'check_violation', HINT = 'Write all entries of a posting in one statement.';
  END IF;
  RETURN NULL;
END
$$;
CREATE TRIGGER ledger_entries_balance AFTER INSERT ON payrelay.ledger_entry
  REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION payrelay.ledger_entries_balance();

CREATE FUNCTION payrelay.ledger_posting_has_entries() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
  IF NOT EXISTS (SELECT FROM payrelay.ledger_entry WHERE posting_id = NEW.posting_id) THEN
    RAISE EXCEPTION 'posting % (%) has no entries: it needs at least two', NEW.posting_id, NEW.business_key
      USING ERRCODE = 'check_violation';
  END IF;
  RETURN NULL;
END
$$;
-- Deferred, because the posting comes first.
CREATE CONSTRAINT TRIGGER ledger_posting_has_entries AFTER INSERT ON payrelay.ledger_posting
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION payrelay.ledger_posting_has_entries();
REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA payrelay FROM PUBLIC;

-- A hint ("ask the provider now") that comes while an answer is on its way outlives that answer.
-- ask_settled: the payment has its end and somebody contradicts it: the provider is asked once more, for a person.
ALTER TABLE payrelay.operation
  ADD COLUMN hinted_at timestamptz,
  ADD COLUMN ask_settled boolean NOT NULL DEFAULT false;

-- What came under the id of an event that is in provider_event, with another meaning: for a person to compare.
CREATE TABLE payrelay.provider_event_conflict (
  provider text NOT NULL,
  event_id text NOT NULL,
  business_digest bytea NOT NULL CHECK (octet_length(business_digest) = 32),
  body bytea NOT NULL,
  headers jsonb NOT NULL DEFAULT '{}',
  key_id text NOT NULL,
  received_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  CONSTRAINT provider_event_conflict_key PRIMARY KEY (provider, event_id, business_digest)
);
CREATE TRIGGER provider_event_conflict_no_update BEFORE UPDATE ON payrelay.provider_event_conflict
  FOR EACH ROW EXECUTE FUNCTION payrelay.refuse_change();
CREATE TRIGGER provider_event_conflict_no_truncate BEFORE TRUNCATE ON payrelay.provider_event_conflict
  FOR EACH STATEMENT EXECUTE FUNCTION payrelay.refuse_change();

GRANT SELECT, INSERT ON payrelay.provider_event_conflict TO payrelay_ingest;
GRANT SELECT ON payrelay.provider_event_conflict TO payrelay_operator;

-- As before, with one query instead of three: it runs for each posting and for each entry.
CREATE OR REPLACE FUNCTION payrelay.ledger_posting_balances() RETURNS trigger
LANGUAGE plpgsql AS $$
DECLARE
  entries bigint;
  unbalanced text;
  key text;
BEGIN
  SELECT coalesce(sum(entry_count), 0),
    string_agg(format('%s off by %s', currency, difference), ', ') FILTER (WHERE difference <> 0)
  INTO entries, unbalanced
  FROM (SELECT currency, count(*) AS entry_count,
          sum(CASE side WHEN 'DEBIT' THEN amount_minor::numeric ELSE -amount_minor::numeric END) AS difference
        FROM payrelay.ledger_entry WHERE posting_id = NEW.posting_id GROUP BY currency) sums;
  IF entries >= 2 AND unbalanced IS NULL THEN
    RETURN NULL;
  END IF;
  SELECT business_key INTO key FROM payrelay.ledger_posting WHERE posting_id = NEW.posting_id;
  IF entries < 2 THEN
    RAISE EXCEPTION 'posting % (%) has % entries: it needs at least two', NEW.posting_id, key, entries
      USING ERRCODE = 'check_violation';
  END IF;
  RAISE EXCEPTION 'posting % (%) does not balance: %', NEW.posting_id, key, unbalanced
    USING ERRCODE = 'check_violation';
END
$$;

-- Double entry: every posting balances per currency, has at least two entries, is written once under its
-- business key and is never changed. A correction is a new posting that names what it reverses.
CREATE TABLE payrelay.ledger_account (
  account_id text PRIMARY KEY,
  kind text NOT NULL CHECK (kind IN
    ('PROVIDER_RECEIVABLE', 'CUSTOMER_PAYMENTS', 'REFUNDS', 'FEES', 'SUSPENSE', 'BANK')),
  provider text NOT NULL,
  -- Any: a provider may say that it took one in which no payment can be asked for.
  currency text NOT NULL CONSTRAINT ledger_account_currency_form CHECK (currency ~ '^[A-Z]{3}$'),
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  CONSTRAINT ledger_account_currency_key UNIQUE (account_id, currency),
  CONSTRAINT ledger_account_kind_key UNIQUE (kind, provider, currency)
);

CREATE TABLE payrelay.ledger_posting (
  posting_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  business_key text NOT NULL CONSTRAINT ledger_posting_business_key_key UNIQUE,
  kind text NOT NULL CHECK (kind IN ('CAPTURE', 'SUSPENSE_CAPTURE', 'DISPUTE', 'DISPUTE_WON', 'DISPUTE_LOST',
    'PROVIDER_REFUND', 'ADJUSTMENT')),
  payment_id text REFERENCES payrelay.payment (payment_id),
  reverses_posting_id bigint REFERENCES payrelay.ledger_posting (posting_id),
  event_at timestamptz NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- Entries may only come with the posting itself, in the same transaction.
  created_xid xid8 NOT NULL DEFAULT pg_current_xact_id()
);
CREATE INDEX ledger_posting_payment ON payrelay.ledger_posting (payment_id) WHERE payment_id IS NOT NULL;

CREATE TABLE payrelay.ledger_entry (
  posting_id bigint NOT NULL REFERENCES payrelay.ledger_posting (posting_id),
  entry_number smallint NOT NULL CHECK (entry_number > 0),
  account_id text NOT NULL,
  side text NOT NULL CHECK (side IN ('DEBIT', 'CREDIT')),
  amount_minor bigint NOT NULL CHECK (amount_minor > 0),
  currency text NOT NULL,
  PRIMARY KEY (posting_id, entry_number),
  CONSTRAINT ledger_entry_account_currency FOREIGN KEY (account_id, currency)
    REFERENCES payrelay.ledger_account (account_id, currency)
);

CREATE FUNCTION payrelay.ledger_entry_with_posting() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
  IF NOT EXISTS (SELECT FROM payrelay.ledger_posting p
      WHERE p.posting_id = NEW.posting_id AND p.created_xid = pg_current_xact_id()) THEN
    RAISE EXCEPTION 'posting % was written by an earlier transaction: entries come with their posting', NEW.posting_id
      USING ERRCODE = 'restrict_violation';
  END IF;
  RETURN NEW;
END
$$;
CREATE TRIGGER ledger_entry_with_posting BEFORE INSERT ON payrelay.ledger_entry
  FOR EACH ROW EXECUTE FUNCTION payrelay.ledger_entry_with_posting();

-- On the posting, because one without entries must fail too; and on each entry, because SET CONSTRAINTS can
-- have the posting checked before its last entry comes.
CREATE FUNCTION payrelay.ledger_posting_balances() RETURNS trigger
LANGUAGE plpgsql AS $$
DECLARE
  entries integer;
  unbalanced text;
  key text;
BEGIN
  SELECT business_key INTO key FROM payrelay.ledger_posting WHERE posting_id = NEW.posting_id;
  SELECT count(*) INTO entries FROM payrelay.ledger_entry WHERE posting_id = NEW.posting_id;
  IF entries < 2 THEN
    RAISE EXCEPTION 'posting % (%) has % entries: it needs at least two', NEW.posting_id, key, entries
      USING ERRCODE = 'check_violation';
  END IF;
  SELECT string_agg(format('%s off by %s', currency, difference), ', ') INTO unbalanced
  FROM (SELECT currency, sum(CASE side WHEN 'DEBIT' THEN amount_minor::numeric ELSE -amount_minor::numeric END) AS difference
        FROM payrelay.ledger_entry WHERE posting_id = NEW.posting_id GROUP BY currency) sums
  WHERE difference <> 0;
  IF unbalanced IS NOT NULL THEN
    RAISE EXCEPTION 'posting % (%) does not balance: %', NEW.posting_id, key, unbalanced
      USING ERRCODE = 'check_violation';
  END IF;
  RETURN NULL;
END
$$;
CREATE CONSTRAINT TRIGGER ledger_posting_balances AFTER INSERT ON payrelay.ledger_posting
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION payrelay.ledger_posting_balances();
CREATE CONSTRAINT TRIGGER ledger_entry_balances AFTER INSERT ON payrelay.ledger_entry
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION payrelay.ledger_posting_balances();

CREATE TRIGGER ledger_account_append_only BEFORE UPDATE OR DELETE ON payrelay.ledger_account
  FOR EACH ROW EXECUTE FUNCTION payrelay.refuse_change();
CREATE TRIGGER ledger_posting_append_only BEFORE UPDATE OR DELETE ON payrelay.ledger_posting
  FOR EACH ROW EXECUTE FUNCTION payrelay.refuse_change();
CREATE TRIGGER ledger_entry_append_only BEFORE UPDATE OR DELETE ON payrelay.ledger_entry
  FOR EACH ROW EXECUTE FUNCTION payrelay.refuse_change();
CREATE TRIGGER ledger_account_no_truncate BEFORE TRUNCATE ON payrelay.ledger_account
  FOR EACH STATEMENT EXECUTE FUNCTION payrelay.refuse_change();
CREATE TRIGGER ledger_posting_no_truncate BEFORE TRUNCATE ON payrelay.ledger_posting
  FOR EACH STATEMENT EXECUTE FUNCTION payrelay.refuse_change();
CREATE TRIGGER ledger_entry_no_truncate BEFORE TRUNCATE ON payrelay.ledger_entry
  FOR EACH STATEMENT EXECUTE FUNCTION payrelay.refuse_change();

GRANT SELECT, INSERT ON payrelay.ledger_account, payrelay.ledger_posting, payrelay.ledger_entry
  TO payrelay_worker, payrelay_ingest, payrelay_operator;

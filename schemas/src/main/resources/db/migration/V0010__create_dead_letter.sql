-- What payrelay.dead-letter holds, noted here because Kafka forgets it after its retention and the outbox must
-- not: a day with an unresolved dead letter is never dropped. The topic is the source: the relay's upkeep and
-- `payrelay dead-letters` read it from dead_letter_progress on, in one transaction with what they found.
CREATE TABLE payrelay.dead_letter (
  -- Kafka's id of the topic: one made anew under the same name counts its offsets anew.
  topic_id text NOT NULL,
  topic_offset bigint NOT NULL,
  dead_lettered_at timestamptz NOT NULL,
  -- gap: offsets that Kafka had deleted before anybody noted them. As long as it is unresolved nothing is dropped.
  source text NOT NULL CHECK (source IN ('relay', 'charge-worker', 'other', 'gap')),
  event_id uuid,
  event_type text,
  aggregate_id text,
  original_topic text,
  reason_code text NOT NULL,
  reason text NOT NULL,
  noted_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (topic_id, topic_offset)
);

-- Who ended one, how and why. What a record on the topic says, in the Kafka transaction that redrove the event.
CREATE TABLE payrelay.dead_letter_resolution (
  topic_id text NOT NULL,
  topic_offset bigint NOT NULL,
  kind text NOT NULL CHECK (kind IN ('REDRIVEN', 'DISCARDED')),
  resolved_at timestamptz NOT NULL,
  resolved_by text NOT NULL,
  why text NOT NULL,
  PRIMARY KEY (topic_id, topic_offset),
  FOREIGN KEY (topic_id, topic_offset) REFERENCES payrelay.dead_letter
);

CREATE TABLE payrelay.dead_letter_progress (
  topic_id text PRIMARY KEY,
  next_offset bigint NOT NULL,
  -- All that was on the topic at this time is noted.
  complete_at timestamptz NOT NULL
);

CREATE VIEW payrelay.unresolved_dead_letter AS
  SELECT d.* FROM payrelay.dead_letter d
  WHERE NOT EXISTS (SELECT FROM payrelay.dead_letter_resolution r
    WHERE r.topic_id = d.topic_id AND r.topic_offset = d.topic_offset);

CREATE TRIGGER dead_letter_append_only BEFORE UPDATE OR DELETE ON payrelay.dead_letter
  FOR EACH ROW EXECUTE FUNCTION payrelay.refuse_change();
CREATE TRIGGER dead_letter_no_truncate BEFORE TRUNCATE ON payrelay.dead_letter
  FOR EACH STATEMENT EXECUTE FUNCTION payrelay.refuse_change();
CREATE TRIGGER dead_letter_resolution_append_only BEFORE UPDATE OR DELETE ON payrelay.dead_letter_resolution
  FOR EACH ROW EXECUTE FUNCTION payrelay.refuse_change();
CREATE TRIGGER dead_letter_resolution_no_truncate BEFORE TRUNCATE ON payrelay.dead_letter_resolution
  FOR EACH STATEMENT EXECUTE FUNCTION payrelay.refuse_change();

GRANT SELECT, INSERT ON payrelay.dead_letter, payrelay.dead_letter_resolution TO payrelay_relay, payrelay_operator;
GRANT SELECT, INSERT, UPDATE ON payrelay.dead_letter_progress TO payrelay_relay, payrelay_operator;
GRANT SELECT ON payrelay.unresolved_dead_letter TO payrelay_relay, payrelay_operator;

-- Group roles, without login: an operator grants one of them to each login user.
-- Where the migrating user may not create roles they must exist beforehand; then this does nothing.
DO $$
DECLARE
  role_name text;
BEGIN
  FOREACH role_name IN ARRAY ARRAY[
    'payrelay_upstream', 'payrelay_relay', 'payrelay_worker', 'payrelay_ingest', 'payrelay_operator']
  LOOP
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = role_name) THEN
      BEGIN
        EXECUTE format('CREATE ROLE %I NOLOGIN', role_name);
      EXCEPTION
        -- Roles belong to the whole server: another database may be migrating at this moment.
        WHEN duplicate_object OR unique_violation THEN NULL;
      END;
    END IF;
  END LOOP;
END
$$;

GRANT USAGE ON SCHEMA payrelay
  TO payrelay_upstream, payrelay_relay, payrelay_worker, payrelay_ingest, payrelay_operator;

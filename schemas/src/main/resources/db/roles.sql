-- Roles of an installation, each with the least it needs. Run it once before the first `payrelay migrate`, in the
-- database that will hold the schema, as a superuser (or the administrator of a managed service). It can be run again.
-- No login gets a password here: set them with ALTER ROLE ... PASSWORD, or \password in psql.

-- Group roles. What they may do is granted by the migrations.
DO $$
DECLARE
  role_name text;
BEGIN
  FOREACH role_name IN ARRAY ARRAY[
    'payrelay_upstream', 'payrelay_relay', 'payrelay_worker', 'payrelay_ingest', 'payrelay_operator']
  LOOP
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = role_name) THEN
      EXECUTE format('CREATE ROLE %I NOLOGIN', role_name);
    END IF;
  END LOOP;
END
$$;

-- Logins: the owner runs `payrelay migrate` only; each of the others belongs to one part.
-- Owner and relay use a replication slot, which nobody can without the attribute REPLICATION.
DO $$
DECLARE
  login record;
BEGIN
  FOR login IN
    SELECT * FROM (VALUES
      ('payrelay_owner', 'REPLICATION', NULL),
      ('relay', 'REPLICATION', 'payrelay_relay'),
      ('charge_worker', 'NOREPLICATION', 'payrelay_worker'),
      ('webhook_ingest', 'NOREPLICATION', 'payrelay_ingest'),
      ('operator', 'NOREPLICATION', 'payrelay_operator'),
      ('shop', 'NOREPLICATION', 'payrelay_upstream')) AS logins (name, replication, group_role)
  LOOP
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = login.name) THEN
      EXECUTE format('CREATE ROLE %I LOGIN %s', login.name, login.replication);
    END IF;
    IF login.group_role IS NOT NULL THEN
      EXECUTE format('GRANT %I TO %I', login.group_role, login.name);
    END IF;
  END LOOP;
END
$$;

-- The owner makes the schema and the publication; nobody else makes anything, and only Payrelay's roles connect.
DO $$
BEGIN
  EXECUTE format('GRANT CONNECT, CREATE, TEMPORARY ON DATABASE %I TO payrelay_owner', current_database());
  EXECUTE format('GRANT CONNECT ON DATABASE %I TO payrelay_upstream, payrelay_relay, payrelay_worker,
    payrelay_ingest, payrelay_operator', current_database());
  EXECUTE format('REVOKE CONNECT, TEMPORARY ON DATABASE %I FROM PUBLIC', current_database());
END
$$;

-- Any login may write into the WAL what every decoder then has to read. Here only the relay may, for its heartbeat.
DO $$
DECLARE
  emit regprocedure;
BEGIN
  FOR emit IN SELECT oid::regprocedure FROM pg_proc WHERE proname = 'pg_logical_emit_message'
  LOOP
    EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO payrelay_relay', emit);
    EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC', emit);
  END LOOP;
EXCEPTION
  WHEN insufficient_privilege THEN
    RAISE NOTICE 'only a superuser can revoke pg_logical_emit_message from PUBLIC: left as it is';
END
$$;

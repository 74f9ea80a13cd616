-- One login for each part, with the one group role it needs. The passwords are those of docker-compose.yml:
-- for one machine, never for production.
CREATE ROLE payrelay_upstream NOLOGIN;
CREATE ROLE payrelay_relay NOLOGIN;
CREATE ROLE payrelay_worker NOLOGIN;
CREATE ROLE payrelay_ingest NOLOGIN;
CREATE ROLE payrelay_operator NOLOGIN;
CREATE ROLE shop LOGIN PASSWORD 'demo-shop' IN ROLE payrelay_upstream;
CREATE ROLE relay LOGIN REPLICATION PASSWORD 'demo-relay' IN ROLE payrelay_relay;
CREATE ROLE charge_worker LOGIN PASSWORD 'demo-worker' IN ROLE payrelay_worker;
CREATE ROLE webhook_ingest LOGIN PASSWORD 'demo-ingest' IN ROLE payrelay_ingest;
CREATE ROLE operator LOGIN PASSWORD 'demo-operator' IN ROLE payrelay_operator;

package io.payrelay.workbench;

import java.util.List;
import java.util.Map;
import org.jdbi.v3.core.Jdbi;

/**
 * One login for each part, with the one group role it needs; without password, because the embedded
 * server listens on loopback and trusts it. In production an operator makes such users.
 */
public final class DatabaseUsers {

  public static final String SHOP = "shop";
  public static final String RELAY = "relay";
  public static final String WORKER = "charge_worker";
  public static final String INGEST = "webhook_ingest";
  public static final String OPERATOR = "operator";

  private static final Map<String, String> ROLES =
      Map.of(
          SHOP, "payrelay_upstream",
          RELAY, "payrelay_relay",
          WORKER, "payrelay_worker",
          INGEST, "payrelay_ingest",
          OPERATOR, "payrelay_operator");

  private DatabaseUsers() {}

  /** Makes those that are missing. */
  public static void create(String jdbcUrl, String owner) {
    Jdbi.create(jdbcUrl, owner, "")
        .useTransaction(
            handle -> {
              List<String> present =
                  handle.createQuery("SELECT rolname FROM pg_roles").mapTo(String.class).list();
              ROLES.forEach(
                  (user, role) -> {
                    if (!present.contains(user)) {
                      // Decoding reads the WAL of all tables: only the relay may.
                      String replication = user.equals(RELAY) ? " REPLICATION" : "";
                      handle.execute(
                          "CREATE ROLE " + user + " LOGIN" + replication + " IN ROLE " + role);
                    }
                  });
            });
  }
}

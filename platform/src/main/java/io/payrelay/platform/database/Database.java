package io.payrelay.platform.database;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import io.payrelay.platform.errors.Category;
import io.payrelay.platform.errors.Failures;
import io.payrelay.platform.errors.PayrelayException;
import java.sql.SQLException;
import org.jdbi.v3.core.Handle;
import org.jdbi.v3.core.Jdbi;
import org.jdbi.v3.core.statement.StatementExceptions;
import org.jdbi.v3.postgres.PostgresPlugin;
import org.postgresql.util.PSQLException;

/** A bounded connection pool with JDBI on top. Safe for any thread; close it last. */
public final class Database implements AutoCloseable {

  private static final int VALID_LIMIT_S = 5;

  private final HikariDataSource pool;
  private final Jdbi jdbi;

  private Database(HikariDataSource pool) {
    this.pool = pool;
    this.jdbi = Jdbi.create(pool).installPlugin(new PostgresPlugin());
    // Failures are logged: their messages must not hold what was bound.
    jdbi.getConfig(StatementExceptions.class)
        .setMessageRendering(StatementExceptions.MessageRendering.NONE);
  }

  /**
   * Opens the pool and tries it once.
   *
   * @param applicationName what pg_stat_activity shows
   * @throws PayrelayException FATAL where credentials are refused, RETRIABLE where nobody answers
   */
  public static Database open(DatabaseConfig config, String applicationName) {
    return open(hikari(config, applicationName));
  }

  /**
   * The same for a process whose every statement looks rows up by key: never a table read whole.
   * PostgreSQL takes a table that was never analysed for a small one and reads it whole, for each
   * batch, however many rows it has. What people ask is planned as usual: not for commands.
   */
  public static Database openForKeys(DatabaseConfig config, String applicationName) {
    HikariConfig hikari = hikari(config, applicationName);
    // Of the connection's start, not a SET: a pooler in between that hands server connections on
    // would hand a SET on too, to whoever is next, or lose it. It refuses this, or is told not to.
    // Where nothing but a whole read is possible, its forbidden cost alone would start the
    // compiler.
    hikari.addDataSourceProperty("options", "-c enable_seqscan=off -c jit=off");
    return open(hikari);
  }

  private static HikariConfig hikari(DatabaseConfig config, String applicationName) {
    HikariConfig hikari = new HikariConfig();
    hikari.setPoolName(applicationName);
    hikari.setJdbcUrl(config.url());
    hikari.setUsername(config.user());
    if (!config.password().reveal().isEmpty()) {
      hikari.setPassword(config.password().reveal());
    }
    hikari.setMaximumPoolSize(config.poolSizeMax());
    hikari.setMinimumIdle(1);
    hikari.setConnectionTimeout(config.connectTimeout().toMillis());
    hikari.setInitializationFailTimeout(config.connectTimeout().toMillis());
    hikari.addDataSourceProperty("ApplicationName", applicationName);
    hikari.addDataSourceProperty("reWriteBatchedInserts", "true");
    // A peer that vanished without a word must not hold a connection for the hours TCP would wait.
    hikari.addDataSourceProperty("socketTimeout", "60");
    hikari.addDataSourceProperty("tcpKeepAlive", "true");
    // The server's details quote rows.
    hikari.addDataSourceProperty("logServerErrorDetail", "false");
    return hikari;
  }

  private static Database open(HikariConfig hikari) {
    try {
      return new Database(new HikariDataSource(hikari));
    } catch (RuntimeException e) {
      String state = Failures.sqlState(e);
      throw new PayrelayException(
          // Without a SQLSTATE nobody answered.
          state == null ? Category.RETRIABLE : Failures.categoryOf(e),
          "No connection to the database (SQLSTATE "
              + state
              + "): check PAYRELAY_DATABASE_URL, PAYRELAY_DATABASE_USER and"
              + " PAYRELAY_DATABASE_PASSWORD, and that the server runs"
              + said(e),
          e);
    }
  }

  /** The server's own word on a refusal, such as which role does not exist. */
  private static String said(Throwable failure) {
    for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
      if (cause instanceof PSQLException sql && sql.getServerErrorMessage() != null) {
        return " (the server says: " + sql.getServerErrorMessage().getMessage() + ")";
      }
    }
    return "";
  }

  /** JDBI over the pool. */
  public Jdbi jdbi() {
    return jdbi;
  }

  /** {@code ok}, or that the database does not answer; waits for a connection at most. */
  public String reach() {
    try (Handle handle = jdbi.open()) {
      return handle.getConnection().isValid(VALID_LIMIT_S) ? "ok" : "does not answer";
    } catch (RuntimeException | SQLException e) {
      return "does not answer (SQLSTATE " + Failures.sqlState(e) + ")";
    }
  }

  /** Closes every connection. */
  @Override
  public void close() {
    pool.close();
  }
}

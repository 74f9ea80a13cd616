package io.payrelay.platform.errors;

import java.io.IOException;
import java.sql.SQLException;
import java.sql.SQLTransientException;
import java.util.concurrent.TimeoutException;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.common.errors.AuthenticationException;
import org.apache.kafka.common.errors.AuthorizationException;
import org.apache.kafka.common.errors.UnsupportedVersionException;
import org.jspecify.annotations.Nullable;

/** Puts any failure into its {@link Category}: the only place that decides. Stateless. */
public final class Failures {

  private static final int CAUSE_DEPTH_MAX = 16;

  private Failures() {}

  /** The category of a failure, looking through wrappers to the first cause that says something. */
  public static Category categoryOf(Throwable failure) {
    Throwable cause = failure;
    for (int depth = 0; cause != null && depth < CAUSE_DEPTH_MAX; depth++) {
      Category category = own(cause);
      if (category != null) {
        return category;
      }
      cause = cause.getCause();
    }
    return Category.FATAL;
  }

  /** The SQLSTATE of the first SQL error among the causes, or null. */
  public static @Nullable String sqlState(Throwable failure) {
    Throwable cause = failure;
    for (int depth = 0; cause != null && depth < CAUSE_DEPTH_MAX; depth++) {
      if (cause instanceof SQLException sql && sql.getSQLState() != null) {
        return sql.getSQLState();
      }
      cause = cause.getCause();
    }
    return null;
  }

  /**
   * Is it the failure of the one item at work (its values, or our own code on them) or of the
   * moment it met another? All else, a missing privilege or table among it, is the state of the
   * database or of our configuration: it would be every item's, and passes or is repaired.
   */
  public static boolean concernsOne(Throwable failure) {
    String state = sqlState(failure);
    Category category = categoryOf(failure);
    return category == Category.REJECTED
        || ofTheMoment(failure)
        // 54 program limits: a value that no index takes. P0001: a trigger's own word on the row.
        || (state != null && (state.startsWith("54") || state.equals("P0001")))
        // A fault of our own code on this item's values: without a word of the database.
        || (category == Category.FATAL && !saysWhatItIs(failure));
  }

  /** Unique key, serialization, deadlock: another transaction came first. Done again, it may do. */
  public static boolean ofTheMoment(Throwable failure) {
    String state = sqlState(failure);
    return state != null && (state.equals("23505") || state.startsWith("40"));
  }

  /** Did it wait for somebody else's lock for as long as it may? Nothing is wrong with the item. */
  public static boolean waitedForALock(Throwable failure) {
    return "55P03".equals(sqlState(failure));
  }

  private static boolean saysWhatItIs(Throwable failure) {
    Throwable cause = failure;
    for (int depth = 0; cause != null && depth < CAUSE_DEPTH_MAX; depth++) {
      if (cause instanceof SQLException || cause instanceof PayrelayException) {
        return true;
      }
      cause = cause.getCause();
    }
    return false;
  }

  private static @Nullable Category own(Throwable failure) {
    if (failure.getClass() == KafkaException.class
        && failure.getCause() instanceof KafkaException) {
      // Clients wrap what refused them ("Failed to construct ..."): the cause says more.
      return own(failure.getCause());
    }
    if (failure instanceof PayrelayException ours) {
      return ours.category();
    }
    if (failure instanceof SQLException sql) {
      return ofSqlState(sql);
    }
    if (failure instanceof AuthenticationException
        || failure instanceof AuthorizationException
        || failure instanceof ConfigException
        || failure instanceof UnsupportedVersionException) {
      return Category.FATAL;
    }
    if (failure instanceof KafkaException
        || failure instanceof IOException
        || failure instanceof TimeoutException) {
      return Category.RETRIABLE;
    }
    return null;
  }

  private static Category ofSqlState(SQLException failure) {
    String state = failure.getSQLState();
    if (state == null) {
      return failure instanceof SQLTransientException ? Category.RETRIABLE : Category.FATAL;
    }
    // 08 connection, 25006 read-only and 25P03 idle too long (both after a failover or a restart),
    // 40 serialization and deadlock, 53 resources, 55006 object in use (a slot another backend
    // still
    // holds), 55P03 lock not available, 57 operator intervention (restart, cancel), 58 system: the
    // server or the moment, not the statement.
    boolean heals =
        state.startsWith("08")
            || state.startsWith("40")
            || state.startsWith("53")
            || state.startsWith("57")
            || state.startsWith("58")
            || state.equals("25006")
            || state.equals("25P03")
            || state.equals("55006")
            || state.equals("55P03")
            // A unique key written by somebody else in the same moment: look again, then decide.
            || state.equals("23505");
    if (heals) {
      return Category.RETRIABLE;
    }
    // 22 data, 23 integrity: this item is wrong, the next one may be right.
    return state.startsWith("22") || state.startsWith("23") ? Category.REJECTED : Category.FATAL;
  }
}

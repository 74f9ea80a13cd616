package io.payrelay.app;

import io.payrelay.platform.errors.Category;
import io.payrelay.platform.errors.Failures;
import io.payrelay.platform.errors.PayrelayException;
import org.postgresql.util.PSQLException;
import org.postgresql.util.ServerErrorMessage;

/** The database's own sentence of a refusal, without the statement that JDBC libraries add. */
final class SqlSentences {

  private SqlSentences() {}

  static PayrelayException of(RuntimeException failure) {
    Category category =
        Failures.categoryOf(failure) == Category.RETRIABLE ? Category.RETRIABLE : Category.REJECTED;
    Throwable cause = failure;
    while (cause != null) {
      if (cause instanceof PSQLException sql) {
        ServerErrorMessage said = sql.getServerErrorMessage();
        String sentence =
            said == null || said.getMessage() == null ? sql.getMessage() : said.getMessage();
        return new PayrelayException(
            category,
            "The database refuses: " + sentence + " (SQLSTATE " + sql.getSQLState() + ")",
            failure);
      }
      cause = cause.getCause();
    }
    return new PayrelayException(category, "The database did not answer", failure);
  }
}

package io.payrelay.app;

import io.payrelay.platform.config.Settings;
import io.payrelay.platform.database.Database;
import java.util.Map;
import java.util.function.BiFunction;
import org.jdbi.v3.core.Jdbi;
import org.jdbi.v3.core.JdbiException;

/** The database for an operator's command: opened, checked, its refusals told as sentences. */
final class OperatorDatabase {

  private OperatorDatabase() {}

  /**
   * Does the work.
   *
   * @param command by its name its settings are known
   */
  static <T> T with(
      Map<String, String> environment, String command, BiFunction<Jdbi, Settings, T> work) {
    Settings settings = AppSettings.check(environment, AppSettings.neededBy(command));
    try (Database database = Parts.open(settings, "payrelay-" + command)) {
      return work.apply(database.jdbi(), settings);
    } catch (JdbiException e) {
      throw SqlSentences.of(e);
    }
  }
}

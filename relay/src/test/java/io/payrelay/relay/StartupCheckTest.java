package io.payrelay.relay;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.payrelay.platform.config.Settings;
import io.payrelay.platform.errors.Category;
import io.payrelay.platform.kafka.KafkaConfig;
import io.payrelay.schemas.EventCatalogue;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.SQLException;
import java.util.Map;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class StartupCheckTest {

  private static final Position POSITION =
      Position.at(100, new DatabaseIdentity("7", 1, "cluster"));

  @Test
  void versionsBefore15AreRefused() {
    assertThatThrownBy(() -> StartupCheck.version(14))
        .hasMessageContaining("PostgreSQL 14 is too old")
        .hasMessageContaining("15 or newer");
    assertThatCode(() -> StartupCheck.version(15)).doesNotThrowAnyException();
  }

  /** No such server can be had any more: one that says so, and is asked nothing else. */
  @Test
  void neitherTheRelayNorMigrateAsksAServerBefore15AnythingElse() {
    DatabaseMetaData metaData =
        answering(DatabaseMetaData.class, Map.of("getDatabaseMajorVersion", 14));
    Connection connection = answering(Connection.class, Map.of("getMetaData", metaData));
    DataSource owner = answering(DataSource.class, Map.of("getConnection", connection));
    RelayConfig config =
        RelayConfig.from(Settings.check(Map.of(), RelayConfig.SETTINGS, RelayConfig.SETTINGS));
    KafkaConfig kafka = new KafkaConfig("127.0.0.1:1", Map.of());

    assertThatThrownBy(() -> StartupCheck.schema(connection))
        .hasMessageContaining("PostgreSQL 14 is too old");
    assertThatThrownBy(
            () -> new RelayBootstrap(owner, kafka, config, EventCatalogue.builtIn()).run())
        .hasMessageContaining("PostgreSQL 14 is too old");
  }

  private static <T> T answering(Class<T> type, Map<String, Object> answers) {
    return type.cast(
        Proxy.newProxyInstance(
            type.getClassLoader(),
            new Class<?>[] {type},
            (proxy, method, arguments) -> {
              if (method.getName().equals("close")) {
                return null;
              }
              Object answer = answers.get(method.getName());
              if (answer == null) {
                throw new AssertionError("asked for " + method.getName());
              }
              return answer;
            }));
  }

  @Test
  void lostSlotSaysWhy() {
    assertThatThrownBy(() -> StartupCheck.slot(lost(null), "s", POSITION))
        .hasMessageContaining("max_slot_wal_keep_size");
    assertThatThrownBy(() -> StartupCheck.slot(lost("wal_removed"), "s", POSITION))
        .hasMessageContaining("max_slot_wal_keep_size");
    assertThatThrownBy(() -> StartupCheck.slot(lost("rows_removed"), "s", POSITION))
        .hasMessageContaining("invalidated slot s (rows_removed)")
        .hasMessageContaining("payrelay relay recover");
  }

  @Test
  void standbyServerMayBecomeThePrimary() {
    assertThat(StartupCheck.failed("x", new SQLException("read only", "25006")))
        .hasMessageContaining("standby server")
        .satisfies(e -> assertThat(e.category()).isEqualTo(Category.RETRIABLE));
    assertThat(StartupCheck.failed("x", new SQLException("no right", "42501"), "y is needed"))
        .hasMessage("x (SQLSTATE 42501): y is needed")
        .satisfies(e -> assertThat(e.category()).isEqualTo(Category.FATAL));
  }

  private static SlotFacts.Slot lost(@Nullable String reason) {
    return new SlotFacts.Slot("pgoutput", true, "lost", 50, false, reason, false);
  }
}

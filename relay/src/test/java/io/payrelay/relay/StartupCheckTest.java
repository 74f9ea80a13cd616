package io.payrelay.relay;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.payrelay.platform.errors.Category;
import java.sql.SQLException;
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

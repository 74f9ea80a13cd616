package io.payrelay.relay;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.LongRange;
import net.jqwik.api.constraints.Size;
import org.junit.jupiter.api.Test;

final class EventIdsTest {

  @Property(tries = 100)
  void holdsExactlyWhatWasAdded(
      @ForAll @Size(max = 30) List<@LongRange(min = 0, max = 40) Long> highs,
      @ForAll @Size(max = 30) List<@LongRange(min = -5, max = 40) Long> lows) {
    EventIds ids = new EventIds(10_000);
    Set<UUID> model = new HashSet<>();
    for (long high : highs) {
      for (long low : lows) {
        UUID id = new UUID(high, low);
        assertThat(ids.add(id)).isEqualTo(model.add(id));
      }
    }

    assertThat(ids.size()).isEqualTo(model.size());
    for (long high = 0; high <= 41; high++) {
      for (long low = -6; low <= 41; low++) {
        UUID id = new UUID(high, low);
        assertThat(ids.contains(id)).isEqualTo(model.contains(id));
      }
    }
  }

  @Test
  void growsWithCountersAsIds() {
    EventIds ids = new EventIds(300_000);
    for (int i = 0; i < 300_000; i++) {
      assertThat(ids.add(new UUID(0, i))).isTrue();
    }

    assertThat(ids.add(new UUID(0, 299_999))).isFalse();
    assertThat(ids.contains(new UUID(0, 300_000))).isFalse();
  }

  @Test
  void refusesMoreThanItsMemory() {
    EventIds ids = new EventIds(2);
    ids.add(new UUID(1, 1));
    ids.add(new UUID(1, 2));

    assertThatThrownBy(() -> ids.add(new UUID(1, 3))).hasMessageContaining("-Xmx");
  }
}

package io.payrelay.relay;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The timelines that led to a server's own one, oldest first, and where each was left. Immutable.
 *
 * @param timeline the server's own
 */
record TimelineHistory(long timeline, List<Switch> switches) {

  /** What a server's history can be asked for; tests need no server. */
  @FunctionalInterface
  interface Source {
    TimelineHistory of(long timeline);
  }

  /** WAL of that timeline counts up to this place, and no further. */
  record Switch(long timeline, long lsn) {}

  TimelineHistory {
    switches = List.copyOf(switches);
  }

  /**
   * Reads PostgreSQL's history file: one line for each timeline that was left, with its number and
   * the place, separated by blanks.
   *
   * @throws IllegalArgumentException where that is not what the text holds
   */
  static TimelineHistory parse(long timeline, String text) {
    List<Switch> switches = new ArrayList<>();
    for (String line : text.lines().map(String::strip).toList()) {
      if (line.isEmpty() || line.startsWith("#")) {
        continue;
      }
      String[] fields = line.split("\\s+", 3);
      if (fields.length < 2 || !fields[1].matches("[0-9A-F]+/[0-9A-F]+")) {
        throw new IllegalArgumentException("not a line of a timeline history: " + line);
      }
      switches.add(new Switch(Long.parseLong(fields[0]), Lsn.parse(fields[1])));
    }
    return new TimelineHistory(timeline, switches);
  }

  /**
   * Null where this history holds everything that the position speaks of; else what it lacks, as
   * the middle of a sentence.
   *
   * <p>Each place where a timeline was left counts from the position's own timeline on: earlier
   * ones lie before it. Rows of an open transaction must lie before the fork too: a new timeline
   * may give the number of a lost transaction to another one.
   */
  @Nullable String lacks(Position position) {
    boolean descends = false;
    for (Switch left : switches) {
      descends = descends || left.timeline() == position.origin().timeline();
      if (!descends) {
        continue;
      }
      boolean commitLost = Long.compareUnsigned(position.commitLsn(), left.lsn()) > 0;
      boolean rowsLost =
          position.rowsOfTx() > 0
              && (position.lastRowLsn() == 0
                  || Long.compareUnsigned(position.lastRowLsn(), left.lsn()) >= 0);
      if (commitLost || rowsLost) {
        return "left timeline %d at %s, before the relay's position %s"
            .formatted(left.timeline(), Lsn.text(left.lsn()), position);
      }
    }
    return descends
        ? null
        : "does not descend from timeline %d, of which the relay's position %s is"
            .formatted(position.origin().timeline(), position);
  }
}

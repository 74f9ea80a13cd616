package io.payrelay.workbench;

import com.fasterxml.jackson.annotation.JsonIgnore;
import com.fasterxml.jackson.annotation.JsonProperty;
import java.io.PrintWriter;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * What came of killing relays. Immutable.
 *
 * @param rows in the outbox
 * @param transactions committed ones that wrote them
 * @param kills processes that died of it
 * @param lost rows that a read_committed consumer did not see
 * @param duplicated records beyond the first of an event
 * @param outOfOrder records after a later one of the same aggregate and topic
 * @param invented records of rows that were never committed
 * @param misrouted records with another content than their row's, or on another topic than theirs:
 *     exactly the rows written for it are dead letters
 * @param ownExits relays that ended without being killed by us
 * @param longestTakeoverMs from the kill of an active relay to the next published record
 * @param offenders the first events that violate something
 */
record RelayChaosReport(
    @JsonProperty("rows") long rows,
    @JsonProperty("transactions") long transactions,
    @JsonProperty("transactions_rolled_back") long transactionsRolledBack,
    @JsonProperty("dead_letters") long deadLetters,
    @JsonProperty("kills") long kills,
    @JsonProperty("kills_by_kind") Map<KillKind, Integer> killsByKind,
    @JsonProperty("walsender_terminations") long walsenderTerminations,
    @JsonProperty("lost") long lost,
    @JsonProperty("duplicated") long duplicated,
    @JsonProperty("out_of_order") long outOfOrder,
    @JsonProperty("invented") long invented,
    @JsonProperty("misrouted") long misrouted,
    @JsonProperty("own_exits") long ownExits,
    @JsonProperty("drained") boolean drained,
    @JsonProperty("takeovers") long takeovers,
    @JsonProperty("longest_takeover_ms") long longestTakeoverMs,
    @JsonProperty("seed") long seed,
    @JsonProperty("seconds") double seconds,
    @JsonProperty("offenders") List<String> offenders) {

  /** Zeros are the only pass. */
  @JsonIgnore
  boolean passed() {
    return lost == 0
        && duplicated == 0
        && outOfOrder == 0
        && invented == 0
        && misrouted == 0
        && ownExits == 0
        && drained;
  }

  /** For a person. */
  void print(PrintWriter out) {
    out.printf(
        Locale.ROOT,
        "%nPayrelay chaos: %d relay processes killed, %d walsenders ended, seed %d, %.0f s%n%n",
        kills,
        walsenderTerminations,
        seed,
        seconds);
    killsByKind.forEach(
        (kind, count) ->
            Summary.row(
                out, "killed " + kind.name().toLowerCase(Locale.ROOT).replace('_', ' '), count));
    Summary.row(out, "rows", rows);
    Summary.row(out, "transactions committed", transactions);
    Summary.row(out, "transactions rolled back", transactionsRolledBack);
    Summary.row(out, "dead letters", deadLetters);
    Summary.row(out, "longest takeover, ms", longestTakeoverMs);
    out.println();
    Summary.must(out, "lost", lost);
    Summary.must(out, "duplicated", duplicated);
    Summary.must(out, "out of order", outOfOrder);
    Summary.must(out, "never committed", invented);
    Summary.must(out, "on a wrong topic or changed", misrouted);
    Summary.must(out, "relays that ended by themselves", ownExits);
    if (!drained) {
      out.println("  The relay did not come to the end of the WAL in time.");
    }
    offenders.forEach(offender -> out.println("  " + offender));
    out.println();
    out.println(passed() ? "Exactly once, in order." : "THE PROMISE IS BROKEN.");
    out.flush();
  }
}

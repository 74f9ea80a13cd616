package io.payrelay.workbench;

/**
 * Measures from the kill of the active relay to the first record published after its death, as a
 * read_committed consumer sees it. A kill during a takeover begins the measuring anew. Belongs to
 * one thread.
 */
final class TakeoverClock {

  private static final long NS_PER_MS = 1_000_000;

  private boolean running;
  private long killedNs;
  private long diedWallMs;
  private long longestNs;
  private long count;

  /**
   * The active relay is dead.
   *
   * @param killedAtNs when it was killed
   * @param diedAtWallMs when it was certainly dead: what it published has no later timestamp
   */
  void died(long killedAtNs, long diedAtWallMs) {
    running = true;
    killedNs = killedAtNs;
    diedWallMs = diedAtWallMs;
  }

  /** A record became visible. */
  void visible(long timestampMs, long seenNs) {
    if (running && timestampMs > diedWallMs) {
      running = false;
      count++;
      longestNs = Math.max(longestNs, seenNs - killedNs);
    }
  }

  boolean running() {
    return running;
  }

  long count() {
    return count;
  }

  long longestMs() {
    return longestNs / NS_PER_MS;
  }
}

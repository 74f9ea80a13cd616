package io.payrelay.simulator;

import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * Remembers the first answer for each idempotency key, for the life of the key. Thread-safe: of two
 * calls with one new key exactly one gets {@link State#CLAIMED}.
 */
final class IdempotencyKeys {
  /** What a key means for a call. */
  enum State {
    CLAIMED,
    IN_USE,
    MISMATCH,
    COMPLETED
  }

  /**
   * The result of a claim.
   *
   * @param answer the stored answer, only if COMPLETED
   */
  record Claim(State state, Entry entry, @Nullable Response answer) {}

  /** One remembered key. */
  static final class Entry {
    private final byte[] bodyDigest;
    private final Instant createdAt;
    private volatile @Nullable Response answer;

    private Entry(byte[] bodyDigest, Instant createdAt) {
      this.bodyDigest = bodyDigest;
      this.createdAt = createdAt;
    }

    void complete(Response stored) {
      answer = stored;
    }
  }

  private final Map<String, Entry> entries = new ConcurrentHashMap<>();
  private final Duration life;
  private final InstantSource clock;

  IdempotencyKeys(Duration life, InstantSource clock) {
    this.life = life;
    this.clock = clock;
  }

  Claim claim(String key, byte[] body) {
    byte[] digest = sha256(body);
    Instant now = clock.instant();
    Entry mine = new Entry(digest, now);
    Entry current =
        entries.compute(key, (k, known) -> known == null || isForgotten(known, now) ? mine : known);
    if (current == mine) {
      return new Claim(State.CLAIMED, mine, null);
    }
    if (!MessageDigest.isEqual(current.bodyDigest, digest)) {
      return new Claim(State.MISMATCH, current, null);
    }
    Response answer = current.answer;
    return new Claim(answer == null ? State.IN_USE : State.COMPLETED, current, answer);
  }

  /** Gives a claimed key back unused, so that it is not in use for ever. */
  void abandon(String key, Entry entry) {
    entries.remove(key, entry);
  }

  // A call that still runs keeps its key, however old.
  private boolean isForgotten(Entry entry, Instant now) {
    return entry.answer != null && !now.isBefore(entry.createdAt.plus(life));
  }

  private static byte[] sha256(byte[] body) {
    try {
      return MessageDigest.getInstance("SHA-256").digest(body);
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every Java platform has SHA-256", e);
    }
  }
}

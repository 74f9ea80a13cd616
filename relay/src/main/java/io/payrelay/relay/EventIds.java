package io.payrelay.relay;

import io.payrelay.platform.errors.Category;
import io.payrelay.platform.errors.PayrelayException;
import java.util.UUID;

/**
 * A set of event ids of which millions fit into memory: 21 to 32 bytes each. Grows piece by piece,
 * so that growing never needs the whole set twice, and refuses what does not fit. Belongs to one
 * thread.
 */
final class EventIds {

  /** What one id costs at most, growing included. */
  static final int BYTES_PER_ID = 34;

  private static final int SEGMENTS = 256;
  private static final int SLOTS_FIRST = 16;

  private final long max;
  private final Segment[] segments = new Segment[SEGMENTS];
  private boolean nil;
  private long size;

  /**
   * An empty set.
   *
   * @param max ids it takes
   */
  EventIds(long max) {
    this.max = max;
  }

  /**
   * Adds an id; false where it is there already.
   *
   * @throws PayrelayException FATAL where the memory given to it is used up
   */
  boolean add(UUID id) {
    if (id.getMostSignificantBits() == 0 && id.getLeastSignificantBits() == 0) {
      boolean added = !nil;
      nil = true;
      size += added ? 1 : 0;
      return added;
    }
    if (size >= max && !contains(id)) {
      throw new PayrelayException(
          Category.FATAL,
          "More than %,d event ids do not fit into this process's memory: give it more (JAVA_OPTS=-Xmx..., about %d bytes an event), or set a shorter --longest-transaction"
              .formatted(max, BYTES_PER_ID * 3));
    }
    long hash = hash(id.getMostSignificantBits(), id.getLeastSignificantBits());
    int index = (int) (hash >>> 56);
    Segment segment = segments[index];
    if (segment == null) {
      segment = new Segment();
      segments[index] = segment;
    }
    boolean added = segment.add(id.getMostSignificantBits(), id.getLeastSignificantBits(), hash);
    size += added ? 1 : 0;
    return added;
  }

  boolean contains(UUID id) {
    if (id.getMostSignificantBits() == 0 && id.getLeastSignificantBits() == 0) {
      return nil;
    }
    long hash = hash(id.getMostSignificantBits(), id.getLeastSignificantBits());
    Segment segment = segments[(int) (hash >>> 56)];
    return segment != null
        && segment.contains(id.getMostSignificantBits(), id.getLeastSignificantBits(), hash);
  }

  long size() {
    return size;
  }

  /** Upstreams choose their ids: not all bits of them need to be random. */
  private static long hash(long high, long low) {
    long mixed = (high ^ Long.rotateLeft(low, 32)) * 0x9E3779B97F4A7C15L;
    mixed = (mixed ^ (mixed >>> 29) ^ low) * 0xBF58476D1CE4E5B9L;
    return mixed ^ (mixed >>> 32);
  }

  /** Open addressing with linear probing; an empty place is two zeros. */
  private static final class Segment {

    private long[] places = new long[2 * SLOTS_FIRST];
    private int count;

    boolean add(long high, long low, long hash) {
      int at = find(places, high, low, hash);
      if (places[at] != 0 || places[at + 1] != 0) {
        return false;
      }
      places[at] = high;
      places[at + 1] = low;
      count++;
      // Three quarters full: by a half more, which keeps it half full at least.
      if (count * 4L > (places.length / 2) * 3L) {
        grow();
      }
      return true;
    }

    boolean contains(long high, long low, long hash) {
      int at = find(places, high, low, hash);
      return places[at] != 0 || places[at + 1] != 0;
    }

    private void grow() {
      long[] old = places;
      int slots = old.length / 2;
      long[] larger = new long[2 * (slots + slots / 2)];
      for (int i = 0; i < old.length; i += 2) {
        if (old[i] != 0 || old[i + 1] != 0) {
          int at = find(larger, old[i], old[i + 1], hash(old[i], old[i + 1]));
          larger[at] = old[i];
          larger[at + 1] = old[i + 1];
        }
      }
      places = larger;
    }

    private static int find(long[] places, long high, long low, long hash) {
      int slots = places.length / 2;
      int slot = Math.floorMod(hash & 0x00FF_FFFF_FFFF_FFFFL, slots);
      while (true) {
        int at = 2 * slot;
        boolean empty = places[at] == 0 && places[at + 1] == 0;
        if (empty || (places[at] == high && places[at + 1] == low)) {
          return at;
        }
        slot = slot + 1 == slots ? 0 : slot + 1;
      }
    }
  }
}

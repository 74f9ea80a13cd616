package io.payrelay.chargeworker;

import java.util.TreeSet;

/** Which records of a partition are finished. Belongs to one thread. */
final class PartitionProgress {

  private final TreeSet<Long> open = new TreeSet<>();
  private long next;
  private long committed = -1;

  void polled(long offset) {
    open.add(offset);
    next = offset + 1;
  }

  void finished(long offset) {
    open.remove(offset);
  }

  /** Everything before it is finished: what may be committed. */
  long watermark() {
    return open.isEmpty() ? next : open.first();
  }

  boolean hasNews() {
    return watermark() != committed;
  }

  void committed(long offset) {
    committed = offset;
  }
}

package io.payrelay.platform.lifecycle;

/** Something that works in bounded steps; a {@link WorkerLoop} or a test calls it. */
@FunctionalInterface
public interface Worker {

  /**
   * Does one bounded batch.
   *
   * @return how much was done; 0 means there is nothing to do now
   */
  int runOnce();
}

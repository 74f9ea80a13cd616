package io.payrelay.workbench.bench;

/** A relay that is measured, as it is set up for one run. */
interface Subject {

  /** What the reports call it. */
  String name();

  EventTable table();

  /** Makes what has to be there before rows are written: table, slot, topic. */
  void prepare();

  /** Starts its process and returns once it works. */
  BenchProcess start();

  /** Removes what would burden the next one. Its process has ended. */
  void cleanUp();
}

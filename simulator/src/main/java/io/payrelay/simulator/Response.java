package io.payrelay.simulator;

/** An answer of either face. Rendered to the same bytes each time: a key replays it. */
interface Response {
  int status();

  byte[] body();
}

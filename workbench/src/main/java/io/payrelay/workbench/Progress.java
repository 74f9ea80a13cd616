package io.payrelay.workbench;

import java.io.PrintWriter;
import java.util.Map;

/**
 * What a person sees while it runs: one line redrawn on a terminal, a line now and then elsewhere.
 */
final class Progress {

  private static final int BAR_WIDTH = 30;
  private static final int WIDTH = 110;
  private static final long LINE_EVERY_NS = 5_000_000_000L;

  private final PrintWriter out;

  /**
   * The launcher knows: Java cannot tell a terminal from a pipe in the same way on all versions.
   */
  private final boolean terminal = Boolean.getBoolean("payrelay.terminal");

  private long lastLineNs = System.nanoTime() - LINE_EVERY_NS;

  Progress(PrintWriter out) {
    this.out = out;
  }

  void step(String text) {
    if (terminal) {
      redraw(text + " ...");
    } else {
      out.println(text);
      out.flush();
    }
  }

  /** Draws the bar and the live counts by status. */
  void counts(long total, Map<String, Long> byStatus) {
    long done = byStatus.getOrDefault("SUCCEEDED", 0L) + byStatus.getOrDefault("FAILED", 0L);
    int filled = (int) (BAR_WIDTH * Math.min(done, total) / Math.max(total, 1));
    StringBuilder text = new StringBuilder("[");
    text.append("#".repeat(filled)).append(".".repeat(BAR_WIDTH - filled)).append("] ");
    text.append(done).append('/').append(total);
    byStatus.forEach((status, count) -> text.append("  ").append(status).append(' ').append(count));
    now(text.toString());
  }

  /** How it stands at this moment; where each line stays, only now and then. */
  void now(String text) {
    if (terminal) {
      redraw(text);
    } else if (System.nanoTime() - lastLineNs >= LINE_EVERY_NS) {
      lastLineNs = System.nanoTime();
      out.println(text);
      out.flush();
    }
  }

  void end() {
    if (terminal) {
      redraw("");
      out.print("\r");
      out.flush();
    }
  }

  private void redraw(String text) {
    String line = text.length() > WIDTH ? text.substring(0, WIDTH) : text;
    out.print("\r" + line + " ".repeat(WIDTH - line.length()));
    out.flush();
  }
}

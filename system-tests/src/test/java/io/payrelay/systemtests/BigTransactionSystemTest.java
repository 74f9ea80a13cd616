package io.payrelay.systemtests;

import static org.assertj.core.api.Assertions.assertThat;

import io.payrelay.localstack.LocalStack;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What is too large for the heap goes through it all the same, even if the relay is killed. */
final class BigTransactionSystemTest {

  private static final boolean LONG = Boolean.getBoolean("payrelay.long");
  private static final int HEAP_MB = 256;
  private static final int ROWS = LONG ? 500_000 : 60_000;

  /**
   * 270 MB in one transaction: more than the heap, so whatever buffers a transaction dies of it.
   */
  private static final int LARGE_ROWS = 300;

  /** With the rest of the JSON just under the table's limit of 900,000 bytes. */
  private static final int FILLER_BYTES = 899_800;

  private static final Duration LIMIT = Duration.ofMinutes(LONG ? 15 : 4);

  @TempDir Path folder;

  @Test
  @Timeout(2000)
  void hugeTransactionsAndLargestRowsPassThroughASmallHeapEvenWhenKilledInTheMiddle()
      throws Exception {
    try (LocalStack infra = LocalStack.builder().start();
        OutboxStream outbox = OutboxStream.prepare(infra);
        Child relay = Child.startWithHeap(HEAP_MB, folder, outbox.relay("big"), "relay")) {
      relay.awaitReady();
      outbox.trickleUntil(LIMIT, () -> outbox.events() > 0);

      long rowsNs = passThrough(outbox, relay, ROWS, "o");
      long largeNs = passThrough(outbox, relay, LARGE_ROWS, filler());

      assertThat(outbox.assertEachRowCameOnceInOrder(LIMIT)).isGreaterThan(ROWS + LARGE_ROWS);
      assertThat(relay.errors()).doesNotContain("OutOfMemoryError", "relay stops");
      System.out.printf(
          "one transaction of %d rows: %d ms; %d rows of 900 kB: %d ms; peak resident %s%n",
          ROWS, rowsNs / 1_000_000, LARGE_ROWS, largeNs / 1_000_000, peakResident(relay));
    }
  }

  /** One transaction, and two kills on its way. */
  private static long passThrough(OutboxStream outbox, Child relay, int rows, String filler)
      throws Exception {
    long before = outbox.events();
    outbox.insert(rows, filler);
    long startNs = System.nanoTime();
    for (int third = 1; third <= 2; third++) {
      long enough = before + (long) rows * third / 3;
      outbox.readUntil(LIMIT, () -> outbox.events() >= enough);
      assertThat(outbox.events()).as("killed in the middle").isLessThan(before + rows);
      relay.killAndRestart();
    }
    outbox.readUntil(LIMIT, () -> outbox.events() >= before + rows);
    return System.nanoTime() - startNs;
  }

  /** Hexadecimal digits by chance: no compression makes them small. */
  private static String filler() {
    SplittableRandom random = new SplittableRandom(8);
    StringBuilder text = new StringBuilder();
    while (text.length() < FILLER_BYTES) {
      text.append(Long.toHexString(random.nextLong()));
    }
    text.setLength(FILLER_BYTES);
    return text.toString();
  }

  /** Of the last life; Linux alone tells. */
  private static String peakResident(Child relay) throws IOException {
    Path status = Path.of("/proc/" + relay.pid() + "/status");
    if (!Files.exists(status)) {
      return "not known";
    }
    return Files.readAllLines(status).stream()
        .filter(line -> line.startsWith("VmHWM:"))
        .map(line -> line.substring("VmHWM:".length()).strip())
        .findFirst()
        .orElse("not known");
  }
}

package io.payrelay.workbench;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.LockSupport;

/**
 * Payments that are requested one after the other, at a bounded rate, until it is stopped. Safe for
 * any thread.
 */
final class PaymentLoad implements AutoCloseable {

  private static final int PORTION = 10;

  private final Shop shop;
  private final long pauseNs;
  private final CompletableFuture<Void> done;
  private volatile boolean stopping;
  private volatile int requested;

  private PaymentLoad(Shop shop, Duration pause) {
    this.shop = shop;
    // A session for each payment would be most of the work.
    this.pauseNs = pause.toNanos() * PORTION;
    this.done =
        CompletableFuture.runAsync(
            this::request,
            task -> {
              Thread thread = new Thread(task, "chaos-load");
              thread.setDaemon(true);
              thread.start();
            });
  }

  /** Begins with payment number 0; the pause is what lies between two payments, on average. */
  static PaymentLoad start(Shop shop, Duration pause) {
    return new PaymentLoad(shop, pause);
  }

  int requested() {
    return requested;
  }

  /** Returns when the last payment is committed; throws what ended the load before its time. */
  void stop() {
    stopping = true;
    done.join();
  }

  @Override
  public void close() {
    stopping = true;
  }

  private void request() {
    for (int number = 0; !stopping; number += PORTION) {
      shop.order(number, number + PORTION);
      requested = number + PORTION;
      long untilNs = System.nanoTime() + pauseNs;
      for (long left = pauseNs; left > 0; left = untilNs - System.nanoTime()) {
        LockSupport.parkNanos(left);
      }
    }
  }
}

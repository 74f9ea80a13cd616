package io.payrelay.providers.generic;

import java.io.IOException;
import java.net.http.HttpRequest.BodyPublisher;
import java.net.http.HttpRequest.BodyPublishers;
import java.nio.ByteBuffer;
import java.util.concurrent.Flow;

/**
 * A request body that does not leave after its deadline, and that knows whether it left. The client
 * subscribes when the connection stands and the head is written: without its body the provider has
 * no request. Safe for any thread.
 */
final class DeadlineBody implements BodyPublisher {

  private final byte[] body;
  private final long deadlineNs;
  private volatile boolean left;
  private volatile boolean late;

  DeadlineBody(byte[] body, long deadlineNs) {
    this.body = body;
    this.deadlineNs = deadlineNs;
  }

  /** May any byte of it have left? */
  boolean left() {
    return left;
  }

  /** Was it held back because its time was over? */
  boolean late() {
    return late;
  }

  /** Is its time over already? */
  boolean over() {
    return System.nanoTime() - deadlineNs >= 0;
  }

  @Override
  public long contentLength() {
    return body.length;
  }

  @Override
  public void subscribe(Flow.Subscriber<? super ByteBuffer> subscriber) {
    if (over()) {
      late = true;
      subscriber.onSubscribe(new NoBytes());
      subscriber.onError(new IOException("the deadline for sending is over"));
      return;
    }
    // Before the first byte is handed over: told wrongly, a sent charge would count as unsent.
    left = true;
    BodyPublishers.ofByteArray(body).subscribe(subscriber);
  }

  private static final class NoBytes implements Flow.Subscription {
    @Override
    public void request(long count) {
      // Nothing comes: the error follows.
    }

    @Override
    public void cancel() {
      // Nothing to stop.
    }
  }
}

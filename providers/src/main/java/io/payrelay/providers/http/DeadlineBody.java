package io.payrelay.providers.http;

import java.io.IOException;
import java.net.http.HttpRequest.BodyPublisher;
import java.net.http.HttpRequest.BodyPublishers;
import java.nio.ByteBuffer;
import java.util.concurrent.Flow;
import java.util.concurrent.atomic.AtomicReference;

/**
 * A request body that does not leave after its deadline, nor after {@link #close}, and that knows
 * whether it left. The client subscribes when the connection stands and the head is written:
 * without its body the provider has no request. Safe for any thread.
 */
public final class DeadlineBody implements BodyPublisher {

  private final byte[] body;
  private final long deadlineNs;
  private final AtomicReference<State> state = new AtomicReference<>(State.NEW);
  private volatile boolean late;

  /** Left or closed, never both: who comes first decides for good. */
  private enum State {
    NEW,
    LEFT,
    CLOSED
  }

  /** The bytes, and System.nanoTime() after which they must not leave. */
  public DeadlineBody(byte[] body, long deadlineNs) {
    this.body = body;
    this.deadlineNs = deadlineNs;
  }

  /** Keeps back what has not left. Returns false where any byte of it may have left already. */
  public boolean close() {
    state.compareAndSet(State.NEW, State.CLOSED);
    return state.get() == State.CLOSED;
  }

  /** Was it held back because its time was over? */
  public boolean late() {
    return late;
  }

  /** Is its time over already? */
  public boolean over() {
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
      close();
      refuse(subscriber, "the deadline for sending is over");
      return;
    }
    // Before the first byte is handed over: told wrongly, a sent charge would count as unsent.
    state.compareAndSet(State.NEW, State.LEFT);
    if (state.get() == State.CLOSED) {
      refuse(subscriber, "the call was given up before its body left");
      return;
    }
    BodyPublishers.ofByteArray(body).subscribe(subscriber);
  }

  private static void refuse(Flow.Subscriber<? super ByteBuffer> subscriber, String why) {
    subscriber.onSubscribe(new NoBytes());
    subscriber.onError(new IOException(why));
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

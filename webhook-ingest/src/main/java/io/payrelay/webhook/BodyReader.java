package io.payrelay.webhook;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import org.eclipse.jetty.io.Content;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.util.Callback;
import org.eclipse.jetty.util.thread.Scheduler;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reads one body as it arrives. The server calls {@link #run} whenever there is more; between the
 * calls no thread waits. The lock decides whether the last byte or the deadline came first.
 */
final class BodyReader implements Runnable {

  private static final Logger log = LoggerFactory.getLogger(BodyReader.class);

  private final BodyGate gate;
  private final long number;
  private final ConnectionGuard.Lease lease;
  private final Request request;
  private final Response response;
  private final Callback callback;
  private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
  private final ReentrantLock lock = new ReentrantLock();
  private Scheduler.@Nullable Task deadline;
  private boolean ended;

  /** How one turn of reading ended. */
  private enum Turn {
    MORE,
    COMPLETE,
    TOO_LARGE,
    NO_MEMORY,
    BROKEN,
    ENDED
  }

  BodyReader(
      BodyGate gate,
      ConnectionGuard.Lease lease,
      Request request,
      Response response,
      Callback callback) {
    this.gate = gate;
    this.number = gate.nextReader();
    this.lease = lease;
    this.request = request;
    this.response = response;
    this.callback = callback;
  }

  @Override
  public void run() {
    Turn turn = turn();
    switch (turn) {
      case MORE -> request.demand(this);
      case COMPLETE -> pass();
      case TOO_LARGE -> gate.refuse(request, response, callback, 413, Reason.BODY_TOO_LARGE);
      case NO_MEMORY -> gate.refuse(request, response, callback, 503, Reason.TOO_MANY_BODIES);
      case BROKEN -> gate.refuse(request, response, callback, 400, Reason.BODY_BROKEN_OFF);
      case ENDED -> {}
    }
  }

  private Turn turn() {
    lock.lock();
    try {
      if (ended) {
        return Turn.ENDED;
      }
      Turn turn = read();
      if (turn == Turn.MORE) {
        if (deadline == null) {
          deadline =
              request
                  .getComponents()
                  .getScheduler()
                  .schedule(this::late, gate.timeout().toMillis(), TimeUnit.MILLISECONDS);
          gate.waits(number, this);
        }
      } else if (turn == Turn.COMPLETE) {
        stopWaiting();
      } else {
        end();
      }
      return turn;
    } finally {
      lock.unlock();
    }
  }

  private Turn read() {
    while (true) {
      Content.Chunk chunk = request.read();
      if (chunk == null) {
        return Turn.MORE;
      }
      if (Content.Chunk.isFailure(chunk)) {
        return Turn.BROKEN;
      }
      try {
        ByteBuffer buffer = chunk.getByteBuffer();
        int length = buffer.remaining();
        if (bytes.size() + length > gate.bodyBytesMax()) {
          return Turn.TOO_LARGE;
        }
        if (!gate.reserve(number, length)) {
          return Turn.NO_MEMORY;
        }
        byte[] part = new byte[length];
        buffer.get(part);
        bytes.writeBytes(part);
        if (chunk.isLast()) {
          return Turn.COMPLETE;
        }
      } finally {
        chunk.release();
      }
    }
  }

  /**
   * Ends this body for a newer one, unless it is being read right now or holds nothing. Called
   * under the lock of the newer one: so it never waits for this one's.
   */
  boolean giveWay() {
    if (!lock.tryLock()) {
      return false;
    }
    try {
      if (ended || bytes.size() == 0) {
        return false;
      }
      end();
    } finally {
      lock.unlock();
    }
    gate.refuse(request, response, callback, 408, Reason.BODY_GAVE_WAY);
    return true;
  }

  private void late() {
    lock.lock();
    try {
      if (ended) {
        return;
      }
      end();
    } finally {
      lock.unlock();
    }
    gate.refuse(request, response, callback, 408, Reason.BODY_TOO_SLOW);
  }

  private void end() {
    stopWaiting();
    gate.release(bytes.size());
  }

  private void stopWaiting() {
    ended = true;
    gate.ended(number);
    if (deadline != null) {
      deadline.cancel();
    }
  }

  /**
   * A whole body takes its memory until it is answered: it may stand in the queue for its write.
   */
  private void pass() {
    lease.work();
    int size = bytes.size();
    BodyGate budget = gate;
    // Without this reader: what it read would live on beside its copy until the answer.
    Callback answered = Callback.from(() -> budget.release(size), callback);
    try {
      gate.pass(request, response, answered, bytes.toByteArray());
    } catch (Exception e) {
      // A bug: the provider delivers again, and a person finds the stack trace.
      log.error("webhook_request_failed", e);
      if (response.isCommitted()) {
        answered.failed(e);
      } else {
        gate.refuse(request, response, answered, 503, Reason.BUG);
      }
    }
  }
}

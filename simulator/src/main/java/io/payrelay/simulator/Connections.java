package io.payrelay.simulator;

import jakarta.servlet.http.HttpServletRequest;
import java.io.IOException;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import org.eclipse.jetty.ee10.servlet.ServletContextRequest;
import org.eclipse.jetty.io.EndPoint;
import org.eclipse.jetty.io.SelectableChannelEndPoint;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Breaks connections below HTTP: resets them, or leaves them without an answer. Thread-safe. */
final class Connections implements AutoCloseable {
  private static final Logger log = LoggerFactory.getLogger(Connections.class);
  private static final Duration POLL_PERIOD = Duration.ofMillis(100);

  private final Set<Hanging> hanging = ConcurrentHashMap.newKeySet();
  private final Duration hangMax;

  /** A call that gets no answer. */
  private record Hanging(
      EndPoint endPoint, SocketChannel channel, long deadlineNanos, CompletableFuture<Void> over) {

    void end() {
      abort(endPoint, channel);
      over.complete(null);
    }
  }

  Connections(Duration hangMax, DelayedTasks tasks) {
    this.hangMax = hangMax;
    tasks.each(POLL_PERIOD, this::endAbandoned);
  }

  /** Closes the socket so that the peer sees a reset instead of an orderly end. */
  static void reset(HttpServletRequest request) {
    EndPoint endPoint = endPoint(request);
    abort(endPoint, channel(endPoint));
  }

  /** Never answers. The result completes when the client has gone, or after the longest hang. */
  CompletableFuture<Void> hang(HttpServletRequest request) {
    EndPoint endPoint = endPoint(request);
    Hanging call =
        new Hanging(
            endPoint,
            channel(endPoint),
            System.nanoTime() + hangMax.toNanos(),
            new CompletableFuture<>());
    hanging.add(call);
    return call.over();
  }

  int hangingCalls() {
    return hanging.size();
  }

  @Override
  public void close() {
    hanging.forEach(Hanging::end);
    hanging.clear();
  }

  private void endAbandoned() {
    long now = System.nanoTime();
    hanging.stream()
        .filter(call -> now - call.deadlineNanos() > 0 || isClosedByPeer(call.channel()))
        .toList()
        .forEach(
            call -> {
              hanging.remove(call);
              call.end();
            });
  }

  // While a request runs Jetty does not read its connection, so the end of the stream is found only
  // by reading. A byte
  // that is read here is lost; it would belong to a pipelined request on a connection that is about
  // to be closed.
  private static boolean isClosedByPeer(SocketChannel channel) {
    try {
      return channel.read(ByteBuffer.allocate(1)) < 0;
    } catch (IOException e) {
      log.trace("hanging connection is gone", e);
      return true;
    }
  }

  private static EndPoint endPoint(HttpServletRequest request) {
    return ServletContextRequest.getServletContextRequest(request)
        .getConnectionMetaData()
        .getConnection()
        .getEndPoint();
  }

  private static SocketChannel channel(EndPoint endPoint) {
    if (endPoint instanceof SelectableChannelEndPoint selectable
        && selectable.getChannel() instanceof SocketChannel channel) {
      return channel;
    }
    throw new IllegalStateException("not a plain TCP connection");
  }

  private static void abort(EndPoint endPoint, SocketChannel channel) {
    try {
      // Linger 0 turns the close into a reset.
      channel.setOption(StandardSocketOptions.SO_LINGER, 0);
      channel.close();
    } catch (IOException e) {
      log.trace("connection was closed already", e);
    }
    endPoint.close();
  }
}

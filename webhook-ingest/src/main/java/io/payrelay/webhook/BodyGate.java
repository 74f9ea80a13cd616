package io.payrelay.webhook;

import io.payrelay.webhook.ConnectionGuard.Lease;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;
import org.eclipse.jetty.http.HttpHeader;
import org.eclipse.jetty.http.HttpMethod;
import org.eclipse.jetty.server.Handler;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.util.Callback;

/**
 * Stands before the routes and reads bodies whole, without holding a thread while one trickles in:
 * capped while it counts, within one deadline, all of them within one memory budget. What passes
 * carries its bytes as the attribute {@link #BODY}. Safe for any thread.
 */
final class BodyGate extends Handler.Wrapper {

  static final String BODY = "io.payrelay.webhook.body";

  private final int bodyBytesMax;
  private final long bufferedBytesMax;
  private final Duration timeout;
  private final ConnectionGuard connections;
  private final IngestMetrics metrics;
  private final AtomicLong buffered = new AtomicLong();

  BodyGate(
      int bodyBytesMax,
      long bufferedBytesMax,
      Duration timeout,
      ConnectionGuard connections,
      IngestMetrics metrics) {
    this.bodyBytesMax = bodyBytesMax;
    this.bufferedBytesMax = bufferedBytesMax;
    this.timeout = timeout;
    this.connections = connections;
    this.metrics = metrics;
  }

  @Override
  public boolean handle(Request request, Response response, Callback callback) throws Exception {
    Lease lease = connections.begin(request.getConnectionMetaData().getConnection());
    // Before the callback: after it the next request of the connection may have begun.
    Callback ending = Callback.from(lease::end, callback);
    if (!HttpMethod.POST.is(request.getMethod())) {
      return super.handle(request, response, ending);
    }
    String encoding = request.getHeaders().get(HttpHeader.CONTENT_ENCODING);
    if (encoding != null && !encoding.equalsIgnoreCase("identity")) {
      // Inflating is how a small request becomes a large one.
      refuse(response, ending, 415, "content encoding");
    } else if (request.getLength() > bodyBytesMax) {
      refuse(response, ending, 413, "body too large");
    } else {
      new BodyReader(this, request, response, ending).run();
    }
    return true;
  }

  int bodyBytesMax() {
    return bodyBytesMax;
  }

  Duration timeout() {
    return timeout;
  }

  /** Takes memory from the budget, or says that there is none. */
  boolean reserve(int bytes) {
    if (buffered.addAndGet(bytes) <= bufferedBytesMax) {
      return true;
    }
    buffered.addAndGet(-bytes);
    return false;
  }

  void release(long bytes) {
    buffered.addAndGet(-bytes);
  }

  /** Goes on to the routes. */
  void pass(Request request, Response response, Callback callback, byte[] body) throws Exception {
    request.setAttribute(BODY, body);
    if (!super.handle(request, response, callback)) {
      refuse(response, callback, 404, "not found");
    }
  }

  /** Answers without reading on: the connection cannot be used again. */
  void refuse(Response response, Callback callback, int status, String reason) {
    metrics.refused("unknown", reason);
    response.setStatus(status);
    response.getHeaders().put(HttpHeader.CONNECTION, "close");
    response.write(true, ByteBuffer.allocate(0), callback);
  }
}

package io.payrelay.webhook;

import io.payrelay.webhook.ConnectionGuard.Lease;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.ConcurrentNavigableMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.atomic.AtomicLong;
import org.eclipse.jetty.http.HttpField;
import org.eclipse.jetty.http.HttpFields;
import org.eclipse.jetty.http.HttpHeader;
import org.eclipse.jetty.http.HttpMethod;
import org.eclipse.jetty.server.Handler;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.util.Callback;
import org.jspecify.annotations.Nullable;

/**
 * Stands before the routes: turns away what its head condemns, and reads the other bodies whole,
 * without holding a thread while one trickles in: capped while it counts, within one deadline, all
 * of them within one memory budget. What passes carries its bytes as the attribute {@link #BODY}.
 * Safe for any thread.
 */
final class BodyGate extends Handler.Wrapper {

  static final String BODY = "io.payrelay.webhook.body";
  static final String FOLDER = "/webhooks/";

  private final Limits limits;
  private final Set<String> providers;
  private final ConnectionGuard connections;
  private final IngestMetrics metrics;
  private final AtomicLong buffered = new AtomicLong();
  private final AtomicLong readers = new AtomicLong();

  /** Those that wait for more, by age: the oldest first. */
  private final ConcurrentNavigableMap<Long, BodyReader> waiting = new ConcurrentSkipListMap<>();

  /**
   * What a request may cost before anything is known of it.
   *
   * @param headersMax how many; their bytes are the server's to count
   * @param bufferedBytesMax of all bodies that are being read or wait for their answer
   */
  record Limits(int headersMax, int bodyBytesMax, long bufferedBytesMax, Duration timeout) {}

  /** Why a request is turned away by its head. */
  private record Refusal(int status, Reason reason) {}

  BodyGate(
      Limits limits, Set<String> providers, ConnectionGuard connections, IngestMetrics metrics) {
    this.limits = limits;
    this.providers = Set.copyOf(providers);
    this.connections = connections;
    this.metrics = metrics;
    metrics.buffered(buffered);
  }

  @Override
  public boolean handle(Request request, Response response, Callback callback) {
    Lease lease = connections.begin(request.getConnectionMetaData().getConnection());
    // Before the callback: after it the next request of the connection may have begun.
    Callback ending = Callback.from(lease::end, callback);
    Refusal refusal = refusal(request);
    if (refusal == null) {
      new BodyReader(this, lease, request, response, ending).run();
      return true;
    }
    if (refusal.status() == 405) {
      response.getHeaders().put(HttpHeader.ALLOW, HttpMethod.POST.asString());
    }
    refuse(request, response, ending, refusal.status(), refusal.reason());
    return true;
  }

  private @Nullable Refusal refusal(Request request) {
    HttpFields headers = request.getHeaders();
    if (headers.size() > limits.headersMax()) {
      return new Refusal(431, Reason.TOO_MANY_HEADERS);
    }
    String path = Request.getPathInContext(request);
    if (!path.startsWith(FOLDER)) {
      return new Refusal(404, Reason.NOT_FOUND);
    }
    if (!HttpMethod.POST.is(request.getMethod())) {
      return new Refusal(405, Reason.METHOD);
    }
    if (!providers.contains(path.substring(FOLDER.length()))) {
      return new Refusal(404, Reason.UNKNOWN_PROVIDER);
    }
    if (coded(headers)) {
      // Inflating is how a small request becomes a large one.
      return new Refusal(415, Reason.CONTENT_ENCODING);
    }
    return request.getLength() > limits.bodyBytesMax()
        ? new Refusal(413, Reason.BODY_TOO_LARGE)
        : null;
  }

  private static boolean coded(HttpFields headers) {
    for (HttpField field : headers) {
      boolean content = field.getHeader() == HttpHeader.CONTENT_ENCODING;
      boolean transfer = field.getHeader() == HttpHeader.TRANSFER_ENCODING;
      if ((content && !"identity".equalsIgnoreCase(field.getValue()))
          || (transfer && !"chunked".equalsIgnoreCase(field.getValue()))) {
        return true;
      }
    }
    return false;
  }

  int bodyBytesMax() {
    return limits.bodyBytesMax();
  }

  Duration timeout() {
    return limits.timeout();
  }

  long nextReader() {
    return readers.incrementAndGet();
  }

  void waits(long reader, BodyReader body) {
    waiting.put(reader, body);
  }

  void ended(long reader) {
    waiting.remove(reader);
  }

  /**
   * Takes memory from the budget. Where it is used up, bodies that began before this one are ended,
   * those that have kept us waiting longest first: a provider sends its body at once.
   */
  boolean reserve(long reader, int bytes) {
    if (take(bytes)) {
      return true;
    }
    for (BodyReader older : waiting.headMap(reader).values()) {
      if (older.giveWay() && take(bytes)) {
        return true;
      }
    }
    return false;
  }

  private boolean take(int bytes) {
    if (buffered.addAndGet(bytes) <= limits.bufferedBytesMax()) {
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
      refuse(request, response, callback, 404, Reason.NOT_FOUND);
    }
  }

  /** Names of ours only: what else a path says is no label. */
  private String provider(Request request) {
    String path = Request.getPathInContext(request);
    String name = path.startsWith(FOLDER) ? path.substring(FOLDER.length()) : "";
    return providers.contains(name) ? name : Reason.NOBODY;
  }

  /** Answers without reading on: the connection cannot be used again. */
  void refuse(Request request, Response response, Callback callback, int status, Reason reason) {
    metrics.refused(provider(request), reason);
    response.setStatus(status);
    response.getHeaders().put(HttpHeader.CONNECTION, "close");
    if (status == 503) {
      response.getHeaders().put(HttpHeader.RETRY_AFTER, "5");
    }
    response.write(true, ByteBuffer.allocate(0), callback);
  }
}

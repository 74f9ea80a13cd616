package io.payrelay.workbench.bench;

import static java.nio.charset.StandardCharsets.US_ASCII;

import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * One HTTP connection that is used again and again: as little work as a sender can have, because it
 * shares the processors with what is measured. Belongs to one thread.
 */
final class KeptConnection implements AutoCloseable {

  private static final int ANSWER_LIMIT_MS = 60_000;
  private static final int NO_ANSWER = 0;

  private final int port;
  private final byte[] buffer = new byte[8192];
  private @Nullable Socket socket;

  KeptConnection(int port) {
    this.port = port;
  }

  /**
   * Sends a request and reads the answer.
   *
   * @return the status; 0 where the connection broke: the next request has a new one
   * @throws IOException where none can be made
   */
  int exchange(byte[] request) throws IOException {
    Socket current = socket;
    if (current == null) {
      current = new Socket(InetAddress.getLoopbackAddress(), port);
      current.setTcpNoDelay(true);
      current.setSoTimeout(ANSWER_LIMIT_MS);
      socket = current;
    }
    try {
      current.getOutputStream().write(request);
      return answer(current.getInputStream());
    } catch (IOException e) {
      // What became of the request nobody knows: the count of broken ones says so.
      close();
      return NO_ANSWER;
    }
  }

  private int answer(InputStream in) throws IOException {
    int length = 0;
    int headEnd = -1;
    while (headEnd < 0) {
      length += more(in, length);
      headEnd = headEnd(length);
    }
    String head = new String(buffer, 0, headEnd, US_ASCII).toLowerCase(Locale.ROOT);
    int bodyEnd = headEnd + contentLength(head);
    while (length < bodyEnd) {
      length += more(in, length);
    }
    if (head.contains("\r\nconnection: close")) {
      close();
    }
    return Integer.parseInt(head, "http/1.1 ".length(), "http/1.1 200".length(), 10);
  }

  private int more(InputStream in, int from) throws IOException {
    int count = from == buffer.length ? -1 : in.read(buffer, from, buffer.length - from);
    if (count < 0) {
      throw new IOException("the answer ends early, or does not");
    }
    return count;
  }

  private int headEnd(int length) {
    for (int i = 3; i < length; i++) {
      if (buffer[i] == '\n' && buffer[i - 1] == '\r' && buffer[i - 2] == '\n') {
        return i + 1;
      }
    }
    return -1;
  }

  private static int contentLength(String head) {
    int at = head.indexOf("\r\ncontent-length: ");
    if (at < 0) {
      return 0;
    }
    int from = at + "\r\ncontent-length: ".length();
    return Integer.parseInt(head, from, head.indexOf('\r', from), 10);
  }

  @Override
  public void close() throws IOException {
    Socket current = socket;
    socket = null;
    if (current != null) {
      current.close();
    }
  }
}

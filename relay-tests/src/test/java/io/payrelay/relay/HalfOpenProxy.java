package io.payrelay.relay;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Stands between the relay and PostgreSQL, and can make the replication connections of the moment
 * half-open: both ends keep them, no byte gets through.
 */
final class HalfOpenProxy implements AutoCloseable {

  private static final int BUFFER = 65_536;

  private final ServerSocket server;
  private final int targetPort;
  private final Set<Connection> connections = ConcurrentHashMap.newKeySet();

  private record Connection(
      Socket client, Socket target, AtomicBoolean replication, AtomicBoolean swallows) {}

  HalfOpenProxy(int targetPort) throws IOException {
    this.targetPort = targetPort;
    this.server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
    daemon(this::accept);
  }

  int port() {
    return server.getLocalPort();
  }

  /** Returns how many connections were hit; those made later work. */
  int swallowReplication() {
    int hit = 0;
    for (Connection connection : connections) {
      if (connection.replication().get() && connection.swallows().compareAndSet(false, true)) {
        hit++;
      }
    }
    return hit;
  }

  private void accept() {
    try {
      while (!server.isClosed()) {
        Socket client = server.accept();
        Socket target = new Socket(InetAddress.getLoopbackAddress(), targetPort);
        Connection connection =
            new Connection(client, target, new AtomicBoolean(), new AtomicBoolean());
        connections.add(connection);
        daemon(() -> pump(connection, client, target, true));
        daemon(() -> pump(connection, target, client, false));
      }
    } catch (IOException e) {
      // Closed: the test is over.
      connections.clear();
    }
  }

  private void pump(Connection connection, Socket from, Socket to, boolean upstream) {
    byte[] buffer = new byte[BUFFER];
    try (from;
        to) {
      InputStream in = from.getInputStream();
      OutputStream out = to.getOutputStream();
      for (int read = in.read(buffer); read >= 0; read = in.read(buffer)) {
        if (upstream && new String(buffer, 0, read, ISO_8859_1).contains("START_REPLICATION")) {
          connection.replication().set(true);
        }
        if (!connection.swallows().get()) {
          out.write(buffer, 0, read);
        }
      }
    } catch (IOException e) {
      // An end has closed it: so does the other.
      connections.remove(connection);
    }
  }

  private static void daemon(Runnable work) {
    Thread thread = new Thread(work, "half-open-proxy");
    thread.setDaemon(true);
    thread.start();
  }

  @Override
  public void close() throws IOException {
    server.close();
    for (Connection connection : connections) {
      connection.client().close();
      connection.target().close();
    }
  }
}

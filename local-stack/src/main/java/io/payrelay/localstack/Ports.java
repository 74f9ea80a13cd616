package io.payrelay.localstack;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.util.function.IntFunction;

/** Free and taken ports of the loopback address. */
final class Ports {
  private static final byte[] LOOPBACK = {127, 0, 0, 1};
  private static final int ATTEMPTS_MAX = 5;

  private Ports() {}

  /**
   * Starts something on the wanted port, or on a free one if wanted is 0. Another program can take
   * a free port before it is bound here, hence several attempts.
   */
  static <T> T startOn(int wanted, IntFunction<T> start) {
    if (wanted != 0) {
      return start.apply(wanted);
    }
    for (int attempt = 1; ; attempt++) {
      try {
        return start.apply(free());
      } catch (LocalStackException e) {
        if (!e.isPortInUse() || attempt == ATTEMPTS_MAX) {
          throw e;
        }
      }
    }
  }

  static int free() {
    try (ServerSocket socket = bind(0)) {
      return socket.getLocalPort();
    } catch (IOException e) {
      throw new LocalStackException("No free port on 127.0.0.1: " + e.getMessage(), e);
    }
  }

  static void requireFree(String what, int port) {
    try (ServerSocket socket = bind(port)) {
      assert socket.isBound();
    } catch (IOException e) {
      LocalStackException refusal = LocalStackException.portInUse(what, port);
      refusal.initCause(e);
      throw refusal;
    }
  }

  private static ServerSocket bind(int port) throws IOException {
    ServerSocket socket = new ServerSocket();
    try {
      // As the servers do: connections in TIME_WAIT do not hold a port.
      socket.setReuseAddress(true);
      socket.bind(new InetSocketAddress(InetAddress.getByAddress(LOOPBACK), port));
      return socket;
    } catch (IOException e) {
      socket.close();
      throw e;
    }
  }
}

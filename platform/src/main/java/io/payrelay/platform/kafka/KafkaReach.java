package io.payrelay.platform.kafka;

import java.time.Duration;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.common.KafkaException;
import org.jspecify.annotations.Nullable;

/**
 * Whether Kafka answers, for readiness: clients retry for ever and tell nobody. It connects when it
 * is first asked. Safe for any thread.
 */
public final class KafkaReach implements AutoCloseable {

  private static final Duration LIMIT = Duration.ofSeconds(5);

  private final KafkaConfig kafka;
  private final String clientId;
  private @Nullable Admin admin;
  private boolean closed;

  /** Asks under that client id. */
  public KafkaReach(KafkaConfig kafka, String clientId) {
    this.kafka = kafka;
    this.clientId = clientId;
  }

  /** {@code ok}, or a sentence; waits for the answer for some seconds. */
  public String ask() {
    try {
      Admin client = client();
      if (client == null) {
        return "is closed";
      }
      String unused =
          client.describeCluster().clusterId().get(LIMIT.toMillis(), TimeUnit.MILLISECONDS);
      return "ok";
    } catch (TimeoutException | ExecutionException e) {
      return silent(e.getCause() == null ? e : e.getCause());
    } catch (KafkaException e) {
      return silent(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return "was interrupted";
    }
  }

  @Override
  public synchronized void close() {
    closed = true;
    if (admin != null) {
      admin.close(Duration.ZERO);
    }
  }

  private synchronized @Nullable Admin client() {
    if (admin == null && !closed) {
      admin = Admin.create(kafka.clientProperties(clientId));
    }
    return admin;
  }

  private String silent(Throwable cause) {
    return "Kafka does not answer at %s (%s)"
        .formatted(kafka.bootstrapServers(), cause.getClass().getSimpleName());
  }
}

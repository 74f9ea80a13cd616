package io.payrelay.relay;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.apicurio.registry.rest.client.RegistryClient;
import io.apicurio.registry.rest.client.RegistryClientFactory;
import io.apicurio.registry.rest.client.exception.RestClientException;
import io.apicurio.registry.rest.v2.beans.ArtifactMetaData;
import io.apicurio.registry.rest.v2.beans.IfExists;
import io.apicurio.registry.types.ArtifactType;
import io.apicurio.rest.client.auth.BasicAuth;
import io.apicurio.rest.client.auth.exception.ForbiddenException;
import io.apicurio.rest.client.auth.exception.NotAuthorizedException;
import io.payrelay.platform.errors.Category;
import io.payrelay.platform.errors.PayrelayException;
import io.payrelay.schemas.EventType;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Registers schemas in an Apicurio Registry. The id in records is Apicurio's content id: what its
 * Confluent-compatible API calls a schema's id, the same for the same schema under every subject.
 * Stateless.
 */
final class SchemaRegistry {

  private static final Logger log = LoggerFactory.getLogger(SchemaRegistry.class);

  /** The client itself waits for ever for a server that takes the request and is silent. */
  private static final Duration LIMIT = Duration.ofSeconds(20);

  private static final int SERVER_ERROR = 500;
  private static final int TOO_MANY_REQUESTS = 429;

  private SchemaRegistry() {}

  /** Topic and record name, since a topic may carry several types. */
  static String subject(EventType type) {
    return type.topic() + "-" + type.schema().getFullName();
  }

  /**
   * Registers what is not there yet.
   *
   * @return the schema ids by event type
   * @throws PayrelayException RETRIABLE where the registry does not answer, FATAL where it refuses
   */
  static Map<String, Integer> register(FramingConfig config, Collection<EventType> types) {
    FutureTask<Map<String, Integer>> task = new FutureTask<>(() -> registerAll(config, types));
    Thread thread = new Thread(task, "payrelay-schema-registry");
    thread.setDaemon(true);
    thread.start();
    try {
      return task.get(LIMIT.toMillis(), TimeUnit.MILLISECONDS);
    } catch (ExecutionException e) {
      if (e.getCause() instanceof PayrelayException ours) {
        throw ours;
      }
      throw silent(config, e.getCause() == null ? e : e.getCause());
    } catch (TimeoutException e) {
      thread.interrupt();
      throw silent(config, e);
    } catch (InterruptedException e) {
      thread.interrupt();
      Thread.currentThread().interrupt();
      throw silent(config, e);
    }
  }

  private static Map<String, Integer> registerAll(FramingConfig config, Collection<EventType> types)
      throws IOException {
    Map<String, Integer> ids = new HashMap<>();
    try (RegistryClient client = client(config)) {
      for (EventType type : types) {
        int id = Math.toIntExact(registerOne(client, config, type).getContentId());
        ids.put(type.name(), id);
        log.info("schema registered subject={} id={}", subject(type), id);
      }
    }
    return ids;
  }

  private static RegistryClient client(FramingConfig config) {
    return config.registryUser().isEmpty()
        ? RegistryClientFactory.create(config.registryUrl())
        : RegistryClientFactory.create(
            config.registryUrl(),
            Map.of(),
            new BasicAuth(config.registryUser(), config.registryPassword().reveal()));
  }

  private static ArtifactMetaData registerOne(
      RegistryClient client, FramingConfig config, EventType type) {
    try {
      return client.createArtifact(
          // The default group is where the Confluent-compatible API has its subjects.
          null,
          subject(type),
          null,
          ArtifactType.AVRO,
          IfExists.RETURN_OR_UPDATE,
          false,
          new ByteArrayInputStream(type.schema().toString().getBytes(UTF_8)));
    } catch (NotAuthorizedException | ForbiddenException e) {
      throw new PayrelayException(
          Category.FATAL,
          "The schema registry at %s refuses this user: check PAYRELAY_SCHEMA_REGISTRY_USER and PAYRELAY_SCHEMA_REGISTRY_PASSWORD, which must be allowed to write"
              .formatted(config.registryUrl()),
          e);
    } catch (RestClientException e) {
      // Without a code nobody has answered: the client wraps failed connections in the same class.
      Integer code = e.getError() == null ? null : e.getError().getErrorCode();
      int status = code == null ? SERVER_ERROR : code;
      if (status >= SERVER_ERROR || status == TOO_MANY_REQUESTS) {
        throw silent(config, e);
      }
      throw new PayrelayException(
          Category.FATAL,
          "The schema registry refuses the schema of %s as subject %s (%s): make the schema compatible with the registered one, or change the subject's rule"
              .formatted(type.name(), subject(type), e.getError().getMessage()),
          e);
    }
  }

  private static PayrelayException silent(FramingConfig config, Throwable cause) {
    return new PayrelayException(
        Category.RETRIABLE,
        "The schema registry at %s does not answer: check PAYRELAY_SCHEMA_REGISTRY_URL and that it runs; the relay tries again"
            .formatted(config.registryUrl()),
        cause);
  }
}

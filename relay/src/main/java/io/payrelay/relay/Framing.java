package io.payrelay.relay;

import io.payrelay.schemas.EventCatalogue;
import io.payrelay.schemas.EventCodec;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Makes codecs of the configured framing. For Confluent's it registers every schema of the
 * catalogue once in the life of the process: an outage of the registry after that stops nothing, a
 * recovery neither. Safe for any thread.
 */
final class Framing {

  private final FramingConfig config;
  private final EventCatalogue catalogue;
  private @Nullable Map<String, Integer> ids;

  Framing(FramingConfig config, EventCatalogue catalogue) {
    this.config = config;
    this.catalogue = catalogue;
  }

  /**
   * A codec for one thread.
   *
   * @throws io.payrelay.platform.errors.PayrelayException RETRIABLE where the registry does not
   *     answer, FATAL where it refuses
   */
  EventCodec codec() {
    return config.confluent() ? EventCodec.confluent(catalogue, ids()) : new EventCodec(catalogue);
  }

  private synchronized Map<String, Integer> ids() {
    Map<String, Integer> known = ids;
    if (known == null) {
      known = SchemaRegistry.register(config, catalogue.all());
      ids = known;
    }
    return known;
  }
}

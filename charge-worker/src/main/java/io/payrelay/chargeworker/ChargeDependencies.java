package io.payrelay.chargeworker;

import io.micrometer.core.instrument.MeterRegistry;
import io.payrelay.platform.kafka.KafkaConfig;
import io.payrelay.providers.PaymentProvider;
import io.payrelay.schemas.EventCatalogue;
import java.time.InstantSource;
import java.util.List;
import java.util.random.RandomGenerator;
import org.jdbi.v3.core.Jdbi;

/**
 * What a charge worker works with. Immutable; all of it is closed by whoever made it, after the
 * worker.
 *
 * @param random safe for any thread
 */
public record ChargeDependencies(
    KafkaConfig kafka,
    Jdbi jdbi,
    EventCatalogue catalogue,
    List<PaymentProvider> providers,
    MeterRegistry registry,
    InstantSource clock,
    RandomGenerator random,
    ChargeFaults faults) {

  /** Copies the list. */
  public ChargeDependencies {
    providers = List.copyOf(providers);
  }
}

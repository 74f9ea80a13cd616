package io.payrelay.relay;

import io.payrelay.platform.database.DatabaseConfig;
import io.payrelay.platform.kafka.KafkaConfig;
import io.payrelay.schemas.EventCatalogue;
import java.time.InstantSource;
import java.util.Set;

/** What each session of a relay is made from. Immutable but for the set, which is concurrent. */
record RelayParts(
    RelayConfig config,
    DatabaseConfig database,
    KafkaConfig kafka,
    EventCatalogue catalogue,
    Framing framing,
    RelayMetrics metrics,
    RelayFaults faults,
    InstantSource clock,
    Set<String> refusedEventIds) {}

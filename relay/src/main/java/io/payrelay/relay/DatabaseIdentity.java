package io.payrelay.relay;

/** Which WAL and which cluster a position speaks of. Immutable. */
record DatabaseIdentity(String systemId, long timeline, String kafkaClusterId) {}

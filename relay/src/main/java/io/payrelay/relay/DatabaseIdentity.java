package io.payrelay.relay;

/**
 * Which WAL and which cluster a position speaks of. Immutable.
 *
 * @param publication what changes when the publication is altered or made anew; empty: not known,
 *     the next start takes what it finds
 */
record DatabaseIdentity(String systemId, long timeline, String kafkaClusterId, String publication) {

  DatabaseIdentity(String systemId, long timeline, String kafkaClusterId) {
    this(systemId, timeline, kafkaClusterId, "");
  }
}

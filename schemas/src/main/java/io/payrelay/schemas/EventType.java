package io.payrelay.schemas;

import org.apache.avro.Schema;

/**
 * An event type: its schema, the topic its records go to, and whether upstream services may write
 * it. Immutable.
 */
public record EventType(String name, Schema schema, String topic, boolean upstream) {}

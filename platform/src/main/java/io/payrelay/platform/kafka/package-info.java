/**
 * Client properties for Kafka, the operator's TLS and SASL properties included. Consumers read
 * committed records only: that is what the relay's exactly-once promise speaks of.
 */
@NullMarked
package io.payrelay.platform.kafka;

import org.jspecify.annotations.NullMarked;

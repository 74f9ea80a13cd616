/**
 * The relay: reads committed outbox rows from PostgreSQL's WAL and publishes each to Kafka exactly
 * once, in commit order. The rows and the relay's own position go into one Kafka transaction; the
 * slot is confirmed only up to a position that Kafka holds. One supervising thread owns the lease,
 * one session thread owns producer and engine; on any error the session is thrown away and a new
 * one starts from the stored position. Payloads are never logged.
 */
@NullMarked
package io.payrelay.relay;

import org.jspecify.annotations.NullMarked;

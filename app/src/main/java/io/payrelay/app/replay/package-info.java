/**
 * Replaying the offsets of a consumer group: what would be read again, what it would do, and the
 * setting of the offsets. Reads Kafka as a stream and the database in portions, so that memory does
 * not grow with the topic. Nothing here writes to the database. Each object belongs to one thread.
 */
@NullMarked
package io.payrelay.app.replay;

import org.jspecify.annotations.NullMarked;

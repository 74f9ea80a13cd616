/**
 * The contracts: which event types there are, their Avro schemas, the topics they go to, the codec
 * between an app's JSON and Avro, and the SQL migrations. No business, no connections of its own.
 */
@NullMarked
package io.payrelay.schemas;

import org.jspecify.annotations.NullMarked;

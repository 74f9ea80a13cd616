/**
 * From a charge request in Kafka to an outcome in the database. Accepting writes an operation and
 * never waits for a provider; one dispatcher claims due operations (committed), calls without a
 * transaction and hands the answers to one writer. Each of them is a worker on a thread of its own;
 * what they share is the database and a bounded number of calls in flight. An operation's key and
 * bytes never change; they are not sent once the provider may have forgotten the key.
 */
@NullMarked
package io.payrelay.chargeworker;

import org.jspecify.annotations.NullMarked;

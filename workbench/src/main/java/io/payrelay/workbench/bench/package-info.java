/**
 * Benchmarks of the relay: how fast it drains, how soon a committed row is visible, and how others
 * do beside it; and of the webhook ingest: how many it takes, and how soon it answers. Servers and
 * relays are processes of their own; this one writes, reads and counts.
 *
 * <p>Each benchmark also counts what came out: a figure for a run that lost or doubled a row is no
 * figure. Everything listens on loopback and ends with the command.
 */
@NullMarked
package io.payrelay.workbench.bench;

import org.jspecify.annotations.NullMarked;

/**
 * PostgreSQL and a Kafka broker inside one process: for the workbench's commands and the tests of
 * every module.
 *
 * <p>The broker runs in this JVM. PostgreSQL is a process of its own under a small shell guard that
 * stops it when the pipe to this JVM ends, so nothing is left behind by close, exit, Ctrl-C or kill
 * -9. Both write durably (fsync on), because the tests are about crashes. Connections are trusted,
 * and listen on the loopback address only: this is a development stack, never a production one.
 * Every public type may be used by several threads.
 */
@NullMarked
package io.payrelay.localstack;

import org.jspecify.annotations.NullMarked;

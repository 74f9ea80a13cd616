/**
 * Connections to PostgreSQL: a bounded pool and JDBI on top of it. Stores take the transaction's
 * Handle as their first parameter; only services begin transactions.
 */
@NullMarked
package io.payrelay.platform.database;

import org.jspecify.annotations.NullMarked;

/**
 * Tests of webhook ingest over real HTTP and PostgreSQL, under a login with the group role only.
 */
@NullMarked
package io.payrelay.webhook;

import org.jspecify.annotations.NullMarked;

/**
 * What every adapter over HTTP shares: a client that never follows a redirect, a body that knows
 * whether it left and does not leave too late, answers with a hard cap, and strict reading of them.
 * Nothing here throws for what a provider does. Safe for any thread.
 */
@NullMarked
package io.payrelay.providers.http;

import org.jspecify.annotations.NullMarked;

/**
 * Configuration from environment variables: typed settings, all problems reported together, secrets
 * masked. Nothing is silently corrected. Everything here is immutable and safe for any thread.
 */
@NullMarked
package io.payrelay.platform.config;

import org.jspecify.annotations.NullMarked;

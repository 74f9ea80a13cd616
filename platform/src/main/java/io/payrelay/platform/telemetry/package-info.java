/**
 * Metrics and health over HTTP, and the ids that every log line of a unit of work carries. Nothing
 * here ever holds a payload, a header or a secret.
 */
@NullMarked
package io.payrelay.platform.telemetry;

import org.jspecify.annotations.NullMarked;

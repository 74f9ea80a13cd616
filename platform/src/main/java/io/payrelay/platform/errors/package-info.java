/**
 * The one exception type, its categories, and the one place that puts foreign failures into them.
 * SQL errors are told apart by SQLSTATE, never by message. Stateless, safe for any thread.
 */
@NullMarked
package io.payrelay.platform.errors;

import org.jspecify.annotations.NullMarked;

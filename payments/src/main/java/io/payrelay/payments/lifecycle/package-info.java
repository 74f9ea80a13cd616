/**
 * The life of a payment (ARCHITECTURE.md): facts say who saw what, one pure function decides what
 * follows. No I/O, no clock, no randomness; everything is immutable and safe for any thread.
 * Invariants: terminal states do not move; a conflict raises a case and changes nothing silently.
 */
@NullMarked
package io.payrelay.payments.lifecycle;

import org.jspecify.annotations.NullMarked;

/** Amounts in ISO 4217 minor units. Pure and immutable: no I/O, any thread. */
@NullMarked
package io.payrelay.payments.money;

import org.jspecify.annotations.NullMarked;

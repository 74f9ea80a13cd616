/** Tests of the provider SPI and of what adapters share. */
@NullMarked
package io.payrelay.providers;

import org.jspecify.annotations.NullMarked;

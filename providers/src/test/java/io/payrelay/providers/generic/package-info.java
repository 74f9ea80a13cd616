/** Tests of the generic HTTP provider. */
@NullMarked
package io.payrelay.providers.generic;

import org.jspecify.annotations.NullMarked;

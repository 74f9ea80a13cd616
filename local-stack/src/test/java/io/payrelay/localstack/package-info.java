/** Tests of the local stack against its real servers; each test owns the ones it crashes. */
@NullMarked
package io.payrelay.localstack;

import org.jspecify.annotations.NullMarked;

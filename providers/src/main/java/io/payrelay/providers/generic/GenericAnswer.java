package io.payrelay.providers.generic;

import org.jspecify.annotations.Nullable;

/**
 * An HTTP answer as far as it is read. Immutable; the array is not changed by anybody.
 *
 * @param body at most one byte more than is accepted
 */
record GenericAnswer(
    int status, @Nullable String contentType, @Nullable String retryAfter, byte[] body) {}

package io.payrelay.platform.kafka;

import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.Headers;
import org.jspecify.annotations.Nullable;

/** Reads a record's headers. Stateless. */
public final class HeaderValues {

  private HeaderValues() {}

  /** The value of the last header of that name; null where there is none, or it has no value. */
  public static byte @Nullable [] last(Headers headers, String name) {
    Header header = headers.lastHeader(name);
    return header == null ? null : header.value();
  }
}

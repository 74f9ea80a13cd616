package io.payrelay.localstack;

import java.util.Arrays;
import java.util.Locale;

/** Where the tests' PostgreSQL and Kafka come from; chosen by -Dpayrelay.infra. */
enum InfraMode {
  AUTO,
  EMBEDDED,
  CONTAINERS,
  EXTERNAL;

  static InfraMode parse(String value) {
    return Arrays.stream(values())
        .filter(mode -> mode.name().toLowerCase(Locale.ROOT).equals(value))
        .findFirst()
        .orElseThrow(
            () ->
                new LocalStackException(
                    "payrelay.infra is \""
                        + value
                        + "\"; it must be auto, embedded, containers or external."));
  }
}

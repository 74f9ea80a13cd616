package io.payrelay.localstack;

import java.util.Map;

/** Servers that somebody else runs, named by the environment. */
final class ExternalServers implements TestServers {
  static final String DATABASE_URL = "PAYRELAY_TEST_DATABASE_URL";
  static final String DATABASE_USER = "PAYRELAY_TEST_DATABASE_USER";
  static final String DATABASE_PASSWORD = "PAYRELAY_TEST_DATABASE_PASSWORD";
  static final String BOOTSTRAP_SERVERS = "PAYRELAY_TEST_KAFKA_BOOTSTRAP_SERVERS";

  private final Map<String, String> environment;

  ExternalServers(Map<String, String> environment) {
    this.environment = environment;
  }

  @Override
  public Postgres postgres() {
    return new Postgres(
        required(DATABASE_URL), required(DATABASE_USER), required(DATABASE_PASSWORD));
  }

  @Override
  public String kafka() {
    return required(BOOTSTRAP_SERVERS);
  }

  @Override
  public void close() {
    // They are not ours to stop.
  }

  private String required(String key) {
    String value = environment.get(key);
    if (value == null) {
      throw new LocalStackException(
          key + " is not set; -Dpayrelay.infra=external needs it for this test.");
    }
    return value;
  }
}

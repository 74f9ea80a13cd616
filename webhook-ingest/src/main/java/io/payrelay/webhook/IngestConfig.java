package io.payrelay.webhook;

import io.payrelay.platform.config.Setting;
import io.payrelay.platform.config.Settings;
import java.time.Duration;
import java.util.List;

/**
 * Where webhooks are taken and what a request may cost. Immutable.
 *
 * @param headersMax how many headers a request may have
 * @param bodyBytesMax a larger body is refused while it is read
 * @param bufferedBytesMax bodies that are being read, together
 * @param concurrentRequestsMax requests that wait for their commit; more are turned away at once
 * @param providerRequestsMax those of one provider among them
 * @param connectionsMax open connections; for one more those that wait longest are closed
 * @param readTimeout how long headers and body of one request may take
 * @param databaseWait how long a request waits for a connection of the pool
 * @param statementTimeout how long one statement may take, waiting for a locked payment included
 * @param park how long events wait for their payment
 * @param retentionDays after how many days bodies and headers are wiped; 0: never
 */
public record IngestConfig(
    String host,
    int port,
    int bodyBytesMax,
    int bufferedBytesMax,
    int headerBytesMax,
    int headersMax,
    int concurrentRequestsMax,
    int providerRequestsMax,
    int connectionsMax,
    Duration readTimeout,
    Duration databaseWait,
    Duration statementTimeout,
    Duration stopTimeout,
    ParkSchedule park,
    Duration matchInterval,
    int retentionDays) {

  public static final Setting<String> HOST =
      Setting.text("PAYRELAY_INGEST_HOST", "127.0.0.1", "address on which webhooks are taken");
  public static final Setting<Integer> PORT =
      Setting.integer(
          "PAYRELAY_INGEST_PORT", "8085", 0, 65_535, "port for webhooks; 0: a free one");
  public static final Setting<Integer> BODY_BYTES_MAX =
      Setting.integer(
          "PAYRELAY_INGEST_BODY_BYTES_MAX",
          "262144",
          1_024,
          1_048_576,
          "largest webhook body; larger ones are answered 413");
  public static final Setting<Integer> BUFFERED_BYTES_MAX =
      Setting.integer(
          "PAYRELAY_INGEST_BUFFERED_BYTES_MAX",
          "33554432",
          1_048_576,
          1_073_741_824,
          "memory for bodies, from their first byte to their answer; beyond it the slowest are"
              + " answered 408");
  public static final Setting<Integer> HEADER_BYTES_MAX =
      Setting.integer(
          "PAYRELAY_INGEST_HEADER_BYTES_MAX",
          "16384",
          1_024,
          65_536,
          "largest request line and headers together; larger ones are answered 431");
  public static final Setting<Integer> HEADERS_MAX =
      Setting.integer(
          "PAYRELAY_INGEST_HEADERS_MAX",
          "100",
          16,
          1_000,
          "most headers of a request; more are answered 431");
  public static final Setting<Integer> CONCURRENT_REQUESTS_MAX =
      Setting.integer(
          "PAYRELAY_INGEST_CONCURRENT_REQUESTS_MAX",
          "256",
          1,
          10_000,
          "verified requests that wait for their commit; more are answered 503");
  public static final Setting<Integer> PROVIDER_REQUESTS_MAX =
      Setting.integer(
          "PAYRELAY_INGEST_PROVIDER_REQUESTS_MAX",
          "192",
          1,
          10_000,
          "those of one provider; more are answered 429");
  public static final Setting<Integer> CONNECTIONS_MAX =
      Setting.integer(
          "PAYRELAY_INGEST_CONNECTIONS_MAX",
          "2000",
          8,
          100_000,
          "open connections of senders; for one more those that wait longest are closed");
  public static final Setting<Duration> READ_TIMEOUT =
      Setting.millis(
          "PAYRELAY_INGEST_READ_TIMEOUT_MS",
          "10000",
          100,
          300_000,
          "how long the headers, and then the body, of one request may take; idle connections are"
              + " closed after it too");
  public static final Setting<Duration> DATABASE_WAIT =
      Setting.millis(
          "PAYRELAY_INGEST_DATABASE_WAIT_MS",
          "1000",
          250,
          60_000,
          "how long a request waits for a database connection before it is answered 503");
  public static final Setting<Duration> STATEMENT_TIMEOUT =
      Setting.millis(
          "PAYRELAY_INGEST_STATEMENT_TIMEOUT_MS",
          "5000",
          100,
          60_000,
          "how long one statement may take, waiting for a locked payment included, before the"
              + " request is answered 503");
  public static final Setting<Duration> STOP_TIMEOUT =
      Setting.millis(
          "PAYRELAY_INGEST_STOP_TIMEOUT_MS",
          "10000",
          0,
          300_000,
          "how long running requests may take to finish when the process stops");
  public static final Setting<Duration> PARK_DELAY_FIRST =
      Setting.millis(
          "PAYRELAY_INGEST_PARK_DELAY_FIRST_MS",
          "500",
          1,
          600_000,
          "when an event without its payment is looked at again; doubles each time");
  public static final Setting<Duration> PARK_DELAY_MAX =
      Setting.millis(
          "PAYRELAY_INGEST_PARK_DELAY_MAX_MS",
          "300000",
          1,
          86_400_000,
          "longest delay between two looks");
  public static final Setting<Duration> PARK_LIMIT =
      Setting.millis(
          "PAYRELAY_INGEST_PARK_LIMIT_MS",
          "3600000",
          1,
          2_592_000_000L,
          "after this an event without its payment becomes an exception case");
  public static final Setting<Duration> MATCH_INTERVAL =
      Setting.millis(
          "PAYRELAY_INGEST_MATCH_INTERVAL_MS",
          "500",
          10,
          600_000,
          "how often parked events that are due are looked for");

  public static final Setting<Integer> RETENTION_DAYS =
      Setting.integer(
          "PAYRELAY_WEBHOOK_RETENTION_DAYS",
          "90",
          0,
          36_500,
          "after so many days the bodies and headers of settled webhook events are wiped; 0: never");

  /** All of them. */
  public static final List<Setting<?>> SETTINGS =
      List.of(
          HOST,
          PORT,
          BODY_BYTES_MAX,
          BUFFERED_BYTES_MAX,
          HEADER_BYTES_MAX,
          HEADERS_MAX,
          CONCURRENT_REQUESTS_MAX,
          PROVIDER_REQUESTS_MAX,
          CONNECTIONS_MAX,
          READ_TIMEOUT,
          DATABASE_WAIT,
          STATEMENT_TIMEOUT,
          STOP_TIMEOUT,
          PARK_DELAY_FIRST,
          PARK_DELAY_MAX,
          PARK_LIMIT,
          MATCH_INTERVAL,
          RETENTION_DAYS);

  /** Reads the checked settings. */
  public static IngestConfig from(Settings settings) {
    return new IngestConfig(
        settings.read(HOST),
        settings.read(PORT),
        settings.read(BODY_BYTES_MAX),
        settings.read(BUFFERED_BYTES_MAX),
        settings.read(HEADER_BYTES_MAX),
        settings.read(HEADERS_MAX),
        settings.read(CONCURRENT_REQUESTS_MAX),
        settings.read(PROVIDER_REQUESTS_MAX),
        settings.read(CONNECTIONS_MAX),
        settings.read(READ_TIMEOUT),
        settings.read(DATABASE_WAIT),
        settings.read(STATEMENT_TIMEOUT),
        settings.read(STOP_TIMEOUT),
        new ParkSchedule(
            settings.read(PARK_DELAY_FIRST),
            settings.read(PARK_DELAY_MAX),
            settings.read(PARK_LIMIT)),
        settings.read(MATCH_INTERVAL),
        settings.read(RETENTION_DAYS));
  }
}

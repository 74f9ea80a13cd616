package io.payrelay.webhook;

import static java.nio.charset.StandardCharsets.US_ASCII;

import com.standardwebhooks.Webhook;
import io.payrelay.localstack.TestDatabase;
import io.payrelay.localstack.TestInfra;
import io.payrelay.platform.config.Secret;
import io.payrelay.platform.config.Settings;
import io.payrelay.platform.database.DatabaseConfig;
import io.payrelay.platform.telemetry.Telemetry;
import io.payrelay.platform.telemetry.TelemetryConfig;
import io.payrelay.providers.WebhookAdapter;
import io.payrelay.providers.generic.GenericWebhookConfig;
import io.payrelay.providers.generic.GenericWebhooks;
import io.payrelay.schemas.EventCatalogue;
import io.payrelay.schemas.Migrations;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.sql.SQLException;
import java.time.Duration;
import java.time.InstantSource;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;
import javax.sql.DataSource;
import org.jdbi.v3.core.Jdbi;
import org.postgresql.ds.PGSimpleDataSource;

/** A migrated database and a running ingest over it, and the provider that sends to it. */
final class IngestFixture implements AutoCloseable {

  static final String OLD_SECRET =
      "whsec_"
          + Base64.getEncoder()
              .encodeToString("an old secret of 32 bytes length".getBytes(US_ASCII));
  static final String SECRET =
      "whsec_"
          + Base64.getEncoder()
              .encodeToString("a fresh secret of 32 bytes size!".getBytes(US_ASCII));

  static final int POOL = 8;

  private static final AtomicInteger IDS = new AtomicInteger();

  final String url;
  final String login;
  final DataSource connections;
  final Jdbi owner;
  final WebhookIngest ingest;
  final Telemetry telemetry;
  private final HttpClient http =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

  private IngestFixture(
      String url, String login, DataSource connections, WebhookIngest ingest, Telemetry telemetry) {
    this.url = url;
    this.login = login;
    this.connections = connections;
    this.owner = Jdbi.create(connections);
    this.ingest = ingest;
    this.telemetry = telemetry;
  }

  static IngestFixture start() {
    return start(Map.of(), IngestFaults.NONE);
  }

  static IngestFixture start(Map<String, String> environment, IngestFaults faults) {
    return start(environment, faults, List.of(adapter()));
  }

  static IngestFixture start(
      Map<String, String> environment, IngestFaults faults, List<WebhookAdapter> adapters) {
    TestDatabase database = TestInfra.shared().newDatabase();
    return start(
        database.jdbcUrl(), database.user(), database.password(), environment, faults, adapters);
  }

  static IngestFixture start(
      String url,
      String user,
      String password,
      Map<String, String> environment,
      IngestFaults faults) {
    return start(url, user, password, environment, faults, List.of(adapter()));
  }

  private static IngestFixture start(
      String url,
      String user,
      String password,
      Map<String, String> environment,
      IngestFaults faults,
      List<WebhookAdapter> adapters) {
    PGSimpleDataSource source = new PGSimpleDataSource();
    source.setUrl(url);
    source.setUser(user);
    source.setPassword(password);
    Jdbi owner = Jdbi.create(source);
    String login = "ingest_" + Long.toHexString(System.nanoTime());
    try {
      Migrations.migrate(source, EventCatalogue.builtIn());
    } catch (SQLException e) {
      throw new IllegalStateException(e);
    }
    owner.useHandle(
        handle -> {
          handle.execute("SELECT payrelay.open_for_upstreams()");
          handle.execute(
              "CREATE ROLE " + login + " LOGIN PASSWORD 'ingest' IN ROLE payrelay_ingest");
        });
    Telemetry telemetry = Telemetry.start(new TelemetryConfig("127.0.0.1", 0));
    WebhookIngest ingest = start(url, login, environment, faults, adapters, telemetry);
    return new IngestFixture(url, login, source, ingest, telemetry);
  }

  /** An ingest over a database that is there, under a login that is there. */
  static WebhookIngest start(
      String url,
      String login,
      Map<String, String> environment,
      IngestFaults faults,
      List<WebhookAdapter> adapters,
      Telemetry telemetry) {
    Map<String, String> variables = new HashMap<>(environment);
    variables.putIfAbsent("PAYRELAY_INGEST_PORT", "0");
    // A loaded machine is no outage: tests of that set their own.
    variables.putIfAbsent("PAYRELAY_INGEST_DATABASE_WAIT_MS", "10000");
    variables.putIfAbsent("PAYRELAY_INGEST_PARK_DELAY_FIRST_MS", "20");
    variables.putIfAbsent("PAYRELAY_INGEST_MATCH_INTERVAL_MS", "20");
    IngestConfig config =
        IngestConfig.from(Settings.check(variables, IngestConfig.SETTINGS, IngestConfig.SETTINGS));
    return WebhookIngest.start(
        config,
        new DatabaseConfig(url, login, new Secret("ingest"), POOL, Duration.ofSeconds(5)),
        adapters,
        telemetry,
        InstantSource.system(),
        new Random(1),
        faults);
  }

  static WebhookAdapter adapter() {
    return new GenericWebhooks(
        new GenericWebhookConfig(
            "simulator",
            List.of(new Secret(OLD_SECRET), new Secret(SECRET)),
            Duration.ofMinutes(5),
            false));
  }

  /** A new payment of 19.99 EUR, as an upstream service asks for it. */
  String payment() {
    return payment("pay_" + IDS.incrementAndGet() + "_" + Long.toHexString(System.nanoTime()));
  }

  String payment(String paymentId) {
    return payment(paymentId, "simulator");
  }

  String payment(String paymentId, String provider) {
    owner.useHandle(
        handle ->
            handle
                .createQuery(
                    """
                    SELECT payrelay.request_payment(:id, 'shop', :id, :provider, 1999, 'EUR',
                      payee_account => 'acct_1', trace_id => 'trace_1')
                    """)
                .bind("provider", provider)
                .bind("id", paymentId)
                .mapTo(String.class)
                .one());
    return paymentId;
  }

  static String event(String type, String paymentId) {
    return event(type, paymentId, "ch_" + paymentId, 1999, "EUR");
  }

  static String event(
      String type, String paymentId, String charge, long amountMinor, String currency) {
    return """
        {"type":"%s","timestamp":"%s","data":{"id":"%s","merchant_transaction_id":"%s",
        "status":"whatever","amount":%d,"currency":"%s","payee_account":"acct_1",
        "failure_code":null,"refund_id":"re_1","refund_amount":%d,"dispute_id":"dp_1",
        "dispute_amount":%d}}"""
        .formatted(
            type,
            InstantSource.system().instant(),
            charge,
            paymentId,
            amountMinor,
            currency,
            amountMinor,
            amountMinor);
  }

  static String newEventId() {
    return "evt_" + IDS.incrementAndGet() + "_" + Long.toHexString(System.nanoTime());
  }

  /** Signs and sends, and returns the status. */
  int send(String eventId, String body) {
    return send(signed(SECRET, eventId, 0, body), body);
  }

  int send(Map<String, String> headers, String body) {
    return send("simulator", headers, body).statusCode();
  }

  HttpResponse<String> send(String provider, Map<String, String> headers, String body) {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(uri("/webhooks/" + provider))
            .timeout(Duration.ofSeconds(20))
            .POST(HttpRequest.BodyPublishers.ofString(body));
    headers.forEach(request::setHeader);
    return exchange(request.build());
  }

  HttpResponse<String> exchange(HttpRequest request) {
    try {
      return http.send(request, HttpResponse.BodyHandlers.ofString());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException(e);
    }
  }

  URI uri(String path) {
    return URI.create("http://127.0.0.1:" + ingest.port() + path);
  }

  static Map<String, String> signed(
      String secret, String eventId, long offsetSeconds, String body) {
    long timestamp = InstantSource.system().instant().getEpochSecond() + offsetSeconds;
    try {
      Map<String, String> headers = new HashMap<>();
      headers.put("webhook-id", eventId);
      headers.put("webhook-timestamp", Long.toString(timestamp));
      headers.put("webhook-signature", new Webhook(secret).sign(eventId, timestamp, body));
      return headers;
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }

  /** What the process shows under that path of its telemetry port. */
  String telemetry(String path) {
    return exchange(
            HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + telemetry.port() + path))
                .build())
        .body();
  }

  /** How many were refused for it: shown as zero from the start. */
  double refused(String provider, String reason) {
    String start =
        "payrelay_webhook_refused_total{provider=\"%s\",reason=\"%s\"} "
            .formatted(provider, reason);
    return telemetry("/metrics")
        .lines()
        .filter(line -> line.startsWith(start))
        .mapToDouble(line -> Double.parseDouble(line.substring(start.length())))
        .sum();
  }

  String status(String paymentId) {
    return text("SELECT status FROM payrelay.payment WHERE payment_id = ?", paymentId);
  }

  String disposition(String eventId) {
    return text("SELECT disposition FROM payrelay.provider_event WHERE event_id = ?", eventId);
  }

  String text(String sql, Object... arguments) {
    return owner.withHandle(
        handle -> handle.select(sql, arguments).mapTo(String.class).findOne().orElse("none"));
  }

  void execute(String sql, Object... arguments) {
    owner.useHandle(handle -> handle.execute(sql, arguments));
  }

  long count(String sql, Object... arguments) {
    return owner.withHandle(handle -> handle.select(sql, arguments).mapTo(Long.class).one());
  }

  List<String> texts(String sql, Object... arguments) {
    return owner.withHandle(handle -> handle.select(sql, arguments).mapTo(String.class).list());
  }

  List<String> cases(String paymentId) {
    return texts(
        "SELECT kind FROM payrelay.exception_case WHERE payment_id = ? ORDER BY kind", paymentId);
  }

  List<String> statusEvents(String paymentId) {
    return texts(
        """
        SELECT payload ->> 'status' FROM payrelay.outbox
        WHERE aggregate_id = ? AND event_type = 'PaymentStatusChanged'
        ORDER BY (payload ->> 'version')::bigint
        """,
        paymentId);
  }

  /** What the ledger says was captured of a payment, suspense included. */
  long capturedMinor(String paymentId) {
    return count(
        """
        SELECT coalesce(sum(e.amount_minor), 0) FROM payrelay.ledger_posting p
        JOIN payrelay.ledger_entry e USING (posting_id)
        WHERE p.payment_id = ? AND p.kind IN ('CAPTURE', 'SUSPENSE_CAPTURE') AND e.side = 'DEBIT'
        """,
        paymentId);
  }

  @Override
  public void close() {
    ingest.close();
    telemetry.close();
  }
}

package io.payrelay.workbench.bench;

import io.payrelay.platform.errors.Category;
import io.payrelay.platform.errors.PayrelayException;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.BitSet;
import java.util.List;
import java.util.Map;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/**
 * A webhook-ingest in a process of its own, the pending payments it is told of, the requests that
 * tell it, and what the database says afterwards. Safe for any thread once prepared.
 */
final class WebhookSubject {

  private static final Duration READY_LIMIT = Duration.ofSeconds(60);
  private static final String ALGORITHM = "HmacSHA256";
  private static final int NUMBER_PLACE = "pay_bench_".length();

  private final BenchServers servers;
  private final List<String> javaOptions;
  private final SecretKeySpec key;

  WebhookSubject(BenchServers servers, List<String> furtherJavaOptions) {
    this.servers = servers;
    this.javaOptions = new ArrayList<>(List.of(PayrelaySubject.HEAP, "-XX:+UseSerialGC"));
    this.javaOptions.addAll(furtherJavaOptions);
    String secret = PaymentParts.WEBHOOK_SECRET.substring("whsec_".length());
    this.key = new SecretKeySpec(Base64.getDecoder().decode(secret), ALGORITHM);
  }

  /** Tables, logins, and that many payments that a provider works on. */
  void prepare(int payments) {
    servers.migrate();
    servers.execute(
        """
        INSERT INTO payrelay.payment (payment_id, merchant, merchant_order_id, provider, amount_minor,
          currency, payee_account, trace_id)
        SELECT 'pay_bench_' || to_char(n, 'FM00000000'), 'bench-shop', 'order-' || n, 'simulator', 1999,
          'EUR', 'acct_bench', 'trace-bench-' || n
        FROM generate_series(0, %d - 1) n
        """
            .formatted(payments));
    servers.execute("UPDATE payrelay.payment SET status = 'PENDING', version = 2");
    servers.execute("VACUUM ANALYZE payrelay.payment");
    servers.execute("CHECKPOINT");
  }

  BenchProcess start() {
    Map<String, String> environment = servers.login("bench_ingest", "payrelay_ingest");
    environment.put("PAYRELAY_INGEST_PORT", "0");
    environment.put("PAYRELAY_PROVIDER_NAME", "simulator");
    environment.put("PAYRELAY_PROVIDER_WEBHOOK_SECRETS", PaymentParts.WEBHOOK_SECRET);
    return BenchProcess.ours(servers.folder(), javaOptions, environment, "webhook-ingest");
  }

  /** The port of the process, once it is ready. */
  static int port(BenchProcess process) {
    for (String word : process.awaitLine("ready ", READY_LIMIT).split(" ", -1)) {
      if (word.startsWith("port=")) {
        return Integer.parseInt(word.substring("port=".length()));
      }
    }
    throw process.failed("names no port");
  }

  /** The whole request that tells of the payment with that number, signed now. */
  byte[] request(int number, long nowS, Mac mac) {
    String id = "evt_bench_%08d".formatted(number);
    String body =
        """
        {"type":"charge.succeeded","timestamp":"2026-01-01T00:00:00Z","data":{"id":"ch_bench_%1$08d",\
        "merchant_transaction_id":"pay_bench_%1$08d","status":"succeeded","amount":1999,"currency":"EUR",\
        "payee_account":"acct_bench","failure_code":null}}"""
            .formatted(number);
    mac.update((id + "." + nowS + "." + body).getBytes(StandardCharsets.UTF_8));
    String signature = Base64.getEncoder().encodeToString(mac.doFinal());
    return ("POST /webhooks/simulator HTTP/1.1\r\nHost: bench\r\nContent-Type: application/json\r\n"
            + "User-Agent: bench\r\nwebhook-id: "
            + id
            + "\r\nwebhook-timestamp: "
            + nowS
            + "\r\nwebhook-signature: v1,"
            + signature
            + "\r\nContent-Length: "
            + body.length()
            + "\r\n\r\n"
            + body)
        .getBytes(StandardCharsets.UTF_8);
  }

  /** A signer for one thread. */
  Mac mac() {
    try {
      Mac mac = Mac.getInstance(ALGORITHM);
      mac.init(key);
      return mac;
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException("every Java platform has " + ALGORITHM, e);
    }
  }

  /** Numbers of the events that are stored as applied. */
  BitSet stored() {
    return numbers(
        "SELECT 'pay_bench_' || right(event_id, 8) FROM payrelay.provider_event"
            + " WHERE disposition = 'APPLIED'");
  }

  /** Numbers of the payments that are confirmed, booked once, and told of once. */
  BitSet confirmed() {
    return numbers(
        """
        SELECT p.payment_id FROM payrelay.payment p
        JOIN (SELECT payment_id FROM payrelay.ledger_posting WHERE kind = 'CAPTURE'
          GROUP BY payment_id HAVING count(*) = 1) booked USING (payment_id)
        JOIN (SELECT aggregate_id FROM payrelay.outbox WHERE payload ->> 'status' = 'SUCCEEDED'
          GROUP BY aggregate_id HAVING count(*) = 1) told ON told.aggregate_id = p.payment_id
        WHERE p.status = 'SUCCEEDED'
        """);
  }

  private BitSet numbers(String sql) {
    BitSet numbers = new BitSet();
    try (Connection connection = servers.connect();
        Statement statement = connection.createStatement()) {
      // The tables were filled a moment ago and never analysed: loops over them would take hours.
      statement.execute("SET enable_nestloop = off");
      try (ResultSet rows = statement.executeQuery(sql)) {
        while (rows.next()) {
          numbers.set(Integer.parseInt(rows.getString(1).substring(NUMBER_PLACE)));
        }
      }
      return numbers;
    } catch (SQLException e) {
      throw new PayrelayException(Category.FATAL, "The result cannot be read", e);
    }
  }
}

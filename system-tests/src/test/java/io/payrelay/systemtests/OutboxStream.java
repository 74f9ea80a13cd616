package io.payrelay.systemtests;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.fail;

import io.payrelay.app.Parts;
import io.payrelay.localstack.LocalStack;
import io.payrelay.localstack.OutboxAudit;
import io.payrelay.schemas.Topic;
import io.payrelay.workbench.DatabaseUsers;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.UUID;
import java.util.function.BooleanSupplier;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.jdbi.v3.core.Handle;
import org.jdbi.v3.core.Jdbi;

/** Outbox and topics of one stack: a steady trickle of rows, and what a consumer sees of it. */
final class OutboxStream implements AutoCloseable {

  private static final Duration POLL = Duration.ofMillis(20);

  private final LocalStack infra;
  private final OutboxAudit audit;
  private final Handle owner;
  private long number;
  private long newestMs;
  private long deadLetters;

  private OutboxStream(LocalStack infra, OutboxAudit audit, Handle owner) {
    this.infra = infra;
    this.audit = audit;
    this.owner = owner;
  }

  /** Migrates, and begins to read. */
  static OutboxStream prepare(LocalStack infra) {
    String user = infra.postgres().user();
    Parts.migrate(environment(infra, user, Map.of()));
    DatabaseUsers.create(infra.postgres().jdbcUrl(), user);
    OutboxAudit audit =
        new OutboxAudit(
            infra.postgres().jdbcUrl(),
            user,
            infra.kafka().bootstrapServers(),
            Topic.all().stream().map(Topic::name).toList(),
            read -> OptionalLong.of(OutboxAudit.eventId(read).getLeastSignificantBits()));
    return new OutboxStream(infra, audit, Jdbi.open(infra.postgres().jdbcUrl(), user, ""));
  }

  /** What a relay process needs; its name shows in the lease. */
  Map<String, String> relay(String name) {
    return environment(infra, DatabaseUsers.RELAY, Map.of("PAYRELAY_RELAY_INSTANCE_NAME", name));
  }

  /** The name of the relay that holds the lease; empty: none. */
  String activeRelay() {
    return owner
        .createQuery(
            "SELECT split_part(owner, '#', 1) FROM payrelay.relay_owner WHERE lease_until > clock_timestamp()")
        .mapTo(String.class)
        .findOne()
        .orElse("");
  }

  /** One committed row. */
  void insert() {
    insert(1, "{}");
  }

  /** One transaction of so many rows; the text is put into each. */
  void insert(int rows, String filler) {
    owner
        .createUpdate(
            """
            INSERT INTO payrelay.outbox (event_id, aggregate_type, aggregate_id, event_type, payload)
            SELECT (repeat('0', 16) || lpad(to_hex(n), 16, '0'))::uuid, 'payment', 'a-' || n % 7, 'ChargeRequested',
              json_build_object('payment_id', 'p', 'merchant', 'm', 'merchant_order_id', :filler, 'provider', 'none',
                'amount_minor', n, 'currency', 'EUR')
            FROM generate_series(:first, :last) n ORDER BY n
            """)
        .bind("filler", filler)
        .bind("first", number + 1)
        .bind("last", number + rows)
        .execute();
    number += rows;
  }

  /** Writes a row now and then, and reads, until it holds. */
  void trickleUntil(Duration limit, BooleanSupplier condition) {
    readUntil(
        limit,
        () -> {
          insert();
          return condition.getAsBoolean();
        });
  }

  /** Reads until it holds. */
  void readUntil(Duration limit, BooleanSupplier condition) {
    long deadlineNs = System.nanoTime() + limit.toNanos();
    while (!condition.getAsBoolean()) {
      if (System.nanoTime() > deadlineNs) {
        fail("nothing of it within %s; %d events came", limit, audit.events());
      }
      int unused = audit.poll(POLL, this::seen);
    }
  }

  /** When the newest record was published that a read_committed consumer has seen. */
  long newestMs() {
    return newestMs;
  }

  long events() {
    return audit.events();
  }

  /** Reads to the end: each row once, in order. */
  long assertEachRowCameOnceInOrder(Duration limit) {
    Set<UUID> rows = audit.rows();
    readUntil(limit, () -> audit.events() >= rows.size() && audit.atEnd());
    OutboxAudit.Verdict verdict = audit.verdict(rows);
    assertThat(verdict.clean()).as("%s", verdict).isTrue();
    assertThat(deadLetters).as("none of them is poison").isZero();
    return verdict.rows();
  }

  @Override
  public void close() {
    owner.close();
    audit.close();
  }

  private void seen(ConsumerRecord<byte[], byte[]> read) {
    newestMs = Math.max(newestMs, read.timestamp());
    deadLetters += read.topic().equals(Topic.DEAD_LETTER) ? 1 : 0;
  }

  /** What a process of that user needs, beside its own settings. */
  static Map<String, String> environment(
      LocalStack infra, String user, Map<String, String> settings) {
    Map<String, String> environment = new HashMap<>(settings);
    environment.put("PAYRELAY_DATABASE_URL", infra.postgres().jdbcUrl());
    environment.put("PAYRELAY_DATABASE_USER", user);
    environment.put("PAYRELAY_KAFKA_BOOTSTRAP_SERVERS", infra.kafka().bootstrapServers());
    return environment;
  }
}

package io.payrelay.chargeworker;

import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.payrelay.localstack.TestDatabase;
import io.payrelay.localstack.TestInfra;
import io.payrelay.payments.lifecycle.Fact;
import io.payrelay.payments.lifecycle.FactSource;
import io.payrelay.payments.lifecycle.Observation;
import io.payrelay.payments.lifecycle.Payment;
import io.payrelay.payments.lifecycle.PaymentStatus;
import io.payrelay.payments.lifecycle.Refund;
import io.payrelay.payments.money.Money;
import io.payrelay.payments.store.FactStore;
import io.payrelay.payments.store.PaymentStore;
import io.payrelay.payments.store.RefundStore;
import io.payrelay.platform.config.Secret;
import io.payrelay.platform.config.Settings;
import io.payrelay.platform.database.Database;
import io.payrelay.platform.database.DatabaseConfig;
import io.payrelay.platform.kafka.KafkaConfig;
import io.payrelay.providers.PaymentProvider;
import io.payrelay.providers.generic.GenericConfig;
import io.payrelay.providers.generic.GenericProvider;
import io.payrelay.schemas.EncodingException;
import io.payrelay.schemas.EventCatalogue;
import io.payrelay.schemas.EventCodec;
import io.payrelay.schemas.Migrations;
import io.payrelay.schemas.Topic;
import io.payrelay.simulator.ProviderSimulator;
import io.payrelay.simulator.SimulatedCharge;
import io.payrelay.simulator.SimulatorConfig;
import java.io.IOException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.UUID;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.jdbi.v3.core.ConnectionFactory;
import org.jdbi.v3.core.Handle;
import org.jdbi.v3.core.Jdbi;
import org.postgresql.ds.PGSimpleDataSource;

/**
 * One database and one broker for all tests of this module, and a provider of its own for each
 * test: a worker claims only the operations of the providers it knows. Belongs to the test's
 * thread.
 */
final class ChargeFixture implements AutoCloseable {

  static final String GROUP = "charge-worker-test";

  static final String API_KEY = "sk_test_simulator";
  private static Shared started;

  final String provider = "sim-" + UUID.randomUUID().toString().substring(0, 8);
  final MeterRegistry registry = new SimpleMeterRegistry();
  private final Shared shared;
  private final List<Runnable> opened = new ArrayList<>();
  private final EventCodec codec = new EventCodec(EventCatalogue.builtIn());

  private record Shared(
      Jdbi admin,
      DatabaseConfig login,
      Database worker,
      KafkaConfig kafka,
      Producer<byte[], byte[]> producer) {}

  ChargeFixture() throws Exception {
    shared = shared();
  }

  private static synchronized Shared shared() throws Exception {
    if (started == null) {
      started = start();
    }
    return started;
  }

  private static Shared start() throws Exception {
    TestDatabase database = TestInfra.shared().newDatabase();
    PGSimpleDataSource owner = new PGSimpleDataSource();
    owner.setUrl(database.jdbcUrl());
    owner.setUser(database.user());
    owner.setPassword(database.password());
    Migrations.migrate(owner, EventCatalogue.builtIn());
    Jdbi admin = Jdbi.create(owner);
    String login = "worker_" + database.name();
    admin.useHandle(
        handle -> {
          handle.execute("SELECT payrelay.open_for_upstreams()");
          handle.execute("CREATE ROLE " + login + " LOGIN PASSWORD 'w' IN ROLE payrelay_worker");
        });
    DatabaseConfig config =
        new DatabaseConfig(database.jdbcUrl(), login, new Secret("w"), 8, Duration.ofSeconds(5));
    Database worker = Database.open(config, "charge-worker-test");
    KafkaConfig kafka = new KafkaConfig(TestInfra.shared().bootstrapServers(), Map.of());
    createTopics(kafka);
    return new Shared(
        admin,
        config,
        worker,
        kafka,
        new KafkaProducer<>(
            kafka.clientProperties("test"), new ByteArraySerializer(), new ByteArraySerializer()));
  }

  private static void createTopics(KafkaConfig kafka)
      throws ExecutionException, InterruptedException {
    try (Admin client = Admin.create(kafka.clientProperties("test-admin"))) {
      client
          .createTopics(
              List.of(
                  new NewTopic(Topic.CHARGE_REQUESTS, 12, (short) 1),
                  new NewTopic(Topic.REFUND_REQUESTS, 12, (short) 1),
                  new NewTopic(Topic.DEAD_LETTER, 1, (short) 1)))
          .all()
          .get();
    }
  }

  SimulatorConfig.Builder simulatorConfig() {
    return SimulatorConfig.builder().apiKey(API_KEY);
  }

  ProviderSimulator simulator(SimulatorConfig.Builder config) {
    ProviderSimulator simulator = ProviderSimulator.start(config.build());
    opened.add(simulator::close);
    return simulator;
  }

  GenericProvider provider(URI url, Duration keyLifetime, Duration queryLag) {
    GenericProvider made =
        new GenericProvider(
            new GenericConfig(
                provider,
                url,
                new Secret(API_KEY),
                Duration.ofSeconds(2),
                keyLifetime,
                queryLag,
                true),
            InstantSource.system());
    opened.add(made::close);
    return made;
  }

  /** Whoever loses an answer of this one can only call again. */
  GenericProvider providerWithoutQueries(ProviderSimulator simulator) {
    GenericProvider made =
        new GenericProvider(
            new GenericConfig(
                provider,
                simulator.baseUrl(),
                new Secret(API_KEY),
                Duration.ofSeconds(2),
                Duration.ofHours(24),
                Duration.ZERO,
                false),
            InstantSource.system());
    opened.add(made::close);
    return made;
  }

  StubProvider stub() throws IOException {
    StubProvider stub = new StubProvider();
    opened.add(stub::close);
    return stub;
  }

  GenericProvider provider(StubProvider stub) {
    return provider(stub.url(), Duration.ofHours(24), Duration.ZERO);
  }

  GenericProvider provider(ProviderSimulator simulator) {
    return provider(simulator.baseUrl(), Duration.ofHours(24), Duration.ZERO);
  }

  ChargeWorker worker(PaymentProvider to, Map<String, String> settings) {
    return worker(to, settings, ChargeFaults.NONE, Map.of());
  }

  ChargeWorker worker(
      PaymentProvider to,
      Map<String, String> settings,
      ChargeFaults faults,
      Map<String, String> kafkaExtra) {
    return worker(List.of(to), settings, faults, kafkaExtra, InstantSource.system());
  }

  ChargeWorker worker(
      List<PaymentProvider> to,
      Map<String, String> settings,
      ChargeFaults faults,
      Map<String, String> kafkaExtra,
      InstantSource clock) {
    Map<String, String> environment = new HashMap<>();
    environment.put("PAYRELAY_CHARGE_GROUP_ID", GROUP);
    environment.put("PAYRELAY_CHARGE_POLL_INTERVAL_MS", "20");
    environment.put("PAYRELAY_CHARGE_STOP_LIMIT_MS", "2000");
    settings.forEach((name, value) -> environment.put("PAYRELAY_CHARGE_" + name, value));
    ChargeWorker worker =
        ChargeWorker.start(
            ChargeConfig.from(
                Settings.check(environment, ChargeConfig.SETTINGS, ChargeConfig.SETTINGS)),
            new ChargeDependencies(
                new KafkaConfig(shared.kafka().bootstrapServers(), kafkaExtra),
                shared.worker().jdbi(),
                EventCatalogue.builtIn(),
                to,
                registry,
                clock,
                new Random(),
                faults));
    opened.add(worker::close);
    return worker;
  }

  /** A worker whose database is away; it tries again without pauses. */
  ChargeWorker workerWithoutDatabase(GenericProvider to) {
    ConnectionFactory away =
        () -> {
          throw new SQLException("away", "08001");
        };
    ChargeWorker worker =
        ChargeWorker.start(
            ChargeConfig.from(
                Settings.check(Map.of(), ChargeConfig.SETTINGS, ChargeConfig.SETTINGS)),
            new ChargeDependencies(
                shared.kafka(),
                Jdbi.create(away),
                EventCatalogue.builtIn(),
                List.of(to),
                new SimpleMeterRegistry(),
                InstantSource.system(),
                () -> 0,
                ChargeFaults.NONE));
    opened.add(worker::close);
    return worker;
  }

  /** Writes a payment and sends its event, as upstream and relay do. */
  String pay(String paymentMethod) throws EncodingException {
    String id = newId();
    insert(id, paymentMethod);
    send(id);
    return id;
  }

  /** Many payments, whose events come as fast as they can. */
  List<String> payAll(int count, String paymentMethod) throws EncodingException {
    List<String> ids = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      ids.add(newId());
    }
    shared
        .admin()
        .useTransaction(
            tx ->
                ids.forEach(
                    id -> insert(tx, id, "{\"payment_method\": \"" + paymentMethod + "\"}")));
    List<Future<?>> sent = new ArrayList<>();
    for (String id : ids) {
      sent.add(shared.producer().send(event(id, encode(id, 1200), null)));
    }
    sent.forEach(ChargeFixture::await);
    return ids;
  }

  static String newId() {
    return UUID.randomUUID().toString().replace("-", "");
  }

  void insert(String id, String paymentMethod) {
    insertRow(id, "{\"payment_method\": \"%s\"}".formatted(paymentMethod));
  }

  void insertRow(String id, String providerData) {
    shared.admin().useHandle(handle -> insert(handle, id, providerData));
  }

  private void insert(Handle handle, String id, String providerData) {
    handle
        .createQuery(
            """
            SELECT payrelay.request_payment(:id, 'shop', :id, :provider, 1200, 'USD', 'acct_1',
              provider_data => :data::jsonb, trace_id => 'trace-1')
            """)
        .bind("id", id)
        .bind("provider", provider)
        .bind("data", providerData)
        .mapTo(String.class)
        .one();
  }

  void send(String id) throws EncodingException {
    send(id, 1200, null);
  }

  void send(String id, long amountMinor, Integer partition) throws EncodingException {
    sendBytes(id, encode(id, amountMinor), partition);
  }

  /** An event of the payment that names other terms, whatever the row says. */
  void sendNaming(String id, String provider, long amountMinor, String currency)
      throws EncodingException {
    sendBytes(id, encode(id, provider, amountMinor, currency), null);
  }

  void sendBytes(String key, byte[] value, Integer partition) {
    await(shared.producer().send(event(key, value, partition)));
  }

  private byte[] encode(String id, long amountMinor) throws EncodingException {
    return encode(id, provider, amountMinor, "USD");
  }

  private byte[] encode(String id, String named, long amountMinor, String currency)
      throws EncodingException {
    return codec.encode(
        "ChargeRequested",
        """
        {"payment_id":"%s","merchant":"shop","merchant_order_id":"%s","provider":"%s",
        "amount_minor":%d,"currency":"%s","trace_id":"trace-1"}"""
            .formatted(id, id, named, amountMinor, currency));
  }

  private static ProducerRecord<byte[], byte[]> event(String key, byte[] value, Integer partition) {
    ProducerRecord<byte[], byte[]> event =
        new ProducerRecord<>(
            Topic.CHARGE_REQUESTS, partition, key.getBytes(StandardCharsets.UTF_8), value);
    event.headers().add("ce_type", "ChargeRequested".getBytes(StandardCharsets.UTF_8));
    return event;
  }

  private static void await(Future<?> sent) {
    try {
      sent.get();
    } catch (InterruptedException | ExecutionException e) {
      throw new IllegalStateException("the test's event cannot be sent", e);
    }
  }

  /** How many of the payments have that status. */
  long count(List<String> ids, PaymentStatus status) {
    return workerJdbi()
        .withHandle(
            handle ->
                handle
                    .createQuery(
                        """
                        SELECT count(*) FROM payrelay.payment
                        WHERE payment_id = ANY (:ids) AND status = :status
                        """)
                    .bindArray("ids", String.class, ids)
                    .bind("status", status.name())
                    .mapTo(Long.class)
                    .one());
  }

  /** What a worker in a process of its own logs in with. */
  DatabaseConfig login() {
    return shared.login();
  }

  KafkaConfig kafka() {
    return shared.kafka();
  }

  Jdbi workerJdbi() {
    return shared.worker().jdbi();
  }

  /** Runs statements as the owner of the schema. */
  void asOwner(String sql) {
    shared.admin().useHandle(handle -> handle.execute(sql));
  }

  /** A session of the owner of the schema. */
  Handle openAsOwner() {
    return shared.admin().open();
  }

  Payment payment(String id) {
    return workerJdbi().withHandle(handle -> new PaymentStore().find(handle, id)).orElseThrow();
  }

  List<String> exceptions(String id) {
    return workerJdbi()
        .withHandle(
            handle ->
                handle
                    .createQuery(
                        "SELECT kind FROM payrelay.exception_case WHERE payment_id = :id ORDER BY 1")
                    .bind("id", id)
                    .mapTo(String.class)
                    .list());
  }

  /** One text from the database, as the worker reads it. */
  String value(String sql, String id) {
    return workerJdbi()
        .withHandle(
            handle ->
                String.valueOf(
                    handle
                        .createQuery(sql)
                        .bind("id", id)
                        .mapTo(String.class)
                        .findOne()
                        .orElse(null)));
  }

  /** Applies what somebody else saw of the payment. */
  void apply(String id, Observation observation, String transactionId) {
    boolean money = observation == Observation.SUCCEEDED;
    Fact fact =
        new Fact(
            FactSource.WEBHOOK,
            provider,
            id,
            observation,
            transactionId,
            money ? new Money(1200, "USD") : null,
            null,
            null,
            money ? null : "no",
            Instant.now(),
            Map.of());
    workerJdbi().useTransaction(tx -> new FactStore().apply(tx, List.of(fact), Instant.now()));
  }

  /** Action and outcome of each attempt, in order. */
  List<String> attempts(String id) {
    return workerJdbi()
        .withHandle(
            handle ->
                handle
                    .createQuery(
                        """
                        SELECT a.kind || ' ' || coalesce(a.outcome, '-') FROM payrelay.attempt a
                        JOIN payrelay.operation o ON o.operation_id = a.operation_id
                        WHERE o.payment_id = :id ORDER BY a.attempt_number
                        """)
                    .bind("id", id)
                    .mapTo(String.class)
                    .list());
  }

  /** The operation's next action; "none" where it is closed, "-" where there is no operation. */
  String nextAction(String id) {
    return workerJdbi()
        .withHandle(
            handle ->
                handle
                    .createQuery(
                        """
                        SELECT coalesce(next_action, 'none') FROM payrelay.operation
                        WHERE payment_id = :id
                        """)
                    .bind("id", id)
                    .mapTo(String.class)
                    .findOne()
                    .orElse("-"));
  }

  /** Asks for a refund as an upstream does; its event is sent by {@link #sendRefund}. */
  void insertRefund(String refundId, String paymentId, long amountMinor) {
    shared
        .admin()
        .useHandle(
            handle ->
                handle
                    .createQuery(
                        "SELECT payrelay.request_refund(:id, :payment_id, :amount, 'USD', trace_id => 'trace-1')")
                    .bind("id", refundId)
                    .bind("payment_id", paymentId)
                    .bind("amount", amountMinor)
                    .mapTo(String.class)
                    .one());
  }

  /** The event of a refund; provider and transaction are not named, as by a plain INSERT. */
  void sendRefund(String refundId, String paymentId, long amountMinor, Integer partition)
      throws EncodingException {
    sendRefund(refundId, paymentId, amountMinor, "USD", "", partition);
  }

  /**
   * The event of a refund with terms of its own.
   *
   * @param more further fields, from a comma on
   */
  void sendRefund(
      String refundId,
      String paymentId,
      long amountMinor,
      String currency,
      String more,
      Integer partition)
      throws EncodingException {
    byte[] value =
        codec.encode(
            "RefundRequested",
            """
            {"refund_id":"%s","payment_id":"%s","amount_minor":%d,"currency":"%s"%s}"""
                .formatted(refundId, paymentId, amountMinor, currency, more));
    ProducerRecord<byte[], byte[]> event =
        new ProducerRecord<>(
            Topic.REFUND_REQUESTS, partition, paymentId.getBytes(StandardCharsets.UTF_8), value);
    event.headers().add("ce_type", "RefundRequested".getBytes(StandardCharsets.UTF_8));
    await(shared.producer().send(event));
  }

  Refund refund(String refundId) {
    return workerJdbi()
        .withHandle(handle -> new RefundStore().find(handle, refundId))
        .orElseThrow();
  }

  /** Action and outcome of each attempt at a refund, in order. */
  List<String> refundAttempts(String refundId) {
    return workerJdbi()
        .withHandle(
            handle ->
                handle
                    .createQuery(
                        """
                        SELECT a.kind || ' ' || coalesce(a.outcome, '-') FROM payrelay.attempt a
                        JOIN payrelay.operation o ON o.operation_id = a.operation_id
                        WHERE o.refund_id = :id ORDER BY a.attempt_number
                        """)
                    .bind("id", refundId)
                    .mapTo(String.class)
                    .list());
  }

  static List<SimulatedCharge> charges(ProviderSimulator simulator, String id) {
    return simulator.charges().stream()
        .filter(charge -> charge.merchantTransactionId().equals(id))
        .toList();
  }

  @Override
  public void close() {
    for (int i = opened.size() - 1; i >= 0; i--) {
      opened.get(i).run();
    }
  }
}

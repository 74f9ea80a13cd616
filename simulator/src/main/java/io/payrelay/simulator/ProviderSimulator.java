package io.payrelay.simulator;

import io.javalin.Javalin;
import io.javalin.compression.CompressionStrategy;
import io.javalin.config.JavalinConfig;
import io.javalin.http.Context;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.time.Duration;
import java.util.List;
import org.eclipse.jetty.server.HttpConfiguration;
import org.eclipse.jetty.server.HttpConnectionFactory;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.util.thread.QueuedThreadPool;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A running payment provider on a local port. All state is in memory: a restart forgets charges and
 * keys. Thread-safe.
 */
public final class ProviderSimulator implements AutoCloseable {
  private static final Logger log = LoggerFactory.getLogger(ProviderSimulator.class);
  // Nothing blocks a request thread, so a few are enough for thousands of open calls.
  private static final int HTTP_THREADS_MAX = 16;
  private static final int HTTP_THREADS_MIN = 4;
  private static final int BACKLOG = 1024;
  private static final MoneyCalls.Refusals GENERIC_REFUSALS =
      new MoneyCalls.Refusals(
          Answer.error(429, "rate_limited"),
          Answer.error(503, "not_processed"),
          Answer.error(409, "idempotency_key_in_use"),
          Answer.error(422, "idempotency_mismatch"),
          Answer.error(500, "api_error"));
  private static final Duration IDLE_MARGIN = Duration.ofSeconds(30);

  private final SimulatorConfig config;
  private final byte[] authorization;
  private final Scripts<Fault> callScripts = new Scripts<>();
  private final Scripts<QueryFault> queryScripts = new Scripts<>();
  private final Scripts<WebhookFault> webhookScripts = new Scripts<>();
  private final Counters counters = new Counters();
  private final DelayedTasks tasks = new DelayedTasks();
  private final Ledger ledger;
  private final Refunds refunds = new Refunds();
  private final WebhookSender webhooks;
  private final Connections connections;
  private final Javalin server;

  private ProviderSimulator(SimulatorConfig config) {
    this.config = config;
    authorization = ("Bearer " + config.apiKey()).getBytes(StandardCharsets.UTF_8);
    FaultPlan plan = new FaultPlan(config.seed(), config.profile(), config.everyWebhookArrives());
    ledger = new Ledger(config.clock().instant());
    webhooks = new WebhookSender(config, plan, webhookScripts, counters, tasks);
    connections = new Connections(config.hangMax(), tasks);
    Replies replies = new Replies(tasks, config.latency());
    MoneyCalls calls = new MoneyCalls(config, connections, replies, counters, GENERIC_REFUSALS);
    ChargeApi charges =
        new ChargeApi(config, plan, callScripts, ledger, calls, webhooks, tasks, counters);
    QueryApi queries =
        new QueryApi(config, plan, queryScripts, ledger, webhooks, connections, replies, counters);
    RefundApi refunds =
        new RefundApi(
            config, plan, callScripts, ledger, this.refunds, calls, queries, webhooks, tasks,
            replies, counters);
    OracleApi oracle = new OracleApi(ledger, this.refunds, webhooks, counters);
    server =
        Javalin.create(
            javalin -> {
              configureHttp(javalin);
              javalin.routes.before("/v1/*", this::authenticate);
              javalin.routes.post("/v1/charges", charges::create);
              javalin.routes.get("/v1/charges", queries::list);
              javalin.routes.get("/v1/charges/{id}", queries::get);
              javalin.routes.post("/v1/charges/{id}/cancel", queries::cancel);
              javalin.routes.post("/v1/refunds", refunds::create);
              javalin.routes.get("/v1/refunds", refunds::list);
              javalin.routes.get("/_sim/charges", oracle::charges);
              javalin.routes.get("/_sim/refunds", oracle::refunds);
              javalin.routes.get("/_sim/stats", oracle::stats);
              javalin.routes.get("/_sim/health", oracle::health);
              javalin.routes.post("/_sim/webhooks/redeliver", oracle::redeliver);
              javalin.routes.exception(
                  InvalidRequestException.class, (e, ctx) -> Replies.send(ctx, e.answer()));
            });
  }

  /** Starts a simulator; it serves when this returns. */
  public static ProviderSimulator start(SimulatorConfig config) {
    ProviderSimulator simulator = new ProviderSimulator(config);
    try {
      simulator.server.start();
    } catch (RuntimeException e) {
      simulator.close();
      throw e;
    }
    log.info(
        "simulator started url={} seed={} profile={}",
        simulator.baseUrl(),
        config.seed(),
        config.profile());
    return simulator;
  }

  /** Where it serves, without a slash at the end. */
  public URI baseUrl() {
    return URI.create("http://" + config.host() + ":" + port());
  }

  /** The port it serves on. */
  public int port() {
    return server.port();
  }

  /** All charges in the order of their creation: the oracle. */
  public List<SimulatedCharge> charges() {
    return ledger.charges(null, Integer.MAX_VALUE);
  }

  /** All refunds in the order of their creation: the oracle of money given back. */
  public List<SimulatedRefund> refunds() {
    return refunds.refunds();
  }

  /** Counts since the start. */
  public SimulatorStats stats() {
    return counters.snapshot(ledger, refunds);
  }

  /** Sends webhooks to this address from now on; null drops them. */
  public void webhookTarget(@Nullable URI target) {
    webhooks.target(target);
  }

  /**
   * Orders faults for the next calls that move money with this merchant_transaction_id or
   * merchant_refund_id, one per call.
   */
  public void script(String merchantId, Fault... faults) {
    callScripts.add(merchantId, List.of(faults));
  }

  /** Orders faults for the next queries of this id, one per query. */
  public void scriptQueries(String merchantTransactionId, QueryFault... faults) {
    queryScripts.add(merchantTransactionId, List.of(faults));
  }

  /** Orders faults for the next webhook events of this id, one per event. */
  public void scriptWebhooks(String merchantTransactionId, WebhookFault... faults) {
    webhookScripts.add(merchantTransactionId, List.of(faults));
  }

  int hangingCalls() {
    return connections.hangingCalls();
  }

  /** Ends open calls with a reset or an error and stops; deliveries on the way are dropped. */
  @Override
  public void close() {
    connections.close();
    webhooks.close();
    tasks.close();
    server.stop();
  }

  private void authenticate(Context ctx) {
    String sent = ctx.header("Authorization");
    if (sent == null
        || !MessageDigest.isEqual(authorization, sent.getBytes(StandardCharsets.UTF_8))) {
      Replies.send(ctx, Answer.error(401, "authentication"));
      ctx.skipRemainingHandlers();
    }
  }

  private void configureHttp(JavalinConfig javalin) {
    javalin.startup.showJavalinBanner = false;
    javalin.startup.showOldJavalinVersionWarning = false;
    javalin.startup.startupWatcherEnabled = false;
    javalin.http.compressionStrategy = CompressionStrategy.NONE;
    QueuedThreadPool threads = new QueuedThreadPool(HTTP_THREADS_MAX, HTTP_THREADS_MIN);
    threads.setName("simulator-http");
    threads.setDaemon(true);
    javalin.jetty.threadPool = threads;
    javalin.jetty.addConnector(this::connector);
  }

  private ServerConnector connector(Server jetty, HttpConfiguration http) {
    http.setSendServerVersion(false);
    ServerConnector connector = new ServerConnector(jetty, 1, 2, new HttpConnectionFactory(http));
    connector.setHost(config.host());
    connector.setPort(config.port());
    connector.setAcceptQueueSize(BACKLOG);
    // Jetty's own idle limit must not end a call that hangs on purpose.
    connector.setIdleTimeout(
        config
            .hangMax()
            .plus(config.slowDelay())
            .plus(config.latency())
            .plus(IDLE_MARGIN)
            .toMillis());
    return connector;
  }
}

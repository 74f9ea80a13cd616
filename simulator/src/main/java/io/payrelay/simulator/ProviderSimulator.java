package io.payrelay.simulator;

import io.javalin.Javalin;
import io.javalin.compression.CompressionStrategy;
import io.javalin.config.JavalinConfig;
import io.javalin.http.Context;
import io.payrelay.simulator.stripe.StripeError;
import io.payrelay.simulator.stripe.StripeJson;
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
  private static final String STRIPE_PATH = "/stripe";
  private static final MoneyCalls.Refusals STRIPE_REFUSALS =
      new MoneyCalls.Refusals(
          stripe(429, "invalid_request_error", "rate_limit", "Too many requests."),
          stripe(
              429,
              "invalid_request_error",
              "lock_timeout",
              "This object cannot be accessed right now because another API request is accessing"
                  + " it. Retry the request."),
          stripe(
              409,
              "invalid_request_error",
              "idempotency_key_in_use",
              "There is currently another in-progress request using this Idempotent Key."),
          stripe(
              400,
              "idempotency_error",
              null,
              "Keys for idempotent requests can only be used with the same parameters they were"
                  + " first used with."),
          stripe(500, "api_error", null, "An unknown error occurred."));
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
  private final StripeIntents stripeIntents;
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
    QueryApi queries =
        new QueryApi(
            config, plan, queryScripts, ledger, refunds, webhooks, connections, replies, counters);
    stripeIntents = new StripeIntents(config, ledger, webhooks, tasks);
    server =
        Javalin.create(
            javalin -> {
              configureHttp(javalin);
              genericRoutes(javalin, plan, queries, replies);
              stripeRoutes(javalin, plan, queries, replies);
              oracleRoutes(javalin);
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

  /** Where it speaks Stripe's API, without /v1 and without a slash at the end. */
  public URI stripeUrl() {
    return URI.create(baseUrl() + STRIPE_PATH);
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

  /** Sends webhooks of the Stripe face to this address from now on; null drops them. */
  public void stripeWebhookTarget(@Nullable URI target) {
    webhooks.stripeTarget(target);
  }

  /**
   * Tells of a dispute of a payment made through the Stripe face, as Stripe does.
   *
   * @param type what follows {@code charge.dispute.}: created, funds_withdrawn, closed ...
   * @param status the dispute's: needs_response, won, lost, warning_needs_response ...
   */
  public void stripeDispute(String paymentIntentId, String type, String status) {
    StripeIntents.Held held = stripeIntents.find(paymentIntentId);
    if (held == null) {
      throw new IllegalArgumentException("there is no such payment intent");
    }
    String id = "dp_" + paymentIntentId.substring("pi_".length());
    stripeIntents.publish(
        held,
        "charge.dispute." + type,
        StripeJson.dispute(held.intent(), id, status, config.clock().instant()));
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

  private static Response stripe(int status, String type, @Nullable String code, String message) {
    return StripeResponse.of(StripeError.of(status, type, code, message));
  }

  private void genericRoutes(
      JavalinConfig javalin, FaultPlan plan, QueryApi queries, Replies replies) {
    MoneyCalls calls = new MoneyCalls(config, connections, replies, counters, GENERIC_REFUSALS);
    ChargeApi charges =
        new ChargeApi(config, plan, callScripts, ledger, calls, webhooks, tasks, counters);
    RefundApi giving =
        new RefundApi(
            config,
            plan,
            callScripts,
            ledger,
            refunds,
            calls,
            queries,
            webhooks,
            tasks,
            replies,
            counters);
    javalin.routes.before("/v1/*", ctx -> authenticate(ctx, Answer.error(401, "authentication")));
    javalin.routes.post("/v1/charges", charges::create);
    javalin.routes.get("/v1/charges", queries::list);
    javalin.routes.get("/v1/charges/{id}", queries::get);
    javalin.routes.post("/v1/charges/{id}/cancel", queries::cancel);
    javalin.routes.post("/v1/refunds", giving::create);
    javalin.routes.get("/v1/refunds", giving::list);
    javalin.routes.exception(
        InvalidRequestException.class, (e, ctx) -> Replies.send(ctx, e.answer()));
  }

  private void stripeRoutes(
      JavalinConfig javalin, FaultPlan plan, QueryApi queries, Replies replies) {
    MoneyCalls calls = new MoneyCalls(config, connections, replies, counters, STRIPE_REFUSALS);
    StripeQueries lists = new StripeQueries(queries, replies);
    StripeApi payments =
        new StripeApi(
            config, plan, callScripts, ledger, stripeIntents, refunds, calls, lists, counters);
    StripeRefundApi giving =
        new StripeRefundApi(
            config,
            plan,
            callScripts,
            stripeIntents,
            payments,
            refunds,
            calls,
            lists,
            webhooks,
            tasks,
            counters);
    String base = STRIPE_PATH + "/v1/";
    Response refused = StripeResponse.of(StripeError.authentication());
    javalin.routes.before(base + "*", ctx -> authenticate(ctx, refused));
    javalin.routes.post(base + "payment_intents", payments::create);
    javalin.routes.get(base + "payment_intents", payments::list);
    javalin.routes.get(base + "payment_intents/{id}", payments::get);
    javalin.routes.post(base + "payment_intents/{id}/confirm", payments::confirm);
    javalin.routes.post(base + "payment_intents/{id}/cancel", payments::cancel);
    javalin.routes.get(base + "charges/{id}", payments::charge);
    javalin.routes.get(base + "payment_methods/{id}", payments::method);
    javalin.routes.post(base + "refunds", giving::create);
    javalin.routes.get(base + "refunds", giving::list);
    javalin.routes.get(base + "refunds/{id}", giving::get);
    javalin.routes.exception(
        StripeError.class, (e, ctx) -> Replies.send(ctx, StripeResponse.of(e)));
  }

  private void oracleRoutes(JavalinConfig javalin) {
    OracleApi oracle = new OracleApi(ledger, refunds, webhooks, counters);
    javalin.routes.get("/_sim/charges", oracle::charges);
    javalin.routes.get("/_sim/refunds", oracle::refunds);
    javalin.routes.get("/_sim/stats", oracle::stats);
    javalin.routes.get("/_sim/health", oracle::health);
    javalin.routes.post("/_sim/webhooks/redeliver", oracle::redeliver);
  }

  private void authenticate(Context ctx, Response refused) {
    String sent = ctx.header("Authorization");
    if (sent == null
        || !MessageDigest.isEqual(authorization, sent.getBytes(StandardCharsets.UTF_8))) {
      Replies.send(ctx, refused);
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

package io.payrelay.webhook;

import io.javalin.Javalin;
import io.javalin.compression.CompressionStrategy;
import io.javalin.config.JavalinConfig;
import io.payrelay.platform.database.Database;
import io.payrelay.platform.database.DatabaseConfig;
import io.payrelay.platform.errors.Category;
import io.payrelay.platform.errors.Failures;
import io.payrelay.platform.errors.PayrelayException;
import io.payrelay.platform.lifecycle.Backoff;
import io.payrelay.platform.lifecycle.WorkerLoop;
import io.payrelay.platform.telemetry.Telemetry;
import io.payrelay.providers.WebhookAdapter;
import io.payrelay.schemas.Migrations;
import java.io.IOException;
import java.sql.SQLException;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeoutException;
import java.util.random.RandomGenerator;
import org.eclipse.jetty.http.HttpStatus;
import org.eclipse.jetty.io.QuietException;
import org.eclipse.jetty.server.HttpConnectionFactory;
import org.eclipse.jetty.server.NetworkConnectionLimit;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.server.handler.ErrorHandler;
import org.eclipse.jetty.server.handler.GracefulHandler;
import org.eclipse.jetty.util.thread.QueuedThreadPool;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The webhook-ingest process: endpoint, matcher of parked events, metrics. Safe for any thread. */
public final class WebhookIngest implements AutoCloseable {

  private static final Logger log = LoggerFactory.getLogger(WebhookIngest.class);
  private static final String NAME = "payrelay-webhook-ingest";

  /** No request holds one while it waits: they read, verify and answer. */
  private static final int THREADS_MAX = 32;

  private static final int THREADS_MIN = 8;

  /** A burst of new connections waits here instead of for a repeated SYN. */
  private static final int ACCEPT_QUEUE = 1024;

  private static final int CONNECTIONS_RESERVE = 256;

  private static final Duration BACKOFF_FIRST = Duration.ofMillis(200);
  private static final Duration BACKOFF_MAX = Duration.ofSeconds(10);

  private final Database database;
  private final Javalin server;
  private final Ingest ingest;
  private final CompletableFuture<Object> writersEnded;
  private final WorkerLoop loop;
  private final ParkedMatcher matcher;

  private WebhookIngest(
      Database database, Javalin server, Ingest ingest, WorkerLoop loop, ParkedMatcher matcher) {
    this.database = database;
    this.server = server;
    this.ingest = ingest;
    // Once: each of them would stay with the writers.
    this.writersEnded = ingest.ended();
    this.loop = loop;
    this.matcher = matcher;
  }

  /**
   * Starts taking webhooks.
   *
   * @param databaseConfig of a login with the role payrelay_ingest
   * @param telemetry where metrics and health go; the caller closes it, after this
   * @throws PayrelayException FATAL where schema or port are wrong, RETRIABLE where the database is
   *     away
   */
  public static WebhookIngest start(
      IngestConfig config,
      DatabaseConfig databaseConfig,
      List<WebhookAdapter> adapters,
      Telemetry telemetry,
      InstantSource clock,
      RandomGenerator random,
      IngestFaults faults) {
    Database database =
        Database.openForKeys(impatient(databaseConfig, config.databaseWait()), NAME);
    WorkerLoop loop = null;
    Ingest ingest = null;
    Javalin server = null;
    boolean started = false;
    try {
      checkSchema(database);
      Map<String, WebhookAdapter> byName = ParkedMatcher.byName(adapters);
      IngestMetrics metrics = new IngestMetrics(telemetry.registry());
      ingest =
          new Ingest(
              database.jdbi(),
              clock,
              new EventWriter(config.park(), config.statementTimeout()),
              faults,
              config.databaseWait().plus(config.statementTimeout()),
              config.concurrentRequestsMax(),
              databaseConfig.poolSizeMax(),
              new Backoff(BACKOFF_FIRST, BACKOFF_MAX, random));
      QueuedThreadPool threads = threads();
      WebhookEndpoint endpoint =
          new WebhookEndpoint(
              byName,
              ingest,
              clock,
              config.concurrentRequestsMax(),
              config.providerRequestsMax(),
              threads,
              metrics);
      ParkedMatcher matcher =
          new ParkedMatcher(
              database.jdbi(),
              byName,
              clock,
              config.park(),
              metrics,
              ParkedMatcher.Manner.loop(config.statementTimeout()));
      server = listen(config, byName.keySet(), endpoint, threads, metrics);
      loop =
          WorkerLoop.start(
              "webhook-matcher",
              EventRetention.beside(
                  matcher, database.jdbi(), config.retentionDays(), clock, metrics),
              config.matchInterval(),
              new Backoff(BACKOFF_FIRST, BACKOFF_MAX, random),
              config.stopTimeout());
      WebhookIngest ingestApp = new WebhookIngest(database, server, ingest, loop, matcher);
      telemetry.ready("database", ingestApp::databaseHealth);
      telemetry.live("process", ingestApp::liveness);
      log.info("webhook_ingest_started port={} providers={}", server.port(), byName.keySet());
      started = true;
      return ingestApp;
    } finally {
      if (!started) {
        closeAll(server, ingest, loop, database);
      }
    }
  }

  /** The port that was taken. */
  public int port() {
    return server.port();
  }

  /**
   * Completes when writing events or matching parked ones has ended; exceptionally where that was
   * fatal.
   */
  public CompletableFuture<Void> ended() {
    return CompletableFuture.anyOf(loop.ended(), writersEnded).thenAccept(end -> {});
  }

  /** Applies a FAILED, UNMATCHED or PARKED event again; see {@link ParkedMatcher#reprocess}. */
  public Optional<Disposition> reprocess(String provider, String eventId) {
    return matcher.reprocess(provider, eventId);
  }

  /** Takes no more requests, lets running ones finish, then frees everything. */
  @Override
  public void close() {
    closeAll(server, ingest, loop, database);
    log.info("webhook_ingest_stopped");
  }

  private static void closeAll(
      @Nullable Javalin server,
      @Nullable Ingest ingest,
      @Nullable WorkerLoop loop,
      Database database) {
    try (database) {
      if (server != null) {
        server.stop();
      }
      if (ingest != null) {
        ingest.close();
      }
      if (loop != null) {
        loop.close();
      }
    }
  }

  /** A sender that waits for a connection of the pool is better served by a quick 503. */
  private static DatabaseConfig impatient(DatabaseConfig config, Duration wait) {
    return new DatabaseConfig(
        config.url(),
        config.user(),
        config.password(),
        config.poolSizeMax(),
        config.connectTimeout().compareTo(wait) < 0 ? config.connectTimeout() : wait);
  }

  private static void checkSchema(Database database) {
    String problem;
    try {
      problem = database.jdbi().withHandle(handle -> Migrations.problem(handle.getConnection()));
    } catch (SQLException e) {
      throw new PayrelayException(
          Failures.categoryOf(e), "The version of the database schema cannot be read", e);
    }
    if (problem != null) {
      throw new PayrelayException(Category.FATAL, problem);
    }
  }

  private static QueuedThreadPool threads() {
    QueuedThreadPool threads = new QueuedThreadPool(THREADS_MAX, THREADS_MIN);
    threads.setName("webhook");
    return threads;
  }

  private static Javalin listen(
      IngestConfig config,
      Set<String> providers,
      WebhookEndpoint endpoint,
      QueuedThreadPool threads,
      IngestMetrics metrics) {
    try {
      return Javalin.create(
              javalin -> configure(javalin, config, providers, endpoint, threads, metrics))
          .start();
    } catch (RuntimeException e) {
      throw new PayrelayException(
          Category.FATAL,
          "Port %d on %s cannot be had for webhooks: set PAYRELAY_INGEST_PORT to another, or 0"
              .formatted(config.port(), config.host()),
          e);
    }
  }

  private static void configure(
      JavalinConfig javalin,
      IngestConfig config,
      Set<String> providers,
      WebhookEndpoint endpoint,
      QueuedThreadPool threads,
      IngestMetrics metrics) {
    javalin.startup.showJavalinBanner = false;
    javalin.startup.showOldJavalinVersionWarning = false;
    javalin.startup.startupWatcherEnabled = false;
    javalin.http.compressionStrategy = CompressionStrategy.NONE;
    javalin.jetty.threadPool = threads;
    javalin.jetty.modifyHttpConfiguration(
        http -> {
          http.setSendServerVersion(false);
          http.setSendXPoweredBy(false);
          http.setRequestHeaderSize(config.headerBytesMax());
          http.setIdleTimeout(config.readTimeout().toMillis());
        });
    ConnectionGuard connections =
        new ConnectionGuard(config.readTimeout(), config.connectionsMax(), metrics);
    BodyGate gate =
        new BodyGate(
            new BodyGate.Limits(
                config.headersMax(),
                config.bodyBytesMax(),
                config.bufferedBytesMax(),
                config.readTimeout()),
            providers,
            connections,
            metrics);
    javalin.jetty.modifyServer(server -> guard(server, config, gate, metrics));
    javalin.jetty.addConnector(
        (server, http) -> {
          ServerConnector connector = new ServerConnector(server, new HttpConnectionFactory(http));
          connector.setHost(config.host());
          connector.setPort(config.port());
          connector.setAcceptQueueSize(ACCEPT_QUEUE);
          connector.setIdleTimeout(config.readTimeout().toMillis());
          // On the connector: only its beans hear of its connections.
          connector.addBean(connections);
          return connector;
        });
    javalin.routes.post(WebhookEndpoint.PATH, endpoint::handle);
    javalin.routes.exception(
        Exception.class,
        (failure, context) -> {
          // Only a bug comes here; the provider delivers again, and a person finds the stack trace.
          log.error("webhook_request_failed", failure);
          metrics.refused(Reason.NOBODY, Reason.BUG);
          context.status(503).contentType("text/plain").result("unavailable");
        });
  }

  private static void guard(
      Server server, IngestConfig config, BodyGate gate, IngestMetrics metrics) {
    server.setStopTimeout(config.stopTimeout().toMillis());
    // No pages: what a broken request hears is its status.
    server.setErrorHandler(
        (request, response, callback) -> {
          Object cause = request.getAttribute(ErrorHandler.ERROR_EXCEPTION);
          response.setStatus(counted(response.getStatus(), cause, metrics));
          callback.succeeded();
          return true;
        });
    // The guard makes room long before; this is for when all connections are at work.
    server.addBean(
        new NetworkConnectionLimit(config.connectionsMax() + CONNECTIONS_RESERVE, server));
    server.setHandler(new GracefulHandler(gate));
  }

  /** What the server itself refuses, by its status; returns what the sender hears. */
  private static int counted(int status, @Nullable Object cause, IngestMetrics metrics) {
    boolean gone =
        cause instanceof IOException
            || cause instanceof TimeoutException
            || cause instanceof QuietException;
    if (status == HttpStatus.INTERNAL_SERVER_ERROR_500 && !gone) {
      log.error("webhook_request_failed", (Throwable) cause);
      metrics.refused(Reason.NOBODY, Reason.BUG);
      return HttpStatus.SERVICE_UNAVAILABLE_503;
    }
    if (status == HttpStatus.SERVICE_UNAVAILABLE_503) {
      // It stops, and says so itself.
      return status;
    }
    boolean large = status == HttpStatus.REQUEST_HEADER_FIELDS_TOO_LARGE_431;
    metrics.refused(Reason.NOBODY, large ? Reason.HEAD_TOO_LARGE : Reason.HEAD_BROKEN);
    // A version or a coding that nobody knows is the sender's mistake, not ours.
    return status >= HttpStatus.INTERNAL_SERVER_ERROR_500 ? HttpStatus.BAD_REQUEST_400 : status;
  }

  private String databaseHealth() {
    try {
      return database
          .jdbi()
          .withHandle(handle -> handle.createQuery("SELECT 'ok'").mapTo(String.class).one());
    } catch (RuntimeException e) {
      return "away: " + Delivery.reason(e);
    }
  }

  private String liveness() {
    if (writersEnded.isDone()) {
      return "a writer has ended";
    }
    return loop.ended().isDone() ? "the matcher has ended" : "ok";
  }
}

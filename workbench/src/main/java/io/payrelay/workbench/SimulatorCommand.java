package io.payrelay.workbench;

import io.javalin.util.JavalinBindException;
import io.payrelay.platform.errors.Category;
import io.payrelay.platform.errors.PayrelayException;
import io.payrelay.simulator.FaultProfile;
import io.payrelay.simulator.ProviderSimulator;
import io.payrelay.simulator.SimulatorConfig;
import java.io.PrintWriter;
import java.net.URI;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** The provider simulator as a process of its own. */
@Command(
    name = "simulator",
    mixinStandardHelpOptions = true,
    description =
        "A payment provider over HTTP, with seeded faults, webhooks and its own ledger (/_sim/charges)."
            + " Its state is in memory.")
@SuppressWarnings("NullAway.Init") // picocli injects.
final class SimulatorCommand implements Runnable {

  @Spec private CommandSpec spec;

  @Option(names = "--host", defaultValue = "127.0.0.1", description = "(${DEFAULT-VALUE})")
  private String host;

  @Option(names = "--port", defaultValue = "8090", description = "0: a free one (${DEFAULT-VALUE})")
  private int port;

  @Option(
      names = "--faults",
      paramLabel = "PROFILE",
      defaultValue = "none",
      description = "${COMPLETION-CANDIDATES} (${DEFAULT-VALUE})")
  private FaultProfile faults;

  @Option(
      names = "--seed",
      paramLabel = "S",
      defaultValue = "1",
      description = "(${DEFAULT-VALUE})")
  private long seed;

  @Option(names = "--webhook-url", description = "where webhooks go; none unless given")
  private @Nullable URI webhookUrl;

  @Option(
      names = "--api-key",
      defaultValue = DemoSettings.API_KEY,
      description = "what PAYRELAY_PROVIDER_API_KEY has to be (${DEFAULT-VALUE})")
  private String apiKey;

  @Option(
      names = "--webhook-secret",
      defaultValue = DemoSettings.WEBHOOK_SECRET,
      description = "what PAYRELAY_PROVIDER_WEBHOOK_SECRETS has to hold (${DEFAULT-VALUE})")
  private String webhookSecret;

  @Option(
      names = "--stripe-webhook-url",
      description = "where webhooks of its Stripe face go; none unless given")
  private @Nullable URI stripeWebhookUrl;

  @Option(
      names = "--stripe-webhook-secret",
      defaultValue = DemoSettings.STRIPE_WEBHOOK_SECRET,
      description = "what PAYRELAY_STRIPE_WEBHOOK_SECRETS has to hold (${DEFAULT-VALUE})")
  private String stripeWebhookSecret;

  @Option(
      names = "--latency-ms",
      defaultValue = "0",
      description = "of each answer (${DEFAULT-VALUE})")
  private long latencyMs;

  private static ProviderSimulator start(SimulatorConfig config) {
    try {
      return ProviderSimulator.start(config);
    } catch (JavalinBindException e) {
      throw new PayrelayException(
          Category.FATAL,
          "Port %d on %s cannot be had: give another by --port, or 0 for a free one"
              .formatted(config.port(), config.host()),
          e);
    }
  }

  @Override
  public void run() {
    SimulatorConfig config =
        SimulatorConfig.builder()
            .host(host)
            .port(port)
            .profile(faults)
            .seed(seed)
            .webhookUrl(webhookUrl)
            .apiKey(apiKey)
            .webhookSecret(webhookSecret)
            .stripeWebhookUrl(stripeWebhookUrl)
            .stripeWebhookSecret(stripeWebhookSecret)
            .latency(Duration.ofMillis(latencyMs))
            .build();
    ProviderSimulator simulator = start(config);
    Runtime.getRuntime().addShutdownHook(new Thread(simulator::close, "shutdown"));
    PrintWriter out = spec.commandLine().getOut();
    out.println("Stripe's API at " + simulator.stripeUrl() + " (PAYRELAY_STRIPE_URL)");
    out.println("ready simulator url=" + simulator.baseUrl());
    out.flush();
    try {
      new CountDownLatch(1).await();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}

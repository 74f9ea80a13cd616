package io.payrelay.app;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.payrelay.platform.config.Settings;
import io.payrelay.platform.database.Database;
import io.payrelay.platform.database.DatabaseConfig;
import io.payrelay.platform.errors.Category;
import io.payrelay.platform.errors.PayrelayException;
import io.payrelay.platform.kafka.KafkaConfig;
import java.io.PrintWriter;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.HexFormat;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.apache.avro.generic.GenericRecord;
import org.jdbi.v3.core.JdbiException;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParentCommand;
import picocli.CommandLine.Spec;

/** Makes one payment through the SQL contract, as an upstream service would, and follows it. */
@Command(
    name = "pay",
    mixinStandardHelpOptions = true,
    description = "Makes a payment through the SQL contract and follows it to its end.")
@SuppressWarnings("NullAway.Init") // picocli injects.
final class PayCommand implements Callable<Integer> {

  private static final int ID_BYTES = 12;

  @ParentCommand private PayrelayCommand parent;
  @Spec private CommandSpec spec;

  @Option(
      names = "--amount",
      required = true,
      description = "in minor units: 1250 is 12.50 USD and 1250 JPY")
  private long amountMinor;

  @Option(names = "--currency", defaultValue = "USD", description = "ISO 4217 (${DEFAULT-VALUE})")
  private String currency;

  @Option(names = "--order", required = true, description = "the merchant's order id")
  private String order;

  @Option(names = "--merchant", defaultValue = "demo-shop", description = "(${DEFAULT-VALUE})")
  private String merchant;

  @Option(names = "--provider", defaultValue = "simulator", description = "(${DEFAULT-VALUE})")
  private String provider;

  @Option(
      names = "--payment-id",
      description = "a new one unless given; the same one again is the same payment")
  private @Nullable String paymentId;

  @Option(
      names = "--payment-method",
      description = "the provider's token; the simulator knows pm_decline, pm_pending, pm_slow ...")
  private @Nullable String paymentMethod;

  @Option(names = "--trace-id", description = "follows the payment through logs and events")
  private @Nullable String traceId;

  @Option(names = "--timeout-s", defaultValue = "120", description = "(${DEFAULT-VALUE})")
  private long timeoutS;

  @Override
  public Integer call() {
    Settings settings = AppSettings.check(parent.environment(), AppSettings.CLIENT);
    String id = paymentId == null ? newId() : paymentId;
    PrintWriter out = spec.commandLine().getOut();
    try (StatusFollower follower = StatusFollower.fromNow(KafkaConfig.from(settings));
        Database database = Database.open(DatabaseConfig.from(settings), "payrelay-pay")) {
      request(database, id);
      out.println(id + " CREATED");
      out.flush();
      Optional<GenericRecord> end = follower.follow(id, Duration.ofSeconds(timeoutS), out);
      if (end.isEmpty()) {
        throw new PayrelayException(
            Category.RETRIABLE,
            "Payment "
                + id
                + " has not ended within "
                + timeoutS
                + " s; it is not lost:"
                + " `payrelay status "
                + id
                + "` says how it stands");
      }
      return end.get().get("status").toString().equals("SUCCEEDED") ? 0 : CommandLines.EXIT_FATAL;
    }
  }

  private void request(Database database, String id) {
    try {
      database
          .jdbi()
          .useHandle(
              handle ->
                  handle
                      .createQuery(
                          """
                          SELECT payrelay.request_payment(:id, :merchant, :order, :provider, :amount,
                            :currency, provider_data => :provider_data::jsonb, trace_id => :trace_id)
                          """)
                      .bind("id", id)
                      .bind("merchant", merchant)
                      .bind("order", order)
                      .bind("provider", provider)
                      .bind("amount", amountMinor)
                      .bind("currency", currency)
                      .bind("provider_data", providerData())
                      .bind("trace_id", traceId)
                      .mapTo(String.class)
                      .one());
    } catch (JdbiException e) {
      throw SqlSentences.of(e);
    }
  }

  private String providerData() {
    if (paymentMethod == null) {
      return "{}";
    }
    return new ObjectNode(JsonNodeFactory.instance).put("payment_method", paymentMethod).toString();
  }

  private static String newId() {
    byte[] bytes = new byte[ID_BYTES];
    new SecureRandom().nextBytes(bytes);
    return "pay_" + HexFormat.of().formatHex(bytes);
  }
}

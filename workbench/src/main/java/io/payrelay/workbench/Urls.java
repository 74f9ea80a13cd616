package io.payrelay.workbench;

import java.io.PrintWriter;

/** Where everything is, and lines to paste. */
final class Urls {

  private Urls() {}

  static void print(PrintWriter out, Stack stack) {
    String jdbc = stack.infra().postgres().jdbcUrl();
    int port = stack.infra().postgres().port();
    String kafka = stack.infra().kafka().bootstrapServers();
    out.println();
    out.println("PostgreSQL        " + jdbc);
    out.println("                  (owner payrelay; logins without password, loopback only)");
    out.println("Kafka             " + kafka);
    out.println(
        "provider          " + stack.simulator().baseUrl() + " (its ledger: /_sim/charges)");
    out.println("webhooks          http://127.0.0.1:" + stack.ingestPort() + "/webhooks/simulator");
    stack.ready().forEach(line -> out.println("part              " + metrics(line)));
    out.println();
    out.println("Make a payment, by SQL or by the command:");
    out.println();
    out.println(
        "  psql -h 127.0.0.1 -p "
            + port
            + " -U shop payrelay -c \"SELECT payrelay.request_payment('pay_' || substr(md5(random()::text), 1, 16),"
            + " 'demo-shop', 'order-' || substr(md5(random()::text), 1, 8), 'simulator', 1250, 'USD')\"");
    out.println();
    String environment =
        "PAYRELAY_DATABASE_URL="
            + jdbc
            + " PAYRELAY_DATABASE_USER=%s PAYRELAY_KAFKA_BOOTSTRAP_SERVERS="
            + kafka;
    out.println(
        "  "
            + environment.formatted(DatabaseUsers.SHOP)
            + " ./payrelay pay --amount 1250 --currency USD --order order-$RANDOM");
    out.println();
    out.println("Watch:");
    out.println();
    out.println(
        "  PAYRELAY_KAFKA_BOOTSTRAP_SERVERS=" + kafka + " ./payrelay tail payrelay.payment-status");
    out.println("  " + environment.formatted(DatabaseUsers.OPERATOR) + " ./payrelay status");
    out.println();
    out.flush();
  }

  private static String metrics(String ready) {
    return ready
        .replace("ready ", "")
        .replaceAll("metrics_port=(\\d+)", "http://127.0.0.1:$1/metrics");
  }
}

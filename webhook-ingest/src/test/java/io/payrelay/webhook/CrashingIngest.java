package io.payrelay.webhook;

import io.payrelay.platform.telemetry.Telemetry;
import io.payrelay.platform.telemetry.TelemetryConfig;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;

/** An ingest in a process of its own that stops at one point for ever, to be killed there. */
final class CrashingIngest {

  static final String BEFORE = "before-commit";
  static final String AFTER = "after-commit";

  private CrashingIngest() {}

  public static void main(String[] arguments) {
    String point = arguments[2];
    IngestFaults faults =
        new IngestFaults() {
          @Override
          public void beforeCommit() {
            stopAt(BEFORE, point);
          }

          @Override
          public void afterCommit() {
            stopAt(AFTER, point);
          }
        };
    WebhookIngest ingest =
        IngestFixture.start(
            arguments[0],
            arguments[1],
            Map.of(),
            faults,
            List.of(IngestFixture.adapter()),
            Telemetry.start(new TelemetryConfig("127.0.0.1", 0)));
    System.out.println("port " + ingest.port());
  }

  private static void stopAt(String here, String point) {
    if (here.equals(point)) {
      System.out.println("reached " + here);
      while (true) {
        LockSupport.park();
      }
    }
  }
}

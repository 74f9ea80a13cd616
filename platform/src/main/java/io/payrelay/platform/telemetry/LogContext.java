package io.payrelay.platform.telemetry;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.slf4j.MDC;

/**
 * Ids that each log line of the current unit of work carries, removed on close. Belongs to one
 * thread.
 */
public final class LogContext implements AutoCloseable {

  private final List<String> keys = new ArrayList<>(3);

  private LogContext() {}

  /** Puts the payment and its trace onto the thread's log lines. */
  public static LogContext ofPayment(String paymentId, @Nullable String traceId) {
    LogContext context = new LogContext();
    context.with("payment_id", paymentId);
    context.with("trace_id", traceId);
    return context;
  }

  /** Adds another id. */
  public LogContext with(String key, @Nullable String value) {
    if (value != null) {
      MDC.put(key, value);
      keys.add(key);
    }
    return this;
  }

  /** Removes them. */
  @Override
  public void close() {
    keys.forEach(MDC::remove);
  }
}

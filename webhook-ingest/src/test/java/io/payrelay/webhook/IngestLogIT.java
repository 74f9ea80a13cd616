package io.payrelay.webhook;

import static io.payrelay.webhook.IngestFixture.event;
import static io.payrelay.webhook.IngestFixture.newEventId;
import static io.payrelay.webhook.IngestFixture.signed;
import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.slf4j.LoggerFactory;

@Timeout(60)
class IngestLogIT {

  @Test
  void namesPaymentAndTraceAndNeverWhatCameInARequest() {
    Logger logger = (Logger) LoggerFactory.getLogger("io.payrelay.webhook");
    ListAppender<ILoggingEvent> appender = new ListAppender<>();
    appender.start();
    logger.addAppender(appender);
    logger.setLevel(Level.DEBUG);
    try (IngestFixture fixture = IngestFixture.start()) {
      String payment = fixture.payment();
      String body = event("charge.succeeded", payment, "ch_canary", 1999, "EUR");
      Map<String, String> headers = signed(IngestFixture.SECRET, newEventId(), 0, body);
      fixture.send(headers, body);
      fixture.send(headers, body.replace("1999", "canary"));
      fixture.send(newEventId(), event("charge.succeeded", payment, "canary", 7, "QQQ"));
      fixture.send(newEventId(), "{\"canary\":");

      String lines = lines(appender.list);
      assertThat(lines)
          .contains("webhook_received", "payment_id=" + payment, "trace_id=trace_1")
          .contains("webhook_needs_a_person")
          .doesNotContain("canary", "whsec_", headers.get("webhook-signature"));
    } finally {
      logger.setLevel(null);
      logger.detachAppender(appender);
    }
  }

  private static String lines(List<ILoggingEvent> events) {
    StringBuilder lines = new StringBuilder();
    for (ILoggingEvent event : List.copyOf(events)) {
      lines.append(event.getFormattedMessage()).append(' ').append(event.getMDCPropertyMap());
      lines.append(event.getThrowableProxy() == null ? "" : event.getThrowableProxy().getMessage());
      lines.append('\n');
    }
    return lines.toString();
  }
}

package io.payrelay.relay;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.AppenderBase;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.slf4j.LoggerFactory;

/** What the relay said from its making on. */
final class RelayLog extends AppenderBase<ILoggingEvent> implements AutoCloseable {

  private static final Logger LOGGER = (Logger) LoggerFactory.getLogger("io.payrelay.relay");

  private final List<ILoggingEvent> events = new CopyOnWriteArrayList<>();

  RelayLog() {
    start();
    LOGGER.addAppender(this);
  }

  List<String> warnings() {
    return events.stream()
        .filter(event -> event.getLevel().isGreaterOrEqual(Level.WARN))
        .map(ILoggingEvent::getFormattedMessage)
        .toList();
  }

  List<String> lines() {
    return events.stream().map(ILoggingEvent::getFormattedMessage).toList();
  }

  @Override
  protected void append(ILoggingEvent event) {
    events.add(event);
  }

  @Override
  public void close() {
    LOGGER.detachAppender(this);
    stop();
  }
}

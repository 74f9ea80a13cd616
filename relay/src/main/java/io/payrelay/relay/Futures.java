package io.payrelay.relay;

import io.payrelay.platform.errors.Category;
import io.payrelay.platform.errors.PayrelayException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** Waits for answers of Kafka's admin client and unwraps their failures. Stateless. */
final class Futures {

  private static final long LIMIT_S = 30;

  private Futures() {}

  static <T> T get(Future<T> future) {
    try {
      return future.get(LIMIT_S, TimeUnit.SECONDS);
    } catch (ExecutionException e) {
      if (e.getCause() instanceof RuntimeException cause) {
        throw cause;
      }
      throw new PayrelayException(Category.RETRIABLE, "Kafka could not be asked", e);
    } catch (TimeoutException e) {
      throw new PayrelayException(Category.RETRIABLE, "Kafka does not answer", e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new PayrelayException(Category.RETRIABLE, "Interrupted while asking Kafka", e);
    }
  }
}

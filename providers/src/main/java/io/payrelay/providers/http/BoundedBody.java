package io.payrelay.providers.http;

import java.io.ByteArrayOutputStream;
import java.net.http.HttpResponse.BodySubscriber;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Flow;
import org.jspecify.annotations.Nullable;

/**
 * Reads a body up to a limit and one byte more, so that a longer one shows; the rest is not read.
 * Called by one thread at a time, as the HTTP client promises.
 */
final class BoundedBody implements BodySubscriber<byte[]> {

  private final int bytesMax;
  private final ByteArrayOutputStream bytes = new ByteArrayOutputStream(1024);
  private final CompletableFuture<byte[]> result = new CompletableFuture<>();
  private Flow.@Nullable Subscription subscription;

  BoundedBody(int bytesMax) {
    this.bytesMax = bytesMax;
  }

  @Override
  public CompletionStage<byte[]> getBody() {
    return result;
  }

  @Override
  public void onSubscribe(Flow.Subscription newSubscription) {
    subscription = newSubscription;
    newSubscription.request(Long.MAX_VALUE);
  }

  @Override
  public void onNext(List<ByteBuffer> buffers) {
    for (ByteBuffer buffer : buffers) {
      byte[] chunk = new byte[Math.min(buffer.remaining(), bytesMax + 1 - bytes.size())];
      buffer.get(chunk);
      bytes.writeBytes(chunk);
    }
    if (bytes.size() > bytesMax && subscription != null) {
      subscription.cancel();
      result.complete(bytes.toByteArray());
    }
  }

  @Override
  public void onError(Throwable failure) {
    result.completeExceptionally(failure);
  }

  @Override
  public void onComplete() {
    result.complete(bytes.toByteArray());
  }
}

package io.payrelay.localstack;

import java.nio.file.Path;
import java.util.concurrent.CountDownLatch;

/** A JVM of its own that runs a stack until it is killed; prints the line of the infra command. */
final class StackProcess {
  private StackProcess() {}

  public static void main(String[] args) throws InterruptedException {
    LocalStack.Builder builder = LocalStack.builder();
    if (args.length > 0) {
      builder.dataDir(Path.of(args[0]));
    }
    LocalStack stack = builder.start();
    System.out.println(InfraLine.of(stack));
    new CountDownLatch(1).await();
  }
}

package io.payrelay.localstack;

/** The line by which the infra command says what to connect to, made for scripts to read. */
public final class InfraLine {
  private InfraLine() {}

  public static String of(LocalStack stack) {
    return format(
        stack.postgres().jdbcUrl(), stack.postgres().user(), stack.kafka().bootstrapServers());
  }

  public static String format(String jdbcUrl, String user, String bootstrapServers) {
    return "ready jdbc=" + jdbcUrl + " user=" + user + " kafka=" + bootstrapServers;
  }
}

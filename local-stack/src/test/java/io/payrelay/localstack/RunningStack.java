package io.payrelay.localstack;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A {@link StackProcess} seen from the test that starts and kills it. */
final class RunningStack implements AutoCloseable {
  private static final Pattern LINE =
      Pattern.compile("ready jdbc=(\\S+) user=payrelay kafka=127\\.0\\.0\\.1:\\d+");

  private final Process jvm;
  private final String jdbcUrl;
  private final List<ProcessHandle> children;

  private RunningStack(Process jvm, String jdbcUrl) {
    this.jvm = jvm;
    this.jdbcUrl = jdbcUrl;
    this.children = jvm.descendants().toList();
  }

  static RunningStack start(Path tmp, String... arguments) throws IOException {
    List<String> command =
        new ArrayList<>(
            List.of(
                Path.of(System.getProperty("java.home"), "bin/java").toString(),
                "-Xmx512m",
                "-Djava.io.tmpdir=" + tmp,
                "-cp",
                System.getProperty("java.class.path"),
                StackProcess.class.getName()));
    command.addAll(List.of(arguments));
    Process jvm =
        new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
    BufferedReader out = new BufferedReader(new InputStreamReader(jvm.getInputStream(), UTF_8));
    String line = out.readLine();
    while (line != null) {
      Matcher matcher = LINE.matcher(line);
      if (matcher.matches()) {
        return new RunningStack(jvm, matcher.group(1));
      }
      line = out.readLine();
    }
    throw new IOException("the stack process ended");
  }

  String jdbcUrl() {
    return jdbcUrl;
  }

  List<ProcessHandle> children() {
    return children;
  }

  /** Kill -9: no hook of the JVM runs. */
  void kill() {
    jvm.destroyForcibly().onExit().join();
  }

  /** SIGTERM: the JVM's hooks run. */
  void terminate() {
    jvm.destroy();
    jvm.onExit().join();
  }

  boolean nothingLeft() {
    return children.stream().noneMatch(Processes::runs);
  }

  @Override
  public void close() {
    kill();
  }
}

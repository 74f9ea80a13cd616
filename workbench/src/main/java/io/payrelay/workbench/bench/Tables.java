package io.payrelay.workbench.bench;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.PropertyNamingStrategies;
import com.fasterxml.jackson.databind.SerializationFeature;
import io.payrelay.platform.errors.Category;
import io.payrelay.platform.errors.PayrelayException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** Figures as tables, in Markdown that reads well on a terminal too, and as JSON. Stateless. */
final class Tables {

  private Tables() {}

  static String machine(Machine machine) {
    return String.format(
        Locale.ROOT,
        "%s, %d CPUs, %d MB, %s, %s, load %.1f before",
        machine.at(),
        machine.cpus(),
        machine.memoryMb(),
        machine.system(),
        machine.java(),
        machine.loadAverage());
  }

  static String drains(List<Drain.Figures> all) {
    StringBuilder text = new StringBuilder();
    text.append(
        "| drain                        | rows/s | CPU s per million | peak MB | visible |  missing | twice |\n");
    text.append(
        "|------------------------------|-------:|------------------:|--------:|--------:|---------:|------:|\n");
    for (Drain.Figures one : all) {
      text.append(
          String.format(
              Locale.ROOT,
              "| %-28s | %6.0f | %17.1f | %7s | %7d | %8d | %5d |%n",
              one.name(),
              one.rowsPerS(),
              one.cpuSecondsPerMillion(),
              memory(one.peakMemoryMb()),
              one.visible(),
              one.missing(),
              one.surplus()));
    }
    return text.toString();
  }

  static String latencies(List<Latency.Figures> all) {
    StringBuilder text = new StringBuilder();
    text.append(
        "| latency, ms                  | rate/s | p50 | p95 | p99 | max | p50 before commit | p99 before commit | p99 from schedule | CPU cores | peak MB |\n");
    text.append(
        "|------------------------------|-------:|----:|----:|----:|----:|------------------:|------------------:|------------------:|----------:|--------:|\n");
    for (Latency.Figures one : all) {
      text.append(
          String.format(
              Locale.ROOT,
              "| %-28s | %6d | %.1f | %.1f | %.1f | %.1f | %17.1f | %17.1f | %17.1f | %9.2f | %7s |%n",
              one.name(),
              one.ratePerS(),
              one.afterCommit().p50Ms(),
              one.afterCommit().p95Ms(),
              one.afterCommit().p99Ms(),
              one.afterCommit().maxMs(),
              one.beforeCommit().p50Ms(),
              one.beforeCommit().p99Ms(),
              one.fromSchedule().p99Ms(),
              one.cpuCores(),
              memory(one.peakMemoryMb())));
    }
    return text.toString();
  }

  static String webhooks(WebhookLoad.Figures one) {
    return "| webhooks/s | p50 ms | p95 ms | p99 ms | max ms | ingest CPU s per million | PostgreSQL CPU s per million | peak MB |\n"
        + "|-----------:|-------:|-------:|-------:|-------:|-------------------------:|-----------------------------:|--------:|\n"
        + String.format(
            Locale.ROOT,
            "| %10.0f | %6.1f | %6.1f | %6.1f | %6.1f | %24.1f | %28.1f | %7s |%n",
            one.webhooksPerS(),
            one.latency().p50Ms(),
            one.latency().p95Ms(),
            one.latency().p99Ms(),
            one.latency().maxMs(),
            one.ingestCpuSecondsPerMillion(),
            one.postgresCpuSecondsPerMillion(),
            memory(one.peakMemoryMb()));
  }

  /** Writes a report as JSON, if a file was named. */
  static void write(@Nullable Path file, Object report) {
    if (file == null) {
      return;
    }
    try {
      Files.write(
          file,
          new ObjectMapper()
              .setPropertyNamingStrategy(PropertyNamingStrategies.SNAKE_CASE)
              .enable(SerializationFeature.INDENT_OUTPUT)
              .writeValueAsBytes(report));
    } catch (IOException e) {
      throw new PayrelayException(Category.FATAL, "The report cannot be written to " + file, e);
    }
  }

  private static String memory(double megabytes) {
    return megabytes == 0 ? "-" : String.format(Locale.ROOT, "%.0f", megabytes);
  }
}

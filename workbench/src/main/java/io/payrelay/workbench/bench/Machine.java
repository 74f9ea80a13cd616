package io.payrelay.workbench.bench;

import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.time.Instant;
import java.time.temporal.ChronoUnit;

/**
 * Where and when a figure was taken. Immutable.
 *
 * @param loadAverage of the minute before: what else ran beside the benchmark
 */
record Machine(String at, int cpus, long memoryMb, String system, String java, double loadAverage) {

  static Machine now() {
    OperatingSystemMXBean system =
        (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
    return new Machine(
        Instant.now().truncatedTo(ChronoUnit.SECONDS).toString(),
        Runtime.getRuntime().availableProcessors(),
        system.getTotalMemorySize() >> 20,
        "%s %s".formatted(System.getProperty("os.name"), System.getProperty("os.arch")),
        "Java " + System.getProperty("java.version"),
        system.getSystemLoadAverage());
  }
}

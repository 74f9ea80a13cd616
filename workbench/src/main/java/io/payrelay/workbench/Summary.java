package io.payrelay.workbench;

import io.payrelay.simulator.FaultProfile;
import io.payrelay.simulator.SimulatorStats;
import java.io.PrintWriter;
import java.util.List;
import java.util.Locale;

/** The result, for a person. */
final class Summary {

  private Summary() {}

  static void print(
      PrintWriter out, Report report, FaultProfile faults, long seed, SimulatorStats stats) {
    out.printf(
        Locale.ROOT,
        "%nPayrelay demo: %d payments, faults %s, seed %d, %.1f s%n%n",
        report.payments(),
        faults.name().toLowerCase(Locale.ROOT),
        seed,
        report.elapsedS());
    row(out, "payments SUCCEEDED", report.succeeded());
    row(out, "payments FAILED (declined)", report.failed());
    row(out, "charges at the provider", report.providerCharges());
    row(out, "status events", report.statusEvents());
    refunds(out, report.refunds());
    out.println();
    row(out, "faults in calls", stats.faults().values().stream().mapToLong(Long::longValue).sum());
    row(
        out,
        "faults in queries",
        stats.queryFaults().values().stream().mapToLong(Long::longValue).sum());
    row(
        out,
        "faults in webhooks",
        stats.webhookFaults().values().stream().mapToLong(Long::longValue).sum());
    row(out, "queries what became of a call", stats.queries());
    row(out, "webhooks received", report.webhooksReceived());
    out.println();
    invariants(out, report);
    List<String> violations = report.violations();
    out.println();
    out.println(
        violations.isEmpty()
            ? "All invariants hold."
            : "INVARIANTS ARE BROKEN: " + String.join("; ", violations));
    out.flush();
  }

  /** What has to be zero. */
  static void invariants(PrintWriter out, Report report) {
    must(out, "payments without an end", report.unresolved());
    must(out, "double charges", report.doubleCharges());
    must(out, "charged but not SUCCEEDED", report.chargedButNotSucceeded());
    must(out, "SUCCEEDED but not charged", report.succeededButNotCharged());
    must(out, "FAILED but charged, without a case", report.failedButCharged());
    must(out, "status events missing", report.missingStatusEvents());
    must(out, "status events twice", report.duplicateStatusEvents());
    must(out, "status events out of order", report.outOfOrderStatusEvents());
    must(out, "postings that do not balance", report.unbalancedPostings());
    must(out, "ledger and provider differ", report.ledgerDifferences());
    must(out, "exception cases", report.exceptionCases());
    RefundCounts refunds = report.refunds();
    must(out, "refunds without an end", refunds.unresolved());
    must(
        out,
        "refunds made twice, or beyond the charge",
        refunds.doubleRefunds() + refunds.beyondCaptured());
    must(out, "refunds and provider differ", refunds.differences());
    must(out, "refunds returned, without a case", refunds.returnedWithoutCase());
    must(
        out,
        "refund events missing, twice, disordered",
        refunds.missingEvents() + refunds.duplicateEvents() + refunds.outOfOrderEvents());
  }

  /** Where any were asked for. */
  static void refunds(PrintWriter out, RefundCounts refunds) {
    if (refunds.refunds() > 0) {
      row(out, "refunds SUCCEEDED", refunds.succeeded());
      row(out, "refunds FAILED or RETURNED", refunds.failed() + refunds.returned());
    }
  }

  static void row(PrintWriter out, String name, long value) {
    out.printf(Locale.ROOT, "  %-42s %8d%n", name, value);
  }

  static void must(PrintWriter out, String name, long value) {
    out.printf(Locale.ROOT, "  %-42s %8d  %s%n", name, value, value == 0 ? "ok" : "MUST BE 0");
  }
}

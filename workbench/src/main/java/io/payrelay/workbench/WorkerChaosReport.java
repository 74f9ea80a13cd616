package io.payrelay.workbench;

import com.fasterxml.jackson.annotation.JsonIgnore;
import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.annotation.JsonUnwrapped;
import io.payrelay.simulator.FaultProfile;
import java.io.PrintWriter;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * What came of killing charge workers: the fields of the demo's report, and the kills. Immutable.
 *
 * @param kills processes that died of it
 * @param freezes processes that were stopped for longer than their leases, and woken
 * @param abandonedAttempts calls whose lease ended before their outcome was written
 * @param providerQueries what the provider was asked
 * @param ownExits workers that ended without being killed by us
 * @param converged false: after the limit something was still open
 * @param offenders the first payments that have no end, or whose money and status differ
 */
record WorkerChaosReport(
    @JsonUnwrapped Report report,
    @JsonProperty("kills") long kills,
    @JsonProperty("kills_by_kind") Map<WorkerKillKind, Integer> killsByKind,
    @JsonProperty("freezes") long freezes,
    @JsonProperty("abandoned_attempts") long abandonedAttempts,
    @JsonProperty("provider_queries") long providerQueries,
    @JsonProperty("own_exits") long ownExits,
    @JsonProperty("converged") boolean converged,
    @JsonProperty("learn_by") LearnBy learnBy,
    @JsonProperty("seed") long seed,
    @JsonProperty("offenders") List<String> offenders) {

  /** Zeros are the only pass. */
  @JsonIgnore
  boolean passed() {
    return report.violations().isEmpty() && ownExits == 0 && converged;
  }

  /** For a person. */
  void print(PrintWriter out) {
    out.printf(
        Locale.ROOT,
        "%nPayrelay chaos: %d charge workers killed, %d frozen, faults %s, learning by %s, seed %d, %.0f s%n%n",
        kills,
        freezes,
        FaultProfile.STORM.name().toLowerCase(Locale.ROOT),
        learnBy.name().toLowerCase(Locale.ROOT),
        seed,
        report.elapsedS());
    killsByKind.forEach(
        (kind, count) ->
            Summary.row(
                out, "killed " + kind.name().toLowerCase(Locale.ROOT).replace('_', ' '), count));
    Summary.row(out, "payments", report.payments());
    Summary.row(out, "payments SUCCEEDED", report.succeeded());
    Summary.row(out, "payments FAILED (declined)", report.failed());
    Summary.row(out, "charges at the provider", report.providerCharges());
    Summary.row(out, "status events", report.statusEvents());
    Summary.refunds(out, report.refunds());
    Summary.row(out, "attempts whose lease ended", abandonedAttempts);
    Summary.row(out, "queries what became of a call", providerQueries);
    Summary.row(out, "webhooks received", report.webhooksReceived());
    out.println();
    Summary.invariants(out, report);
    Summary.must(out, "workers that ended by themselves", ownExits);
    offenders.forEach(offender -> out.println("  " + offender));
    if (!converged) {
      out.println("  Not everything came to its end in time.");
    }
    out.println();
    out.println(passed() ? "All invariants hold." : "THE PROMISE IS BROKEN.");
    out.flush();
  }
}

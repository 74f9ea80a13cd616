package io.payrelay.app;

import static org.assertj.core.api.Assertions.assertThat;

import io.payrelay.relay.RepublishReport;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

final class RepublishCommandTest {

  private final StringWriter out = new StringWriter();

  @Test
  void failsWhereEventsThatWereToBeSentWereNot() {
    assertThat(tell(List.of("evt_1"), true)).isEqualTo(CommandLines.EXIT_FATAL);
    assertThat(out.toString()).contains("not sent", "evt_1", "3 events sent");
  }

  @Test
  void aDryRunOrAWholeOneSucceeds() {
    assertThat(tell(List.of("evt_1"), false)).isZero();
    assertThat(tell(List.of(), true)).isZero();
  }

  private int tell(List<String> unencodable, boolean executed) {
    return RepublishCommand.tell(
        new RepublishReport(Map.of("payments.status: Changed", 3L), unencodable, executed),
        new PrintWriter(out));
  }
}

package io.payrelay.app;

import io.payrelay.payments.store.QueryRequests;
import io.payrelay.platform.errors.Category;
import io.payrelay.platform.errors.PayrelayException;
import java.time.Duration;

/** How the end of a question is told. Stateless. */
final class Questions {

  private Questions() {}

  static String sentence(CaseOffice.Answered answered) {
    QueryRequests.Answer answer = answered.answer();
    String state = answered.asked().subject() + " is " + answered.status();
    if (answer == null) {
      return "no answer yet (does a charge-worker run?); the question stays; " + state;
    }
    return "%s answered %s%s%s; %s"
        .formatted(
            answered.asked().provider(),
            answer.outcome(),
            answer.httpStatus() == null ? "" : " (HTTP " + answer.httpStatus() + ")",
            answer.detail() == null ? "" : ": " + answer.detail(),
            state);
  }

  /** Waits; an interrupt is a retriable end. */
  static CaseOffice.Answered await(CaseOffice office, QueryRequests.Asked asked, Duration limit) {
    try {
      return office.await(asked, limit);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new PayrelayException(Category.RETRIABLE, "Interrupted; the question stays", e);
    }
  }

  /** 3: ask again later. */
  static int exitCode(CaseOffice.Answered answered) {
    return answered.answer() == null ? CommandLines.EXIT_RETRIABLE : 0;
  }
}

package io.payrelay.webhook;

import java.util.EnumSet;
import java.util.Set;

/** Why the ingest turns a request away, as the metric says it; verifiers have their own. */
enum Reason {
  NOT_FOUND("not found"),
  UNKNOWN_PROVIDER("unknown provider"),
  METHOD("method"),
  TOO_MANY_HEADERS("too many headers"),
  CONTENT_ENCODING("content encoding"),
  BODY_TOO_LARGE("body too large"),
  BODY_TOO_SLOW("body too slow"),
  BODY_GAVE_WAY("body gave way"),
  BODY_BROKEN_OFF("body broken off"),
  TOO_MANY_BODIES("too many bodies"),
  TOO_MANY_REQUESTS("too many requests"),
  TOO_MANY_OF_PROVIDER("too many requests of this provider"),
  NOT_STORED("not stored"),
  NOT_STORED_IN_TIME("not stored in time"),
  VERIFIER_FAILED("verifier failed"),
  BUG("bug"),
  TOO_MANY_CONNECTIONS("too many connections"),
  HEAD_TOO_SLOW("head too slow"),
  HEAD_TOO_LARGE("head too large"),
  HEAD_BROKEN("head broken");

  /** The provider's name where a request has none of ours. */
  static final String NOBODY = "unknown";

  /** Said before a provider is known, and of none that is. */
  private static final Set<Reason> OF_NOBODY =
      EnumSet.of(
          NOT_FOUND,
          UNKNOWN_PROVIDER,
          TOO_MANY_CONNECTIONS,
          HEAD_TOO_SLOW,
          HEAD_TOO_LARGE,
          HEAD_BROKEN);

  private final String text;

  Reason(String text) {
    this.text = text;
  }

  String text() {
    return text;
  }

  /** What a request without a known provider is refused for. */
  static Set<Reason> ofNobody() {
    Set<Reason> reasons = EnumSet.copyOf(OF_NOBODY);
    reasons.addAll(EnumSet.of(METHOD, TOO_MANY_HEADERS, BUG));
    return reasons;
  }

  /** What a request at a provider's own path is refused for. */
  static Set<Reason> ofProviders() {
    return EnumSet.complementOf(EnumSet.copyOf(OF_NOBODY));
  }
}

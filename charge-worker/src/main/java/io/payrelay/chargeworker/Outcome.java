package io.payrelay.chargeworker;

import io.payrelay.payments.store.Claim;
import io.payrelay.providers.ProviderAnswer;
import java.time.Duration;

/** What a claimed attempt came to, not yet written. Immutable. */
record Outcome(ProviderLane lane, Claim claim, ProviderAnswer answer, Duration took) {}

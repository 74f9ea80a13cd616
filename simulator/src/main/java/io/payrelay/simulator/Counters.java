package io.payrelay.simulator;

import java.util.EnumMap;
import java.util.Map;
import java.util.concurrent.atomic.LongAdder;

/** The running counts behind {@link SimulatorStats}. Thread-safe. */
final class Counters {
  final LongAdder chargeCalls = new LongAdder();
  final LongAdder refundCalls = new LongAdder();
  final LongAdder replays = new LongAdder();
  final LongAdder queries = new LongAdder();
  final LongAdder webhookEvents = new LongAdder();
  final LongAdder webhooksDelivered = new LongAdder();
  final LongAdder webhookAttemptsFailed = new LongAdder();
  final LongAdder webhooksGivenUp = new LongAdder();
  final LongAdder webhooksWithoutTarget = new LongAdder();
  private final Map<Fault, LongAdder> faults = adders(Fault.class);
  private final Map<QueryFault, LongAdder> queryFaults = adders(QueryFault.class);
  private final Map<WebhookFault, LongAdder> webhookFaults = adders(WebhookFault.class);

  void count(Fault fault) {
    increment(faults, fault);
  }

  void count(QueryFault fault) {
    increment(queryFaults, fault);
  }

  void count(WebhookFault fault) {
    increment(webhookFaults, fault);
  }

  SimulatorStats snapshot(Ledger ledger, Refunds refunds) {
    Map<WebhookFault, Long> webhooks = sums(WebhookFault.class, webhookFaults, WebhookFault.NONE);
    return new SimulatorStats(
        chargeCalls.sum(),
        replays.sum(),
        queries.sum(),
        ledger.size(),
        ledger.idsChargedTwice(),
        ledger.countsByStatus(),
        sums(Fault.class, faults, Fault.NONE),
        sums(QueryFault.class, queryFaults, QueryFault.NONE),
        webhooks,
        webhookEvents.sum(),
        webhooksDelivered.sum(),
        webhooks.getOrDefault(WebhookFault.LOST, 0L),
        webhookAttemptsFailed.sum(),
        webhooksGivenUp.sum(),
        webhooksWithoutTarget.sum(),
        refundCalls.sum(),
        refunds.size(),
        refunds.idsRefundedTwice());
  }

  private static <K extends Enum<K>> Map<K, LongAdder> adders(Class<K> type) {
    Map<K, LongAdder> adders = new EnumMap<>(type);
    for (K key : type.getEnumConstants()) {
      adders.put(key, new LongAdder());
    }
    return adders;
  }

  private static <K> void increment(Map<K, LongAdder> adders, K key) {
    LongAdder adder = adders.get(key);
    if (adder != null) {
      adder.increment();
    }
  }

  private static <K extends Enum<K>> Map<K, Long> sums(
      Class<K> type, Map<K, LongAdder> adders, K none) {
    Map<K, Long> sums = new EnumMap<>(type);
    adders.forEach(
        (key, adder) -> {
          if (key != none) {
            sums.put(key, adder.sum());
          }
        });
    return sums;
  }
}

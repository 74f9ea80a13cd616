package io.payrelay.relay;

import io.payrelay.platform.errors.Category;
import io.payrelay.platform.errors.PayrelayException;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.AbortTransactionSpec;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.DescribeProducersResult;
import org.apache.kafka.clients.admin.FinalizedVersionRange;
import org.apache.kafka.clients.admin.ProducerState;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.clients.admin.TransactionDescription;
import org.apache.kafka.clients.admin.TransactionState;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.AuthorizationException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Finds what Kafka left open of this relay's earlier transactions although {@code initTransactions}
 * has returned, and ends it where that is provably harmless. Belongs to one thread.
 *
 * <p><b>Why there can be any.</b> Brokers of 4.x take a partition that has no leader in the moment
 * of a commit or abort for a deleted one: they leave its end marker out and call the transaction
 * complete (KAFKA-20734). Nobody reads past such a partition; worse, the next transaction of the
 * same producer there would end the old one together with itself, an aborted one as committed. So
 * this runs before anything is published.
 *
 * <p><b>Why it is safe.</b> With transactions of version 2 each transaction has an epoch of its
 * own, E, and its markers carry a later one; the producer has written nothing since, and after
 * fencing nobody else may. A partition of the producer is therefore either open at E, or was not
 * touched by E (its epoch is at most E, without batches of it), or holds E's marker (a later
 * epoch).
 *
 * <ul>
 *   <li>No marker anywhere: no read_committed reader has seen a row of it, nor the position that
 *       goes with them. Aborted everywhere it never was; the rows come again from the WAL. That the
 *       coordinator may have decided to commit does not matter: the slot is confirmed one
 *       transaction behind ({@link BatchPublisher#confirmable}), and were it ahead all the same,
 *       the start-up check would refuse.
 *   <li>Marker on the position partition, and its newest record was aborted: so was the
 *       transaction. The rest is aborted as well.
 *   <li>All else, and what is so old that brokers may have forgotten a marker, may be a commit torn
 *       apart: refused, for only the comparison of {@code relay recover} can tell what is missing.
 * </ul>
 *
 * <p>A marker that the broker rejects because of a later epoch changes nothing, so a relay that is
 * fenced meanwhile can do no harm here.
 */
final class HangingTransactions {

  private static final Logger log = LoggerFactory.getLogger(HangingTransactions.class);

  /** Time for markers that are still on their way between brokers. */
  private static final Duration SETTLE = Duration.ofSeconds(2);

  /** Half of the time after which brokers forget what an idle producer left on a partition. */
  private static final Duration REMEMBERED = Duration.ofHours(12);

  private static final String VERSION_FEATURE = "transaction.version";
  private static final int VERSION_EPOCH_PER_TRANSACTION = 2;

  private final Admin admin;
  private final String transactionalId;
  private final PositionStore store;
  private final InstantSource clock;

  /** What may be done about what was found. */
  enum Verdict {
    NOTHING_OPEN,
    ABORT,
    /** Abort it if the position's newest record was aborted, else refuse. */
    AS_POSITION,
    REFUSE,
    /** A later owner of the slot is at work. */
    FENCED
  }

  HangingTransactions(
      Admin admin, String transactionalId, PositionStore store, InstantSource clock) {
    this.admin = admin;
    this.transactionalId = transactionalId;
    this.store = store;
    this.clock = clock;
  }

  /**
   * Ends what hangs on these topics.
   *
   * @throws PayrelayException FATAL where a human must decide
   */
  void end(Collection<String> topics) {
    List<TopicPartition> partitions = partitions(topics);
    Map<TopicPartition, ProducerState> found = ours(partitions);
    if (open(found).isEmpty()) {
      return;
    }
    LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(SETTLE.toMillis()));
    Map<TopicPartition, ProducerState> settled = ours(partitions);
    if (!places(open(found)).equals(places(open(settled)))) {
      throw new PayrelayException(
          Category.RETRIABLE, "Kafka is still ending an earlier transaction: " + text(settled));
    }
    Verdict verdict =
        verdict(settled, store.partition(), description().producerEpoch(), clock.millis());
    if (verdict == Verdict.FENCED) {
      throw new PayrelayException(
          Category.RETRIABLE, "Another relay works on " + transactionalId + " meanwhile");
    }
    boolean harmless =
        verdict == Verdict.ABORT
            || (verdict == Verdict.AS_POSITION && store.newestWasAborted(admin));
    if (!harmless || !epochPerTransaction()) {
      // So that no restart streams on once these are aborted: only recover knows what is missing.
      store.markForRecovery(admin);
      throw refused(settled);
    }
    abort(settled);
  }

  /** Pure. The states are those of our own producer id only. */
  static Verdict verdict(
      Map<TopicPartition, ProducerState> ours,
      TopicPartition position,
      int currentEpoch,
      long nowMs) {
    Map<TopicPartition, ProducerState> open = open(ours);
    if (open.isEmpty()) {
      return Verdict.NOTHING_OPEN;
    }
    int epoch = open.values().iterator().next().producerEpoch();
    if (open.values().stream().anyMatch(state -> state.producerEpoch() >= currentEpoch)) {
      return Verdict.FENCED;
    }
    if (open.values().stream()
        .anyMatch(
            state ->
                state.producerEpoch() != epoch
                    || nowMs - state.lastTimestamp() > REMEMBERED.toMillis())) {
      return Verdict.REFUSE;
    }
    boolean marked = false;
    for (Map.Entry<TopicPartition, ProducerState> entry : ours.entrySet()) {
      marked |= !open.containsKey(entry.getKey()) && mayHoldMarkerOf(epoch, entry.getValue());
    }
    if (!marked) {
      return Verdict.ABORT;
    }
    ProducerState stored = ours.get(position);
    boolean markerIsNewest =
        stored != null && !open.containsKey(position) && stored.producerEpoch() == epoch + 1;
    return markerIsNewest ? Verdict.AS_POSITION : Verdict.REFUSE;
  }

  /** A later epoch, or batches of that very epoch that are closed: then it was no version 2. */
  private static boolean mayHoldMarkerOf(int epoch, ProducerState state) {
    return state.producerEpoch() > epoch
        || (state.producerEpoch() == epoch && state.lastSequence() >= 0);
  }

  private static Map<TopicPartition, ProducerState> open(Map<TopicPartition, ProducerState> ours) {
    Map<TopicPartition, ProducerState> open = inOrder();
    ours.forEach(
        (partition, state) -> {
          if (state.currentTransactionStartOffset().isPresent()) {
            open.put(partition, state);
          }
        });
    return open;
  }

  private void abort(Map<TopicPartition, ProducerState> states) {
    Map<TopicPartition, ProducerState> open = open(states);
    try {
      open.forEach(
          (partition, state) ->
              Futures.get(
                  admin
                      .abortTransaction(
                          new AbortTransactionSpec(
                              partition,
                              state.producerId(),
                              (short) state.producerEpoch(),
                              state.coordinatorEpoch().orElse(0)))
                      .all()));
    } catch (AuthorizationException e) {
      throw new PayrelayException(
          Category.FATAL,
          "Kafka left a transaction of this relay open (%s), and the relay may not end it: grant it ALTER on the cluster, or end it with kafka-transactions.sh abort"
              .formatted(text(open)),
          e);
    }
    log.warn(
        "transactional_id={} Kafka left a transaction open that nobody has seen a record of:"
            + " aborted {}; its rows are published again",
        transactionalId,
        text(open));
  }

  private PayrelayException refused(Map<TopicPartition, ProducerState> states) {
    return StartupCheck.refused(
        "Kafka left a transaction of this relay ended in part only: open are %s. Publishing would repeat or lose rows: end these with kafka-transactions.sh abort, then run `payrelay relay recover --execute`"
            .formatted(text(open(states))));
  }

  private Map<TopicPartition, ProducerState> ours(List<TopicPartition> partitions) {
    TransactionDescription own = description();
    if (own.state() != TransactionState.EMPTY
        && own.state() != TransactionState.COMPLETE_ABORT
        && own.state() != TransactionState.COMPLETE_COMMIT) {
      throw new PayrelayException(
          Category.RETRIABLE,
          "Transactional id %s is in state %s: another relay works with it"
              .formatted(transactionalId, own.state()));
    }
    Map<TopicPartition, ProducerState> ours = inOrder();
    DescribeProducersResult described = admin.describeProducers(partitions);
    try {
      for (TopicPartition partition : partitions) {
        Futures.get(described.partitionResult(partition)).activeProducers().stream()
            .filter(state -> state.producerId() == own.producerId())
            .forEach(state -> ours.put(partition, state));
      }
    } catch (AuthorizationException e) {
      throw new PayrelayException(
          Category.FATAL,
          "The relay may not look for open transactions: grant it READ on each topic it writes to",
          e);
    }
    return ours;
  }

  private TransactionDescription description() {
    return Futures.get(
        admin.describeTransactions(List.of(transactionalId)).description(transactionalId));
  }

  private List<TopicPartition> partitions(Collection<String> topics) {
    List<TopicPartition> partitions = new ArrayList<>();
    for (TopicDescription topic :
        Futures.get(admin.describeTopics(topics).allTopicNames()).values()) {
      topic
          .partitions()
          .forEach(
              partition -> partitions.add(new TopicPartition(topic.name(), partition.partition())));
    }
    return partitions;
  }

  private boolean epochPerTransaction() {
    FinalizedVersionRange version =
        Futures.get(admin.describeFeatures().featureMetadata())
            .finalizedFeatures()
            .get(VERSION_FEATURE);
    return version != null && version.maxVersionLevel() >= VERSION_EPOCH_PER_TRANSACTION;
  }

  private static Map<TopicPartition, Long> places(Map<TopicPartition, ProducerState> open) {
    Map<TopicPartition, Long> places = inOrder();
    open.forEach(
        (partition, state) ->
            places.put(partition, state.currentTransactionStartOffset().orElse(-1)));
    return places;
  }

  private static String text(Map<TopicPartition, ProducerState> states) {
    return open(states).entrySet().stream()
        .map(
            entry ->
                "%s from offset %d (producer id %d, epoch %d)"
                    .formatted(
                        entry.getKey(),
                        entry.getValue().currentTransactionStartOffset().orElse(-1),
                        entry.getValue().producerId(),
                        entry.getValue().producerEpoch()))
        .collect(Collectors.joining(", "));
  }

  private static <V> Map<TopicPartition, V> inOrder() {
    return new TreeMap<>(
        Comparator.comparing(TopicPartition::topic).thenComparingInt(TopicPartition::partition));
  }
}

package io.payrelay.relay;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A recovery in words. Stateless. */
final class RecoveryText {

  private RecoveryText() {}

  static RecoveryReport nothingToDo(String slotName, RecoveryFacts facts) {
    List<String> lines = new ArrayList<>(head(slotName, facts));
    lines.add("nothing done:  the relay can start; to recover all the same, add --force");
    return new RecoveryReport(lines, 0, 0, null, false);
  }

  static RecoveryReport planned(
      String slotName,
      RecoveryOptions options,
      RecoveryFacts facts,
      PublishedEvents published,
      RecoveryDifference difference) {
    List<String> lines = new ArrayList<>(head(slotName, facts));
    lines.addAll(body(options, facts, published, difference));
    String refusal = difference.refusal(options);
    if (facts.activeOwner() != null) {
      lines.add(
          "relay:         %s is active: what is missing may be on its way; stop it before --execute"
              .formatted(facts.activeOwner()));
    }
    if (refusal == null) {
      lines.add(
          "would do:      %s slot %s, publish %,d rows with header %s, and write the new slot's start as the relay's position"
              .formatted(
                  facts.slot().isPresent() ? "drop and make anew" : "make",
                  slotName,
                  difference.missing().size(),
                  RelayRecovery.RECOVERED_HEADER));
      if (facts.cause() == null) {
        lines.add("               only with --force: the relay can start as it is");
      }
      lines.add("Nothing was changed. To do it, add --execute.");
    }
    return new RecoveryReport(
        lines, difference.rows(), difference.missing().size(), refusal, false);
  }

  static RecoveryReport executed(
      String slotName,
      RecoveryOptions options,
      RecoveryFacts facts,
      PublishedEvents published,
      RecoveryDifference difference,
      Position position) {
    List<String> lines = new ArrayList<>(head(slotName, facts));
    lines.addAll(body(options, facts, published, difference));
    lines.add(
        "done:          slot %s made at %s, %,d rows published, position written; the relay can start"
            .formatted(slotName, position, difference.missing().size()));
    return new RecoveryReport(lines, difference.rows(), difference.missing().size(), null, true);
  }

  private static List<String> head(String slotName, RecoveryFacts facts) {
    List<String> lines = new ArrayList<>();
    lines.add("slot:          " + slotName + facts.slot().map(RecoveryText::slot).orElse(", gone"));
    lines.add(
        "cause:         "
            + (facts.cause() == null ? "none: slot and position fit each other" : facts.cause()));
    Position position = facts.position();
    if (position == null) {
      lines.add("position:      none in Kafka");
    } else {
      DatabaseIdentity origin = position.origin();
      lines.add(
          "position:      %s, committed %s, of PostgreSQL %s on timeline %d and Kafka cluster %s"
              .formatted(
                  position,
                  position.commitTimeUsec() == 0
                      ? "at an unknown time"
                      : RecoveryFacts.instant(position.commitTimeUsec()),
                  origin.systemId(),
                  origin.timeline(),
                  origin.kafkaClusterId()));
    }
    return lines;
  }

  private static String slot(SlotFacts.Slot slot) {
    return ", confirmed to " + Lsn.text(slot.confirmedLsn()) + ", WAL " + slot.walStatus();
  }

  private static List<String> body(
      RecoveryOptions options,
      RecoveryFacts facts,
      PublishedEvents published,
      RecoveryDifference difference) {
    List<String> lines = new ArrayList<>();
    lines.add(
        facts.bound() == null
            ? "bound:         none: the time up to which all is in Kafka is not known (--since), so the whole outbox is compared"
            : "bound:         rows created since %s (%s less --longest-transaction %s)"
                .formatted(
                    facts.bound(),
                    options.since() == null ? "the position's commit time" : "--since",
                    options.longestTransaction()));
    Position position = facts.position();
    if (options.since() != null
        && position != null
        && position.commitTimeUsec() > 0
        && options.since().isAfter(RecoveryFacts.instant(position.commitTimeUsec()))) {
      lines.add(
          "WARNING:       --since is later than the position: what committed between them is taken for published on your word");
    }
    lines.add("outbox:        %,d rows since the bound".formatted(difference.rows()));
    addIf(lines, difference.daysNote());
    lines.add(
        "Kafka:         %,d records since %s, of %,d events; %,d without an event id"
            .formatted(
                published.records(),
                facts.kafkaFrom() == null ? "the first" : facts.kafkaFrom(),
                published.events(),
                published.foreign()));
    published
        .missingTopics()
        .forEach(topic -> lines.add("               there is no topic " + topic));
    if (facts.position() != null
        && !facts.position().origin().kafkaClusterId().equals(facts.origin().kafkaClusterId())) {
      lines.add(
          "               the position is of another cluster: compared is what this one holds; records that were not copied count as missing");
    }
    lines.add(
        "in Kafka:      %,d rows, and %,d as dead letters"
            .formatted(difference.inTopics(), difference.inDeadLetters()));
    lines.add("missing:       %,d rows".formatted(difference.missing().size()));
    difference
        .missingByType()
        .forEach((type, group) -> lines.add("               " + type + ": " + group));
    difference
        .doubtfulByPartition()
        .forEach(
            (partition, group) ->
                lines.add(
                    "doubtful:      may be among records deleted from "
                        + partition
                        + ": "
                        + group));
    if (difference.untimed().count() > 0) {
      lines.add("doubtful:      their created_at cannot be true: " + difference.untimed());
    }
    return lines;
  }

  private static void addIf(List<String> lines, @Nullable String note) {
    if (note != null) {
      lines.add("               " + note);
    }
  }
}

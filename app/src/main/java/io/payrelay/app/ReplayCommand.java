package io.payrelay.app;

import io.payrelay.app.replay.Effect;
import io.payrelay.app.replay.OffsetReplay;
import io.payrelay.app.replay.PartitionReplay;
import io.payrelay.app.replay.ReplayPlan;
import io.payrelay.app.replay.ReplayTarget;
import io.payrelay.platform.config.Settings;
import io.payrelay.platform.database.Database;
import io.payrelay.platform.database.DatabaseConfig;
import io.payrelay.platform.kafka.KafkaConfig;
import io.payrelay.relay.RelayConfig;
import io.payrelay.schemas.EventCatalogue;
import io.payrelay.schemas.EventCodec;
import io.payrelay.schemas.Topic;
import java.io.PrintWriter;
import java.time.Clock;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.Callable;
import org.jdbi.v3.core.JdbiException;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.ParentCommand;
import picocli.CommandLine.Spec;

/** Lets a consumer group read records again. */
@Command(
    name = "replay",
    mixinStandardHelpOptions = true,
    description = {
      "Sets the committed offsets of a consumer group back, so that it reads records again. Says what would be read",
      "again and what it would do; sets the offsets with --execute. Refuses while the group has members. A payment that",
      "was charged is not charged again by it, nor is a refund given back again. See docs/operations.md."
    })
@SuppressWarnings("NullAway.Init") // picocli injects.
final class ReplayCommand implements Callable<Integer> {

  private static final List<Effect> OF_REQUESTS =
      List.of(Effect.TERMINAL, Effect.UNRESOLVED, Effect.NEW, Effect.NOT_THERE, Effect.UNREADABLE);
  private static final List<Effect> OF_OTHERS = List.of(Effect.READABLE, Effect.UNREADABLE);

  private static final Map<Effect, String> SENTENCES =
      Map.of(
          Effect.TERMINAL, "of payments that have their end: nothing happens",
          Effect.UNRESOLVED, "of payments that are being worked on: only asked about",
          Effect.NEW, "of payments for which nothing was done yet: THEY WOULD BE CHARGED",
          Effect.NOT_THERE, "of payments that are not there: they become dead letters",
          Effect.UNREADABLE, "that cannot be read",
          Effect.READABLE, "of events whose effect only the group's own program knows");

  private static final Map<Effect, String> OF_REFUNDS =
      Map.of(
          Effect.TERMINAL, "of refunds that have their end: nothing happens",
          Effect.UNRESOLVED, "of refunds that are being worked on: only asked about",
          Effect.NEW, "of refunds for which nothing was done yet: THE MONEY WOULD BE GIVEN BACK",
          Effect.NOT_THERE, "of refunds that are not there: they become dead letters",
          Effect.UNREADABLE, "that cannot be read");

  @ParentCommand private PayrelayCommand parent;
  @Spec private CommandSpec spec;

  @Option(
      names = "--topic",
      required = true,
      paramLabel = "T",
      description = "such as " + Topic.CHARGE_REQUESTS)
  private String topic;

  @Option(
      names = "--group",
      required = true,
      paramLabel = "G",
      description = "such as payrelay-charge-worker (PAYRELAY_CHARGE_GROUP_ID of the workers)")
  private String group;

  @ArgGroup(exclusive = true, multiplicity = "1")
  private To to;

  @Option(
      names = "--partition",
      paramLabel = "P",
      description = "this partition only; may be given several times")
  private List<Integer> partitions = new ArrayList<>();

  @Option(names = "--execute", description = "set the offsets; without this nothing is changed")
  private boolean execute;

  /** Where to begin again. */
  static final class To {

    @Option(
        names = "--to-datetime",
        required = true,
        paramLabel = "D",
        converter = TimeOptions.ToInstant.class,
        description = "the first records published then or later, such as 2026-11-29T12:00:00Z")
    private @Nullable Instant datetime;

    @Option(
        names = "--to-offset",
        required = true,
        paramLabel = "O",
        description = "this offset, in each partition")
    private @Nullable Long offset;

    @Option(
        names = "--to-earliest",
        required = true,
        description = "the oldest records that Kafka still has")
    private boolean earliest;
  }

  @Override
  public Integer call() {
    ReplayTarget target = target();
    Settings settings = AppSettings.check(parent.environment(), AppSettings.REPLAY);
    PrintWriter out = spec.commandLine().getOut();
    EventCodec codec =
        new EventCodec(EventCatalogue.withFolder(settings.read(RelayConfig.SCHEMAS_DIR)));
    try (Database database = Database.open(DatabaseConfig.from(settings), "payrelay-replay");
        OffsetReplay replay =
            new OffsetReplay(KafkaConfig.from(settings), database.jdbi(), codec)) {
      ReplayPlan plan = replay.plan(topic, group, target, partitions);
      print(plan, out);
      OffsetReplay.refuseWhileActive(plan);
      if (execute) {
        replay.execute(plan);
        out.printf(
            Locale.ROOT,
            "The offsets of %d partitions are set: group %s reads %d records again when it is started.%n",
            plan.changed().size(),
            group,
            plan.records());
      } else {
        out.println("Nothing was changed; to set the offsets, add --execute.");
      }
      out.flush();
      return 0;
    } catch (JdbiException e) {
      throw SqlSentences.of(e);
    }
  }

  private ReplayTarget target() {
    if (to.earliest) {
      return ReplayTarget.earliest();
    }
    if (to.datetime != null) {
      if (to.datetime.isAfter(Clock.systemUTC().instant())) {
        throw new ParameterException(
            spec.commandLine(), "--to-datetime %s lies in the future".formatted(to.datetime));
      }
      return ReplayTarget.since(to.datetime);
    }
    long offset = Objects.requireNonNull(to.offset);
    if (offset < 0) {
      throw new ParameterException(
          spec.commandLine(), "--to-offset takes 0 or more, not " + offset);
    }
    return ReplayTarget.offset(offset);
  }

  static void print(ReplayPlan plan, PrintWriter out) {
    boolean refunds = plan.topic().equals(Topic.REFUND_REQUESTS);
    List<Effect> columns =
        refunds || plan.topic().equals(Topic.CHARGE_REQUESTS) ? OF_REQUESTS : OF_OTHERS;
    Map<Effect, String> sentences = refunds ? OF_REFUNDS : SENTENCES;
    out.printf(Locale.ROOT, "%9s %12s %12s %10s", "partition", "committed", "target", "records");
    columns.forEach(effect -> out.printf(Locale.ROOT, " %10s", effect.title()));
    out.println();
    for (PartitionReplay one : plan.partitions()) {
      out.printf(
          Locale.ROOT,
          "%9d %12d %12d %10d",
          one.partition(),
          one.committed(),
          one.target(),
          one.records());
      columns.forEach(effect -> out.printf(Locale.ROOT, " %10d", one.count(effect)));
      out.println();
    }
    out.println();
    out.printf(
        Locale.ROOT,
        "Group %s would read %d records of %s again:%n",
        plan.group(),
        plan.records(),
        plan.topic());
    for (Effect effect : columns) {
      if (plan.count(effect) > 0) {
        out.printf(Locale.ROOT, "  %d %s%n", plan.count(effect), sentences.get(effect));
      }
    }
    out.flush();
  }
}

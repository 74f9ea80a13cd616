package io.payrelay.workbench;

import java.util.ArrayList;
import java.util.List;
import java.util.function.ToIntFunction;
import java.util.random.RandomGenerator;

/** In which order what is done. Pure, but for the random generator. */
final class KillPlan {

  private KillPlan() {}

  /**
   * Mixed anew in each round, so that a short run has each kind too.
   *
   * @param share how often a kind comes in a round
   */
  static <K> List<K> of(int kills, List<K> kinds, ToIntFunction<K> share, RandomGenerator random) {
    List<K> plan = new ArrayList<>();
    while (plan.size() < kills) {
      List<K> round = new ArrayList<>();
      for (K kind : kinds) {
        for (int i = 0; i < share.applyAsInt(kind); i++) {
          round.add(random.nextInt(round.size() + 1), kind);
        }
      }
      plan.addAll(round);
    }
    return List.copyOf(plan.subList(0, kills));
  }
}

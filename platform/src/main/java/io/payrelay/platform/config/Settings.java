package io.payrelay.platform.config;

import io.payrelay.platform.errors.Category;
import io.payrelay.platform.errors.PayrelayException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * The values of a process's settings, checked: every problem of the environment is reported at
 * once, an unknown variable with our prefix included. Immutable.
 */
public final class Settings {

  private static final String PREFIX = "PAYRELAY_";

  /** A misspelt name is nearer to the right one than this many edits. */
  private static final int SUGGESTION_DISTANCE_MAX = 6;

  private final Map<String, String> environment;

  private Settings(Map<String, String> environment) {
    this.environment = Map.copyOf(environment);
  }

  /**
   * Checks the environment.
   *
   * @param environment all variables; those without our prefix are ignored
   * @param needed what this process reads
   * @param known every setting of every process: a variable outside it is a mistake
   * @throws PayrelayException FATAL, naming every wrong variable and what it should be
   */
  public static Settings check(
      Map<String, String> environment,
      Collection<? extends Setting<?>> needed,
      Collection<? extends Setting<?>> known) {
    List<String> problems = new ArrayList<>();
    Settings settings = new Settings(environment);
    for (Setting<?> setting : needed) {
      String problem = settings.problemOf(setting);
      if (problem != null) {
        problems.add(problem);
      }
    }
    new TreeMap<>(environment)
        .keySet().stream()
            .filter(name -> name.startsWith(PREFIX))
            .filter(name -> known.stream().noneMatch(setting -> setting.name().equals(name)))
            .map(name -> unknown(name, known))
            .forEach(problems::add);
    if (!problems.isEmpty()) {
      throw new PayrelayException(
          Category.FATAL,
          "The configuration has "
              + (problems.size() == 1 ? "a problem" : problems.size() + " problems")
              + ":\n  - "
              + String.join("\n  - ", problems));
    }
    return settings;
  }

  /** The value of a setting that was among {@code needed}. */
  public <T> T read(Setting<T> setting) {
    String text = textOf(setting);
    if (text == null) {
      throw new IllegalStateException(setting.name() + " was not checked");
    }
    return setting.parser().apply(text);
  }

  /** Name and shown value of each setting, for the one line a process prints at its start. */
  public Map<String, String> effective(Collection<? extends Setting<?>> settings) {
    Map<String, String> shown = new TreeMap<>();
    for (Setting<?> setting : settings) {
      String text = textOf(setting);
      shown.put(
          setting.name(),
          text == null ? "" : setting.secret() && !text.isEmpty() ? "[hidden]" : masked(text));
    }
    return shown;
  }

  /** A text without the user info and passwords that somebody put into an address. */
  public static String masked(String text) {
    // Greedy up to the last @: a password may hold a slash or another @.
    return text.replaceAll("//\\S*@", "//[hidden]@")
        .replaceAll("(?i)(password=)[^&\\s]*", "$1[hidden]");
  }

  private @Nullable String textOf(Setting<?> setting) {
    String text = environment.get(setting.name());
    // An empty variable is what compose files and shells write for "not set".
    return text == null || text.isBlank() ? setting.defaultText() : text.strip();
  }

  private @Nullable String problemOf(Setting<?> setting) {
    String text = textOf(setting);
    if (text == null) {
      return setting.name() + " is not set: " + setting.description() + " (" + setting.form() + ")";
    }
    try {
      Object unused = setting.parser().apply(text);
      return null;
    } catch (IllegalArgumentException e) {
      // The value of a secret is not repeated, and neither is a message that may hold it.
      String shown =
          setting.secret()
              ? "has a value that is refused"
              : "is \"" + masked(text) + "\", which is refused";
      return setting.name() + " " + shown + ": it takes " + setting.form();
    }
  }

  private static String unknown(String name, Collection<? extends Setting<?>> known) {
    return known.stream()
        .map(Setting::name)
        .min(
            Comparator.<String>comparingInt(candidate -> distance(name, candidate))
                // Forgetting the unit at the end is the commonest mistake.
                .thenComparingInt(candidate -> candidate.startsWith(name) ? 0 : 1))
        .filter(candidate -> distance(name, candidate) <= SUGGESTION_DISTANCE_MAX)
        .map(candidate -> name + " is not a setting: did you mean " + candidate + "?")
        .orElse(name + " is not a setting: remove it (docs/configuration.md lists all)");
  }

  /** Levenshtein distance. */
  private static int distance(String left, String right) {
    int[] previous = new int[right.length() + 1];
    for (int j = 0; j <= right.length(); j++) {
      previous[j] = j;
    }
    for (int i = 1; i <= left.length(); i++) {
      int[] current = new int[right.length() + 1];
      current[0] = i;
      for (int j = 1; j <= right.length(); j++) {
        int substitution = previous[j - 1] + (left.charAt(i - 1) == right.charAt(j - 1) ? 0 : 1);
        current[j] = Math.min(substitution, Math.min(previous[j], current[j - 1]) + 1);
      }
      previous = current;
    }
    return previous[right.length()];
  }
}

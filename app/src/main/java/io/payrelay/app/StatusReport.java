package io.payrelay.app;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** What {@code status} has found out: tables, warnings, and who did not answer. One thread's. */
final class StatusReport {

  private static final ObjectMapper JSON =
      new ObjectMapper().enable(SerializationFeature.INDENT_OUTPUT);

  private final Map<String, List<Map<String, Object>>> sections = new LinkedHashMap<>();
  private final List<String> warnings = new ArrayList<>();
  private final List<String> failures = new ArrayList<>();
  private int exitCode;

  /** Adds a table; a null among its values is shown as such. */
  void section(String title, List<Map<String, Object>> rows) {
    sections.put(title, rows);
  }

  void warning(String sentence) {
    warnings.add(sentence);
  }

  /** Somebody did not answer, or refused. */
  void failure(String sentence, int code) {
    failures.add(sentence);
    exitCode = Math.max(exitCode, code);
  }

  /** 0 where everybody has answered; warnings do not change it. */
  int exitCode() {
    return exitCode;
  }

  /** Tables and warnings to the one, who did not answer to the other. */
  void print(PrintWriter out, PrintWriter err) {
    sections.forEach(
        (title, rows) -> {
          out.println(title + (rows.isEmpty() ? ": none" : ":"));
          rows.forEach(row -> out.println(line(row)));
        });
    lines(out, "warnings", warnings);
    out.flush();
    lines(err, "no answer", failures);
    err.flush();
  }

  void printJson(PrintWriter out) {
    Map<String, Object> all = new LinkedHashMap<>();
    sections.forEach(
        (title, rows) -> {
          List<Map<String, Object>> shown = new ArrayList<>();
          for (Map<String, Object> row : rows) {
            Map<String, Object> values = new LinkedHashMap<>();
            row.forEach((name, value) -> values.put(name, jsonValue(value)));
            shown.add(values);
          }
          all.put(title.toLowerCase(Locale.ROOT).replace(' ', '_'), shown);
        });
    all.put("warnings", warnings);
    all.put("no_answer", failures);
    try {
      out.println(JSON.writeValueAsString(all));
      out.flush();
    } catch (JsonProcessingException e) {
      throw new IllegalStateException(e);
    }
  }

  private static void lines(PrintWriter out, String title, List<String> sentences) {
    if (!sentences.isEmpty()) {
      out.println(title + ":");
      sentences.forEach(sentence -> out.println("  " + sentence));
    }
  }

  private static String line(Map<String, Object> row) {
    StringBuilder line = new StringBuilder("  ");
    row.forEach((name, value) -> line.append(name).append('=').append(value).append("  "));
    return line.toString().stripTrailing();
  }

  private static @Nullable Object jsonValue(@Nullable Object value) {
    return value == null
            || value instanceof Number
            || value instanceof Boolean
            || value instanceof List<?>
        ? value
        : value.toString();
  }
}

package io.payrelay.workbench;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import io.payrelay.platform.errors.Category;
import io.payrelay.platform.errors.PayrelayException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;

/** What {@code --report} names: null where nobody wants a file. Stateless. */
final class ReportFile {

  private ReportFile() {}

  /** Found out before the work, not after it. */
  static void check(CommandSpec spec, @Nullable Path file) {
    if (file != null) {
      Path folder = file.toAbsolutePath().getParent();
      if (Files.isDirectory(file) || folder == null || !Files.isWritable(folder)) {
        throw new ParameterException(
            spec.commandLine(), "--report names " + file + ", which cannot be written");
      }
    }
  }

  /** Writes it as JSON. */
  static void write(@Nullable Path file, Object report) {
    if (file == null) {
      return;
    }
    try {
      Files.write(
          file,
          new ObjectMapper().enable(SerializationFeature.INDENT_OUTPUT).writeValueAsBytes(report));
    } catch (IOException e) {
      throw new PayrelayException(Category.FATAL, "The report cannot be written to " + file, e);
    }
  }
}

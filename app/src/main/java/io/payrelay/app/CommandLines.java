package io.payrelay.app;

import io.payrelay.platform.errors.Category;
import io.payrelay.platform.errors.Failures;
import io.payrelay.platform.errors.PayrelayException;
import java.io.PrintWriter;
import org.slf4j.LoggerFactory;
import picocli.CommandLine;
import picocli.CommandLine.ParseResult;

/** The command line over a root command: how failures are told, and which exit code they give. */
public final class CommandLines {

  /** A human must act. */
  public static final int EXIT_FATAL = 1;

  /** The command line itself is wrong. */
  public static final int EXIT_USAGE = 2;

  /** It may work at another time. */
  public static final int EXIT_RETRIABLE = 3;

  private CommandLines() {}

  /** A command line whose failures are sentences, not stack traces; with further commands. */
  public static CommandLine of(PayrelayCommand root, Object... furtherCommands) {
    CommandLine commandLine = new CommandLine(root);
    // First these: settings of a command line reach only the subcommands it has by then.
    for (Object command : furtherCommands) {
      commandLine.addSubcommand(command);
    }
    commandLine.setExecutionExceptionHandler(CommandLines::tell);
    commandLine.setUsageHelpAutoWidth(true);
    commandLine.setCaseInsensitiveEnumValuesAllowed(true);
    return commandLine;
  }

  private static int tell(Exception failure, CommandLine commandLine, ParseResult parsed) {
    PrintWriter err = commandLine.getErr();
    if (failure instanceof InterruptedException) {
      Thread.currentThread().interrupt();
      return EXIT_RETRIABLE;
    }
    Category category = Failures.categoryOf(failure);
    String sentence = failure.getMessage() == null ? failure.toString() : failure.getMessage();
    err.println(commandLine.getColorScheme().errorText(sentence));
    err.flush();
    if (!(failure instanceof PayrelayException)) {
      // The sentence is the library's: whoever has to look deeper needs the place.
      LoggerFactory.getLogger(CommandLines.class).debug("command failed", failure);
    }
    return category == Category.RETRIABLE ? EXIT_RETRIABLE : EXIT_FATAL;
  }
}

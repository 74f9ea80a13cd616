package io.payrelay.schemas;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;

/** The SQL script that makes an installation's roles, for an administrator to run. Stateless. */
public final class RolesScript {

  private RolesScript() {}

  /** The whole script. */
  public static String text() {
    try (InputStream in = RolesScript.class.getResourceAsStream("/db/roles.sql")) {
      if (in == null) {
        throw new IllegalStateException("/db/roles.sql is missing on the class path");
      }
      return new String(in.readAllBytes(), UTF_8);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}

package io.payrelay.app;

import picocli.CommandLine.IVersionProvider;

/** Says which build this is. */
public final class Version implements IVersionProvider {

  @Override
  public String[] getVersion() {
    String version = Version.class.getPackage().getImplementationVersion();
    return new String[] {
      "payrelay " + (version == null ? "(development)" : version),
      "Java " + Runtime.version() + ", " + System.getProperty("os.name")
    };
  }
}

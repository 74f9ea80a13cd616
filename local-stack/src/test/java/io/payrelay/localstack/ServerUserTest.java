package io.payrelay.localstack;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import org.junit.jupiter.api.Test;

class ServerUserTest {
  private static final ServerUser NOT_INSTALLED =
      new ServerUser(List.of("payrelay-no-such-program"), 1);

  @Test
  void putsItsPrefixBeforeTheCommand() {
    assertThat(new ServerUser(List.of("su", "nobody"), 1).command(List.of("postgres", "-D")))
        .containsExactly("su", "nobody", "postgres", "-D");
  }

  @Test
  void saysWhatToDoWhenRootCannotBecomeAnotherUser() {
    assertThatThrownBy(() -> ServerUser.firstUsable(List.of(NOT_INSTALLED)))
        .isInstanceOf(LocalStackException.class)
        .hasMessageContaining("Run as another user");
  }
}

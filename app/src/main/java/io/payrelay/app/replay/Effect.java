package io.payrelay.app.replay;

/** What a record does when it is read again. */
public enum Effect {
  /** Its payment, or refund, has its end: nothing happens. */
  TERMINAL("terminal"),
  /** It is being worked on: it is only asked about, not sent again. */
  UNRESOLVED("unresolved"),
  /** Nothing was done for it yet: it is sent. */
  NEW("new"),
  /** There is no such payment, or refund: it becomes a dead letter. */
  NOT_THERE("not there"),
  /** It is no event that can be read: it becomes a dead letter. */
  UNREADABLE("unreadable"),
  /** An event of another topic: what it does is known to the group's own program only. */
  READABLE("readable");

  private final String title;

  Effect(String title) {
    this.title = title;
  }

  /** As the head of a column. */
  public String title() {
    return title;
  }
}

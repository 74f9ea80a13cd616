package io.payrelay.payments.store;

import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import org.jdbi.v3.core.argument.Argument;
import org.jspecify.annotations.Nullable;

/** Values of many rows as the arrays that one statement takes. Stateless, safe for any thread. */
final class Columns {

  private Columns() {}

  /** One value of each row, some of which may be null. */
  static <R, V> List<@Nullable V> of(List<R> rows, Function<R, @Nullable V> value) {
    List<@Nullable V> values = new ArrayList<>(rows.size());
    rows.forEach(row -> values.add(value.apply(row)));
    return values;
  }

  /** Bytes of each row. */
  static <R> Argument bytes(List<R> rows, Function<R, byte @Nullable []> value) {
    byte[][] values = of(rows, value).toArray(byte[][]::new);
    return (position, statement, context) ->
        statement.setArray(position, context.getConnection().createArrayOf("bytea", values));
  }

  /** The digest of a body, by which it can be proved when it is gone. */
  static byte[] sha256(byte[] body) {
    try {
      return MessageDigest.getInstance("SHA-256").digest(body);
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every Java platform has SHA-256", e);
    }
  }
}

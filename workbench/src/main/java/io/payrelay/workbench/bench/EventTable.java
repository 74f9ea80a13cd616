package io.payrelay.workbench.bench;

import static java.nio.charset.StandardCharsets.US_ASCII;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.header.Header;

/**
 * A table of events and the topic they go to. An event is a number, which is in its event id, so
 * that each one is found again. Immutable.
 *
 * @param insert an INSERT whose one gap is filled with a source of numbers {@code n}
 * @param idHeader the record header that carries the event id
 */
record EventTable(String insert, String topic, String idHeader) {

  private static final int NUMBER_DIGITS = 12;
  private static final int HEX = 16;

  /** The same event for every table: a charge request as the contract's function writes it. */
  private static final String PAYLOAD =
      """
      json_build_object('payment_id', 'pay_' || lpad(n::text, 24, '0'), 'merchant', 'bench-shop',
        'merchant_order_id', 'order-' || n, 'provider', 'simulator', 'amount_minor', n, 'currency', 'EUR',
        'trace_id', md5(n::text))""";

  private static final String EVENT_ID =
      "('00000000-0000-4000-8000-' || lpad(to_hex(n), 12, '0'))::uuid";

  /** Payrelay's outbox. */
  static EventTable outbox() {
    return new EventTable(
        """
        INSERT INTO payrelay.outbox (event_id, aggregate_type, aggregate_id, event_type, payload, trace_id)
        SELECT %s, 'payment', 'pay_' || lpad(n::text, 24, '0'), 'ChargeRequested', %s, md5(n::text) FROM %%s"""
            .formatted(EVENT_ID, PAYLOAD),
        "payrelay.charge-requests",
        "ce_id");
  }

  /** The table that Debezium's outbox event router expects, with its default names. */
  static EventTable peer() {
    return new EventTable(
        """
        INSERT INTO peer.outbox (id, aggregatetype, aggregateid, type, payload)
        SELECT %s, 'payment', 'pay_' || lpad(n::text, 24, '0'), 'ChargeRequested', %s::jsonb FROM %%s"""
            .formatted(EVENT_ID, PAYLOAD),
        "outbox.event.payment",
        "id");
  }

  /** Inserts the numbers of a range. */
  String insertRange(String from, String to) {
    return insert.formatted("generate_series(%s, %s) n".formatted(from, to));
  }

  /** Inserts one number, a parameter of the statement. */
  String insertOne() {
    return insert.formatted("(SELECT ?::bigint AS n) one");
  }

  /** The number of the event that a record is of; -1 where it is of none. */
  long number(ConsumerRecord<byte[], byte[]> record) {
    Header header = record.headers().lastHeader(idHeader);
    if (header == null) {
      return -1;
    }
    // Some write the id as a JSON text.
    String text = new String(header.value(), US_ASCII).replace("\"", "");
    if (text.length() < NUMBER_DIGITS) {
      return -1;
    }
    return Long.parseLong(text.substring(text.length() - NUMBER_DIGITS), HEX);
  }
}

-- Functions shared by the tables below.

-- Rows of an append-only table are evidence: they are neither changed nor removed.
CREATE FUNCTION payrelay.refuse_change() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '%.% is append-only: % is refused; write a correcting row instead',
    TG_TABLE_SCHEMA, TG_TABLE_NAME, TG_OP
    USING ERRCODE = 'restrict_violation';
END
$$;

-- Does the text hold 13 to 19 digits that begin like a card number and pass its Luhn check (ISO/IEC
-- 7812-1)? In one run, or spaced or dashed in groups as cards print them: digits and dashes of any
-- grouping would refuse UUIDs and times. A card number must never be stored here.
CREATE FUNCTION payrelay.has_card_like_digits(value text) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE STRICT AS $$
DECLARE
  digit_run text;
  digits text;
  run_length integer;
  start_at integer;
  total integer;
  digit integer;
BEGIN
  FOR digit_run IN
    SELECT (regexp_matches(value, '(?<![0-9A-Za-z])(\d{13,19}'
      '|\d{4}([ -])\d{4}\2\d{4}\2\d{4}(?:\2\d{1,3})?|\d{4}[ -]\d{6}[ -]\d{4,5})(?![0-9A-Za-z])', 'g'))[1]
  LOOP
    digits := regexp_replace(digit_run, '[ -]', '', 'g');
    run_length := length(digits);
    -- What no card issuer's range begins with is somebody's reference.
    CONTINUE WHEN digits !~ '^(2[2-7]|[3-6])';
    total := 0;
    FOR start_at IN 1 .. run_length LOOP
      digit := substr(digits, run_length - start_at + 1, 1)::integer;
      IF start_at % 2 = 0 THEN
        digit := digit * 2;
        IF digit > 9 THEN
          digit := digit - 9;
        END IF;
      END IF;
      total := total + digit;
    END LOOP;
    IF total % 10 = 0 THEN
      RETURN true;
    END IF;
  END LOOP;
  RETURN false;
END
$$;

-- ISO 4217: the codes a payment may carry and the digits of their minor unit.
CREATE TABLE payrelay.currency (
  code text PRIMARY KEY CHECK (code ~ '^[A-Z]{3}$'),
  exponent smallint NOT NULL CHECK (exponent BETWEEN 0 AND 4)
);

INSERT INTO payrelay.currency (code, exponent)
SELECT code, 2 FROM unnest(string_to_array(
  'AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BMD BND BOB BRL BSD BTN BWP BYN BZD CAD CDF CHF '
  'CNY COP CRC CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GTQ GYD HKD HNL '
  'HTG HUF IDR ILS INR IRR JMD KES KGS KHR KPW KYD KZT LAK LBP LKR LRD LSL MAD MDL MGA MKD MMK MNT '
  'MOP MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR NZD PAB PEN PGK PHP PKR PLN QAR RON RSD RUB '
  'SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TOP TRY TTD TWD TZS UAH '
  'USD UYU UZS VED VES WST XCD XCG YER ZAR ZMW ZWG', ' ')) AS code
UNION ALL
SELECT code, 0 FROM unnest(string_to_array(
  'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX VND VUV XAF XOF XPF', ' ')) AS code
UNION ALL
SELECT code, 3 FROM unnest(string_to_array('BHD IQD JOD KWD LYD OMR TND', ' ')) AS code;

GRANT SELECT ON payrelay.currency TO payrelay_upstream, payrelay_worker, payrelay_ingest, payrelay_operator;

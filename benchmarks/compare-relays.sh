#!/bin/sh
# Payrelay's relay and Debezium Server in turn, on one PostgreSQL and one Kafka that it starts itself on
# loopback; prints the figures and their ratios, and writes them to benchmarks/RESULTS.md. Nothing else
# should run on the machine meanwhile. Takes about a quarter of an hour, and 2 GB in the temporary folder.
#
#   PAYRELAY_PEER_JAVA_HOME=/path/to/jdk-21-or-newer benchmarks/compare-relays.sh [options of bench compare]
set -eu

peer_version=3.6.1.Final
home=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd -P)
results=$home/benchmarks/RESULTS.md

fail() {
  echo "compare-relays: $1" >&2
  exit 1
}

peer_java=${PAYRELAY_PEER_JAVA_HOME:-}
[ -n "$peer_java" ] || fail "set PAYRELAY_PEER_JAVA_HOME to a JDK, 21 or newer: Debezium Server needs it"
[ -x "$peer_java/bin/java" ] || fail "PAYRELAY_PEER_JAVA_HOME is $peer_java, which holds no Java"

scratch=${PAYRELAY_PEER_SCRATCH:-${TMPDIR:-/tmp}/payrelay-peer}
peer=$scratch/debezium-server
if [ ! -d "$peer/lib" ]; then
  echo "compare-relays: getting Debezium Server $peer_version (780 MB the first time)" >&2
  mkdir -p "$scratch"
  (cd "$home" && mvn -B -ntp -q org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy \
    -Dartifact="io.debezium:debezium-server-dist:$peer_version:tar.gz" -DoutputDirectory="$scratch") \
    || fail "Maven could not get io.debezium:debezium-server-dist:$peer_version"
  (cd "$scratch" && tar -xzf "debezium-server-dist-$peer_version.tar.gz")
  rm -f "$scratch/debezium-server-dist-$peer_version.tar.gz"
fi

# Payrelay refuses PAYRELAY_ variables that it does not know.
unset PAYRELAY_PEER_JAVA_HOME PAYRELAY_PEER_SCRATCH
table=$scratch/table.md
# What is measured is the tree as it stands now; the results' own file is no part of it.
commit=$(git -C "$home" rev-parse --short HEAD 2>/dev/null || echo unknown)
if [ "$commit" != unknown ]; then
  changes=$(git -C "$home" status --porcelain --untracked-files=no -- . ':!benchmarks/RESULTS.md')
  [ -z "$changes" ] || commit="$commit, with changes that are not committed"
fi

# Not through a pipe, which would hide that a row was missing or came twice.
code=0
"$home/payrelay" bench compare --peer-home "$peer" --peer-java-home "$peer_java" \
  --report "$scratch/report.json" "$@" >"$table" || code=$?
cat "$table"
[ "$code" -eq 0 ] || fail "bench compare ended with $code: $results stays as it was"

# The measured part stands between two marks; what is around it is kept.
awk -v table="$table" -v commit="$commit" '
  /<!-- figures -->/ { print; print "Commit " commit "."; print ""
    while ((getline line < table) > 0) if (line !~ /^measuring: /) print line
    skip = 1 }
  /<!-- \/figures -->/ { skip = 0 }
  !skip && !/<!-- figures -->/ { print }' "$results" >"$results.new"
mv "$results.new" "$results"
echo "compare-relays: written to $results" >&2

#!/usr/bin/env bash
# Sizes of the tables, and what the queue's statements cost, while another session keeps a transaction open.
#   bloat.sh [SECONDS [EVENTS_PER_SECOND [hold|free]]]
# `hold` (the default) keeps a snapshot open the whole time, so that no dead row can be reused; `free` does not.
set -euo pipefail
cd "$(dirname "$0")/../.."
seconds=${1:-60}
rate=${2:-500}
mode=${3:-hold}
bench=${BENCH:-.build/debug/signalbox-bench}
every=$((seconds / 12 > 5 ? seconds / 12 : 5))

folder=/tmp/sbx-bloat-$$
coproc server {
  exec env POSTGRES_OPTIONS="-c shared_preload_libraries=pg_stat_statements" \
    Tests/PluginRig/postgres-server.sh "$folder" $$
}
read -r said <&"${server[0]}"
[ "$said" = ready ] || { echo "PostgreSQL did not start: $said" >&2; exit 1; }

sql() { psql -X -q -A -t -F ' ' -v ON_ERROR_STOP=1 -h "$folder" -U signalbox -d postgres "$@"; }
sql -c 'CREATE EXTENSION pg_stat_statements'
if [ "$mode" = hold ]; then
  { echo 'BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM pg_class;'; sleep $((seconds + 30)); } |
    sql >/dev/null &
fi
"$bench" load --postgres "postgres://signalbox@${folder//\//%2F}/postgres" \
  --rate "$rate" --seconds "$seconds" --dedupe "${DEDUPE:-60}" &
load=$!

table() {
  cat <<SQL
SELECT coalesce(round(sum(pg_total_relation_size(c.oid)) / 1048576.0, 1), 0) FROM pg_class c
JOIN pg_namespace s ON s.oid = c.relnamespace
WHERE s.nspname = 'signalbox' AND c.relkind = 'r' AND c.relname ~ '^$1(_[01])?\$'
SQL
}
cost() {
  cat <<SQL
SELECT coalesce(round((sum(total_exec_time) / nullif(sum(calls), 0))::numeric, 3) || ' ms/'
  || (sum(shared_blks_hit + shared_blks_read) / nullif(sum(calls), 0))::bigint, '-')
FROM pg_stat_statements WHERE query LIKE '$1' AND query NOT LIKE '%pg_stat_statements%'
SQL
}
printf '%-6s | %-49s | %s\n' "" "MB: block delivery seen mark outcome all" \
  "ms/buffers: lease blocks, lease rows, settle, key, mark, count, waiting, acknowledge"
start=$SECONDS
while kill -0 "$load" 2>/dev/null; do
  sleep "$every"
  sizes=
  for name in block delivery seen mark outcome '[a-z_]+'; do sizes+="$(sql -c "$(table "$name")") "; done
  costs=
  for query in 'SELECT id, n FROM signalbox.block%due, id LIMIT%$4%' \
    'SELECT id FROM signalbox.delivery%WHERE lane%LIMIT%$4%' '%DELETE FROM signalbox.block b%' \
    '%INSERT INTO signalbox.seen%' 'WITH life AS%' 'SELECT ((SELECT coalesce(sum(n)%' \
    'SELECT l.sender%' 'DELETE FROM signalbox.outcome WHERE%'; do
    costs+="$(sql -c "$(cost "$query")" 2>/dev/null || true) | "
  done
  sql -c 'SELECT pg_stat_statements_reset()' >/dev/null
  printf '%-6s | %-49s | %s\n' "$((SECONDS - start)) s" "$sizes" "$costs"
done
wait "$load"

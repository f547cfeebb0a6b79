#!/bin/bash
# The peers on the same web, one after the other, counted by the server's own log. Prints one JSON line each.
#   yardstick.sh [drain] [wget2] [crawlee] [scrapy]     (default: all that are installed)
# crawlee is looked for in PEERS_DIR/node_modules (default: peers in the temp folder; npm i crawlee there). Node 24 on PATH.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd); tmp=${TMPDIR:-$(dirname "$(mktemp -u)")}; dir=${DOCS_WEB_DIR:-$tmp/docs-web}; peers=${PEERS_DIR:-$tmp/peers}
export SEEDS_FILE=$dir/seeds.txt SECONDS_MAX=${SECONDS_MAX:-40}
hosts=$(sed 's#http://##; s#:.*##' "$SEEDS_FILE" | paste -sd,)
say() { echo "{\"peer\":\"$1\",\"served\":$("$here/docs-web.sh" served)}"; }
work=$(mktemp -d); cd "$work"
for peer in ${*:-drain wget2 crawlee scrapy}; do
  "$here/docs-web.sh" clear
  case $peer in
  drain) node "$here/drain.mjs" "$dir/urls.txt" && say drain ;;
  # wget2 1.99 can fail to exit when done: the server's log tells when it stopped asking
  wget2) command -v wget2 >/dev/null && { timeout "$SECONDS_MAX" wget2 -r -l inf --max-threads=16 --http2=off -q -P w2 --no-robots -H -D "$hosts" $(cat "$SEEDS_FILE"); say wget2; } ;;
  crawlee) [ -d "$peers/node_modules/crawlee" ] && { cp "$here/peers/crawlee_docs.mjs" "$peers/"; (cd "$peers" && node crawlee_docs.mjs >/dev/null 2>&1); say crawlee; } ;;
  scrapy) command -v scrapy >/dev/null && { scrapy runspider "$here/peers/scrapy_docs.py" >/dev/null 2>&1; say scrapy; } ;;
  esac
done
rm -rf "$work"

#!/bin/sh
# make demo: runs examples/licences for real in a fresh directory and shows what came out.
set -eu
torc=$(readlink -f "$1")
example=$(readlink -f "$(dirname "$0")/../examples/licences")
work=$(mktemp -d "${TMPDIR:-/tmp}/torc-demo.XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work"
say() { printf '\n$ %s\n' "$*"; }

say "torc run licences/workflow.yaml"
"$torc" run "$example/workflow.yaml"
say "torc status"
"$torc" status
say "torc jobs --limit 5"
"$torc" jobs --limit 5
say "torc logs chart"
"$torc" logs chart
say "torc verify"
"$torc" verify

#!/usr/bin/env bash
# Puts defects back, one by one, and says after how many lives the simulation has found each: that it would.
#   tests/simulation/defects.sh [BUILD [LIVES]]
# The tree must have no changes of its own: each defect is a patch, applied and taken away again.
set -euo pipefail
cd "$(dirname "$0")/../.."
build=${1:-build}
lives=${2:-2000}
git diff --quiet -- lib || { echo "lib has changes that are not committed: they would be in the way"; exit 2; }
missed=0
for patch in tests/simulation/defects/*.patch; do
  name=$(basename "$patch" .patch)
  git apply "$patch"
  trap 'git apply -R "$patch"' EXIT
  ninja -C "$build" simulate > /dev/null
  # One process: how many lives it took is then the same on every machine.
  if out=$("$build/tests/simulation/simulate" --seed 1 --lives "$lives" --processes 1); then
    echo "$name: not found in $lives lives"
    missed=1
  else
    echo "$name: found by seed $(grep -oP 'again: simulate --seed \K[0-9]+' <<< "$out")"
  fi
  git apply -R "$patch"
  trap - EXIT
done
ninja -C "$build" simulate > /dev/null
exit $missed

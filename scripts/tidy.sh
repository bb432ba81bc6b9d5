#!/usr/bin/env bash
# Runs clang-tidy, with the checks of .clang-tidy, on the sources of bin and lib: ten minutes of one core.
#   tidy.sh             all of them
#   tidy.sh TEXT...     those of folders whose path has one of the texts in it: tidy.sh lib/worker/machine
# Exit code 1: there are warnings. Needs clang-tidy-14 (scripts/install-deps.sh test).
set -euo pipefail
cd "$(dirname "$0")/.."
case ${1:-} in -h | --help) sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "$0"; exit 0 ;; esac

# A directory of its own, where many sources are one translation unit: what they include is read once.
cmake --preset quick -B build-tidy -DTORC_TESTS=OFF -DTORC_BENCH=OFF >/dev/null
patterns=()
for text in "${@:-/}"; do patterns+=(-e "$text"); done
mapfile -t units < <(sed -n 's/^ *"file": "\(.*\)",\{0,1\}$/\1/p' build-tidy/compile_commands.json |
  grep -F "${patterns[@]}" || true)
if [ ${#units[@]} -eq 0 ]; then
  echo "tidy.sh: nothing is compiled from '$*'" >&2
  exit 2
fi

failed=$(mktemp)
trap 'rm -f "$failed"' EXIT
# Each source's text is told once though headers are seen from many.
tidy_one() {
  clang-tidy-14 -p build-tidy --quiet --header-filter='/(bin|lib)/' --extra-arg=-Wno-unknown-warning-option \
    --checks=-bugprone-suspicious-include "$2" 2>/dev/null || echo "$2" >>"$1"
}
export -f tidy_one
printf '%s\0' "${units[@]}" | xargs -0 -P "$(nproc)" -I FILE bash -c 'tidy_one "$@"' tidy "$failed" FILE | awk '!seen[$0]++'
echo "clang-tidy: looked at ${#units[@]} translation units, $(wc -l <"$failed") with warnings"
[ ! -s "$failed" ]

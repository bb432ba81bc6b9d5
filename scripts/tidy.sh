#!/usr/bin/env bash
# Runs clang-tidy, with the checks of .clang-tidy, on sources of bin and lib.
#   tidy.sh                    all of them: half an hour of one core
#   tidy.sh --since REVISION   those that changed since then, tests aside
#   tidy.sh --minutes N        stops after N minutes and says which files it did not look at; this is no failure
# Exit code 1: there are warnings. Needs clang-tidy-14 (scripts/install-deps.sh test).
set -euo pipefail
cd "$(dirname "$0")/.."

since= minutes=
while [ $# -gt 0 ]; do
  case $1 in
    --since) since=${2:?the revision is missing}; shift 2 ;;
    --minutes) minutes=${2:?the number of minutes is missing}; shift 2 ;;
    -h | --help) sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "$0"; exit 0 ;;
    *) echo "tidy.sh: unknown argument '$1'; --help says what there is" >&2; exit 2 ;;
  esac
done

sources=('bin/*.cc' 'lib/*.cc')
if [ -n "$since" ]; then
  mapfile -t files < <(git diff --name-only --diff-filter=d "$since" -- "${sources[@]}" | grep -v '_test\.cc$' || true)
else
  mapfile -t files < <(git ls-files "${sources[@]}" | grep -v '_test\.cc$')
fi
if [ ${#files[@]} -eq 0 ]; then
  echo "clang-tidy: no source changed${since:+ since $since}"
  exit 0
fi

# A directory of its own: how each file is compiled by itself, whatever the one that is built does.
cmake --preset release -B build-tidy -DTORC_TESTS=OFF -DTORC_BENCH=OFF >/dev/null

state=$(mktemp -d)
trap 'rm -rf "$state"' EXIT
tidy_one() {
  if [ -n "$2" ] && [ "$(date +%s)" -ge "$2" ]; then
    echo "$3" >>"$1/left"
  elif ! clang-tidy-14 -p build-tidy --quiet "$3" >"$1/out.$$" 2>"$1/err.$$"; then
    cat "$1/out.$$" "$1/err.$$"
    echo "$3" >>"$1/failed"
  fi
}
export -f tidy_one
end=
[ -z "$minutes" ] || end=$(($(date +%s) + 60 * minutes))
printf '%s\0' "${files[@]}" | xargs -0 -P "$(nproc)" -I FILE bash -c 'tidy_one "$@"' tidy "$state" "$end" FILE
left=0
if [ -s "$state/left" ]; then
  left=$(wc -l <"$state/left")
  echo "clang-tidy: no time left for $left of ${#files[@]} files:"
  sed 's/^/  /' "$state/left"
fi
echo "clang-tidy: looked at $((${#files[@]} - left)) of ${#files[@]} files${since:+ that changed since $since}"
[ ! -s "$state/failed" ]

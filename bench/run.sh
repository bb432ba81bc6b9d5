#!/bin/sh
# Runs every benchmark of a build folder, one after the other, and prints one table.
#   bench/run.sh BUILD [--quick] [DIRECTORY]
# DIRECTORY (default: BUILD) is where the work is done, in a fresh directory that is deleted at the end; it should be
# on a real disk. Exit status: 0 every floor holds, 1 one does not, 2 something could not be measured.
set -eu

build=${1:?usage: bench/run.sh BUILD [--quick] [DIRECTORY]}
shift
quick=
if [ "${1:-}" = --quick ]; then
  quick=--quick
  shift
fi
where=$(mktemp -d "${1:-$build}/torc-bench-XXXXXX")
trap 'rm -rf "$where"' EXIT
trap 'exit 2' HUP INT TERM

# Nothing is deleted before the last one has run: ext4 without a journal keeps away from the inodes of files that were deleted in the
# last minutes, so each would slow down the next.
status=0
for program in "$build"/bench/*_bench; do
  echo "... $(basename "$program")" >&2
  code=0
  "$program" --tsv --keep $quick "$where" >>"$where/rows" || code=$?
  if [ "$code" -gt "$status" ]; then status=$code; fi
done

echo
echo "$(uname -srm), $(nproc) CPU(s), $(awk -F': ' '/^model name/ { print $2; exit }' /proc/cpuinfo);" \
  "$(df --output=fstype "$where" | tail -n 1) at $(dirname "$where")"
echo
printf 'figure\tmeasured\tbaseline\tratio\tfloor\tok?\n' | cat - "$where/rows" | awk -F '\t' '
  { for (i = 1; i <= 6; ++i) { cell[NR, i] = $i; if (length($i) > width[i]) width[i] = length($i) } }
  END {
    for (r = 1; r <= NR; ++r) {
      line = ""
      for (i = 1; i < 6; ++i) line = line sprintf("%-" width[i] "s  ", cell[r, i])
      print line cell[r, 6]
    }
  }'
exit "$status"

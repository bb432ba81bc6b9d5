#!/bin/sh
# Runs every benchmark of a build folder, one after the other, and prints one table.
#   bench/run.sh BUILD [--quick] [DIRECTORY]
# DIRECTORY (default: BUILD) is where the work is done: a fresh directory inside it, which should be on a real disk.
# Exit status: 0 every floor holds, 1 one does not, 2 something could not be measured.
set -eu

build=${1:?usage: bench/run.sh BUILD [--quick] [DIRECTORY]}
shift
quick=
if [ "${1:-}" = --quick ]; then
  quick=--quick
  shift
fi
where=${1:-$build}

rows=$(mktemp)
trap 'rm -f "$rows"' EXIT
status=0
for program in "$build"/bench/*_bench; do
  echo "... $(basename "$program")" >&2
  code=0
  "$program" --tsv $quick "$where" >>"$rows" || code=$?
  if [ "$code" -gt "$status" ]; then status=$code; fi
done

echo
echo "$(uname -srm), $(nproc) CPU(s), $(awk -F': ' '/^model name/ { print $2; exit }' /proc/cpuinfo);" \
  "$(stat -f -c %T "$where") at $where"
echo
printf 'figure\tmeasured\tbaseline\tratio\tfloor\tok?\n' | cat - "$rows" | awk -F '\t' '
  { for (i = 1; i <= NF; ++i) { cell[NR, i] = $i; if (length($i) > width[i]) width[i] = length($i) } columns = NF }
  END {
    for (r = 1; r <= NR; ++r) {
      line = ""
      for (i = 1; i < 6; ++i) line = line sprintf("%-" width[i] "s  ", cell[r, i])
      print line cell[r, 6]
    }
  }'
exit "$status"

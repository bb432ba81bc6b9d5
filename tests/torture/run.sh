#!/bin/bash
# Tortures torc in every mode and prints a table.
#   run.sh PROGRAM KILLS [ROUNDS]   PROGRAM: the built torc-torture; KILLS: workers killed in all; ROUNDS: at least, of each mode
# Environment: LOG, a file for the lines of all rounds (default: torture.log in the working directory).
# Exit code 0: no violation; else the mode that found one was the last, and its store is kept.
set -u
program=$1 kills=$2 rounds=${3:-0}
log=${LOG:-torture.log}
modes=(
  "--engine journal --replica shared --maintenance --deadly 3"
  "--engine journal --replica pairs --ctrl-z --full-disks 2"
  "--engine lmdb --maintenance --deadly 3"
  "--engine journal --replica own --locks fail --ctrl-z"
  "--engine journal --replica own --locks succeed --maintenance"
  "--engine journal --replica own --locks stuck --deadly 3"
)
each=$(((kills + ${#modes[@]} - 1) / ${#modes[@]}))
stops=$(((each + 99) / 100))
: >"$log"
for mode in "${modes[@]}"; do
  # shellcheck disable=SC2086
  "$program" --kills $each --long-stops $stops --rounds "$rounds" $mode >>"$log" 2>&1
  code=$?
  printf '%-64s %s\n' "$mode" "$(tail -1 "$log")"
  [ $code = 0 ] || { tail -20 "$log"; exit 1; }
done

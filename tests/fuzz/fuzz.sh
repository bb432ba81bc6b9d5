#!/bin/bash
# Fuzzes for a while, beginning with what is kept in corpus/ and what earlier runs found interesting.
#   fuzz.sh BUILD [TARGET…]     one after the other; without a target: all
# TORC_FUZZ_SECONDS (60) is the time for each, TORC_FUZZ_RUNS the number of executions instead; TORC_FUZZ_LOG a file
# for a line about each; TORC_FUZZ_SEED makes its choices the same again. Whatever breaks a target is left in BUILD/found: put it into corpus/TARGET with the fix.
#
# Inputs to begin with come from a store and its spec:
#   ninja -C build fuzz_seed && build/tests/fuzz/fuzz_seed STORE tests/fuzz/corpus
set -u

fail() { echo "fuzz.sh: $*" >&2; exit 1; }

here=$(cd "$(dirname "$0")" && pwd)
build=${1:?the build directory}
shift
targets=("$@")
if [ ${#targets[@]} -eq 0 ]; then
  for source in "$here"/*_fuzz.cc; do
    name=$(basename "$source")
    targets+=("${name%_fuzz.cc}")
  done
fi

limit=("-max_total_time=${TORC_FUZZ_SECONDS:-60}")
[ -z "${TORC_FUZZ_RUNS:-}" ] || limit=("-runs=$TORC_FUZZ_RUNS")

# Buffers that each execution needs are not given back to the kernel in between.
export MALLOC_TRIM_THRESHOLD_=1000000000 MALLOC_MMAP_THRESHOLD_=1000000000
broken=0
for target in "${targets[@]}"; do
  program=$build/tests/fuzz/${target}_fuzz
  [ -x "$program" ] || fail "there is no $program; build it: cmake --preset fuzz && cmake --build build-fuzz --target fuzz"
  mkdir -p "$build/corpus/$target" "$build/found"
  longest=4096
  if [ "$target" = lmdb ]; then longest=8192; fi  # pages of 512 bytes, the smallest that it reads
  options=(-max_len=$longest -len_control=50 -timeout=60 -rss_limit_mb=2048 -malloc_limit_mb=1024 -print_final_stats=1
           -verbosity=1 "-artifact_prefix=$build/found/$target-")
  # What is rare is tried more often, what is slow less; with the many branches of spec that takes longer than the target.
  if [ "$target" = spec ]; then options+=(-entropic=0); else options+=(-entropic=1 -entropic_scale_per_exec_time=1); fi
  [ -f "$here/$target.dict" ] && options+=("-dict=$here/$target.dict")
  [ -z "${TORC_FUZZ_SEED:-}" ] || options+=("-seed=$TORC_FUZZ_SEED")
  log=$build/$target.log
  # Fuzzing yields to everything else that is tested at the same time.
  nice -n 10 "$program" "${limit[@]}" "${options[@]}" "$build/corpus/$target" "$here/corpus/$target" >"$log" 2>&1
  code=$?
  runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log" | tail -n 1)
  coverage=$(sed -n 's/.*cov: \([0-9]*\) ft: \([0-9]*\) corp: \([0-9]*\).*/cov \1, features \2, corpus \3/p' "$log" | tail -n 1)
  line="$(date -u +%FT%TZ) $target: $([ $code = 0 ] && echo held || echo BROKEN), ${runs:-?} executions, $coverage"
  echo "$line"
  [ -z "${TORC_FUZZ_LOG:-}" ] || echo "$line" >>"$TORC_FUZZ_LOG"
  if [ $code != 0 ]; then
    broken=$((broken + 1))
    tail -n 60 "$log"
    echo "the input is in $build/found; again: $program FILE"
  fi
done
[ $broken = 0 ]

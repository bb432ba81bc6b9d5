#!/bin/bash
# Checks the models of docs/maintainer/model with spin: the protocol as it is must hold, and each rule taken away must be
# missed.
#   check.sh        two checks side by side, within a minute on two cores; what ctest runs
#   check.sh deep   larger bounds: some minutes, some GB
#   check.sh -h     this text
# Needs spin and gcc (scripts/install-deps.sh test). Works in a directory of its own under $TMPDIR.
set -u

fail() { echo "check.sh: $*" >&2; exit 1; }

mode=${1:-check}
case $mode in
  check | deep) ;;
  -h | --help) sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "$0"; exit 0 ;;
  *) fail "unknown argument '$mode'; give deep or nothing" ;;
esac
command -v spin >/dev/null || fail "there is no spin; install the package spin"
command -v gcc >/dev/null || fail "there is no gcc; install the package gcc"

models=$(cd "$(dirname "$0")/../../docs/maintainer/model" && pwd) || fail "docs/maintainer/model is missing"
work=$(mktemp -d "${TMPDIR:-/tmp}/torc-model-XXXXXX") || fail "cannot make a directory in ${TMPDIR:-/tmp}"
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

memory=4000 # MB
side_by_side=2
checks=0

# search DIRECTORY OPTIMISE MODEL [-D…]: explores it all, or until something is violated. Leaves spin's report in
# DIRECTORY/report and the seconds in DIRECTORY/took.
search() {
  local directory=$1 optimise=$2 model=$3
  shift 3
  mkdir "$directory" && cd "$directory" || exit 1
  if ! spin -a "$@" "$models/$model.pml" >report 2>&1 ||
    ! gcc "$optimise" -w -DSAFETY -DCOLLAPSE "-DMEMLIM=$memory" -o pan pan.c >>report 2>&1; then
    echo "$model.pml cannot be translated" >>report
    return
  fi
  local begun=$SECONDS
  ./pan -E -m500000 >report 2>&1
  echo $((SECONDS - begun)) >took
}

number_of() { sed -n "s/^[[:space:]]*\([0-9.e+]*\)[[:space:]]*$1.*/\1/p" report | head -n 1; }

tell() { printf '%-9s %-48s %s\n' "$1" "$2" "$3"; }

say_wrong() {
  tell WRONG "$1" "$2"
  grep -E 'assertion violated|errors:|too small|out of memory|not completed|translated|rror' report
}

# The whole space is explored and nothing is violated.
judge_holds() {
  local name=$1
  search "$2" -O1 "${@:3}"
  if grep -q 'errors: 0' report && ! grep -qE 'too small|out of memory|not completed' report; then
    tell holds "$name" "$(number_of 'states, stored') states, $(number_of 'total actual') MB, $(cat took) s"
  else
    say_wrong "$name" "should hold, but:"
  fi
}

# Something is violated: the assertion that matches.
judge_misses() {
  local name=$1 assertion=$3
  search "$2" -O0 "${@:4}"
  if grep -qE "assertion violated *\(?$assertion" report; then
    tell missed "$name" "$(sed -n 's/^pan:1: //p' report | head -n 1)"
  else
    say_wrong "$name" "should violate '$assertion', but:"
  fi
}

# begin JUDGE NAME …: as soon as fewer than `side_by_side` others are at work.
begin() {
  while [ "$(jobs -rp | wc -l)" -ge "$side_by_side" ]; do wait -n; done
  checks=$((checks + 1))
  local directory=$work/$checks
  ("$1" "$2" "$directory" "${@:3}") >"$directory.told" 2>&1 &
}
holds() { begin judge_holds "$@"; }
misses() { begin judge_misses "$@"; }

none="-DLOST=0 -DFAILED=0 -DCRASHES=0"
deaths="-DDEATHS=1 -DLOSSES=0 -DCANCELS=0 -DSOLOS=0 -DJOBS=1 -DCLAIMS=2"
saves="-DSAVES=1 -DCANCELS=0 -DSOLOS=0 -DJOBS=1 -DCLAIMS=2"
lost="-DLOST=1 -DFAILED=0 -DCRASHES=0"

# shellcheck disable=SC2086  # the sets of definitions are split on purpose
check() {
  # The longest first.
  holds "commits: two numbers to a directory" commit $none -DOPS=2 -DPER_DIR=2 -DNUMBERS=4
  holds "commits: lost replies, crashes" commit -DOPS=1 -DLOST=1 -DFAILED=0 -DCRASHES=1 -DSNAPSHOTS=1
  holds "commits: lost replies, failures" commit -DOPS=1 -DLOST=1 -DFAILED=1 -DCRASHES=0 -DSNAPSHOTS=1
  holds "commits: a segment that lies" commit $none -DOPS=1 -DLIES=1
  holds "commits: stale plans, a ring of one" commit $none -DOPS=2 -DRING=1 -DSNAPSHOTS=1
  holds "commits: primitive rename-dir" commit $lost -DOPS=1 -DNUMBERS=4 -DRENAME_DIR -DSNAPSHOTS=1
  holds "commits: listings older than any retention" commit $lost -DOPS=1 -DSNAPSHOTS=1 -DOLD_LISTINGS
  holds "commits: the same, two snapshots" commit $none -DOPS=1 -DOLD_LISTINGS
  holds "claims" claim
  holds "claims: the token without the lease" claim -DNO_LEASE_CHECK
  holds "gangs" gang
  holds "gangs of which nodes die" gang $deaths
  holds "gangs whose nodes save their state" gang $saves
  holds "allocations" allocation

  misses "without put-if-absent" '\(name_at\[' commit $none -DOPS=2 -DNO_PUT_IF_ABSENT
  misses "without the rule of the writer and its evidence" 'chain\[' commit $none -DOPS=2 -DNO_RULE_OF_WRITER \
    -DNO_EVIDENCE_OF_WRITER
  misses "old listings and no look at the commit before" 'chain\[' commit $none -DOPS=1 -DOLD_LISTINGS \
    -DNO_EVIDENCE_OF_WRITER
  misses "that look for what was named alone" 'i>3' commit $lost -DOPS=1 -DSNAPSHOTS=1 -DOLD_LISTINGS \
    -DEVIDENCE_FOR_SUCCESS_ALONE
  misses "old listings and a reader that does not look" '!\(stray' commit $none -DOPS=1 -DOLD_LISTINGS \
    -DNO_EVIDENCE_OF_READER
  misses "collecting in any order" '!\(stray' commit $none -DOPS=1 -DOLD_LISTINGS -DANY_ORDER
  misses "without the rule of the reader" '!\(stray' commit $none -DOPS=2 -DNO_RULE_OF_READER
  misses "rule of the writer not for a taken name" 'i>4' commit $lost -DOPS=1 -DNUMBERS=4 -DTAKEN_IS_A_CONFLICT
  misses "no listing after a failure taken for 'surely not'" 'i>3' commit -DOPS=1 -DLOST=1 -DFAILED=1 -DCRASHES=0 \
    -DABSENT_IS_SURE
  misses "without deleting before the last look" 'verdict\[' commit $lost -DOPS=1 -DNO_DISCARD
  misses "rename-dir deleting in two steps" 'known>replica' commit $lost -DOPS=1 -DRENAME_DIR -DDISCARD_IN_TWO_STEPS
  misses "an overwritten slot of the ring taken for 'not ours'" 'i>3' commit $none -DOPS=2 -DRING=1 \
    -DSNAPSHOTS=1 -DRING_WITHOUT_BOUND
  misses "collecting without a segment to stand in" '\(name_at\[' commit $none -DOPS=1 -DNO_SEGMENT_RULE
  misses "a segment stands in that was not compared" '\(name_at\[' commit $none -DOPS=1 -DLIES=1 -DNO_SEGMENT_CHECK
  misses "the newest commit read from a segment" '!\(stray' commit $none -DOPS=1 -DLIES=1 -DNEWEST_FROM_SEGMENT
  misses "collecting before a snapshot was known to all" '!\(stray' commit $none -DOPS=1 -DNO_RETENTION \
    -DNO_EVIDENCE_OF_READER
  misses "the next directory: the one before it is full?" 'known>replica' commit $none -DOPS=2 \
    -DNUMBERS=4 -DSNAPSHOTS=0 -DNEXT_DIRECTORY_MEANS_FULL
  misses "without the claim token" 'my_claim==live_claim' claim -DNO_TOKEN_CHECK
  misses "a token of the attempt alone" 'my_claim==live_claim' claim -DTOKEN_OF_ATTEMPT_ONLY
  misses "a return that does not tell the start" 'my_attempt>executed' claim -DRETURN_WITHOUT_START
  misses "jobs that kill before they are heard of" 'kills<=' claim -DNO_SUSPECTS
  misses "nodes taken one by one" '\(\(part\[0\]==0' gang -DONE_BY_ONE -DNODES=2
  misses "a member that starts something else" '!\(solo' gang -DNO_BINDING
  misses "a start before all have confirmed" '\(\(\(\(on_node' gang -DSTART_UNCONFIRMED
  misses "nodes that are free when their gang is over" '\(*on_node\[w\]==0' gang -DFREE_WHEN_OVER
  misses "a member that has left before its node is clear" '\(*sequence' gang -DLEFT_AT_ONCE
  misses "a failure that is told before the others have shown life" '!\(hurt' gang $deaths -DFAILS_AT_ONCE
  misses "a checkpoint that is told before all have ended" '\( !\(+part' gang $saves -DFIRST_SAVE_ENDS
  misses "a loss of a member that ends nothing" 'c==0' gang -DLOSS_UNNOTICED
  misses "workers that do not ask whose they are" '\(\(\(works' allocation -DNO_BINDING
  misses "a list that cancels nothing" '\( !\(+job' allocation -DNO_SURPLUS
  misses "a late answer that cancels what no other stands in for" 'worked' allocation -DOLD_ANSWER_CANCELS
}

# shellcheck disable=SC2086
deep() {
  memory=16000
  side_by_side=1
  holds "commits: lost replies, failures, two snapshots" commit -DOPS=1 -DLOST=1 -DFAILED=1 -DCRASHES=0
  holds "commits: lost replies, crashes, two snapshots" commit -DOPS=1 -DLOST=1 -DFAILED=0 -DCRASHES=1
  holds "commits: listings older than any retention, crashes" commit -DOPS=1 -DLOST=1 -DFAILED=0 -DCRASHES=1 \
    -DSNAPSHOTS=1 -DOLD_LISTINGS
  holds "commits: the same, two transactions" commit $none -DOPS=2 -DOLD_LISTINGS
  holds "commits: stale plans, a ring of one, two snapshots" commit $none -DOPS=2 -DRING=1
  holds "claims: three workers, three lives" claim -DWORKERS=3 -DLIVES=3 -DCLAIMS=5
  holds "gangs: two losses, workers that come back" gang -DLIVES=2 -DLOSSES=2
}

$mode
wait
for ((i = 1; i <= checks; i++)); do cat "$work/$i.told"; done
wrong=$(cat "$work"/*.told | grep -c '^WRONG')
[ "$wrong" = 0 ] || fail "$wrong of the results above are not as they should be"
echo "all as expected after $SECONDS s"

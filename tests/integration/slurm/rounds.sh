#!/bin/bash
# What becomes of a running workflow when something of a real Slurm dies, is stopped or does not answer: each row of the
# table below round after round, each round with a cluster (cluster.sh) and a store of its own: four nodes that share
# files alone, and these by a FUSE mount that counts as a shared filesystem (as MooseFS).
#   rounds.sh BUILD [ROUNDS] [ROW…]   BUILD: the build directory, with torc; ROUNDS of each row (20; controller: 2 at most)
# Prints a line for each round and at the end one for each row: the least, median and largest of each figure, in seconds,
# and how many jobs were lost (never completed) or doubled (ran to their end twice, or beside a later attempt). Exit code
# 1: any was, or a figure is over what is wanted; 77: this machine cannot do it. What belongs to a bad round is kept.
# Environment: LOG, a file for what it prints (default: rounds.log); ABREAST, so many rows side by side (3).
set -u
build=$(readlink -f "${1:?usage: rounds.sh BUILD [ROUNDS] [ROW…]}")
rounds=${2:-20}
shift $(($# < 2 ? $# : 2))
here=$(dirname "$(readlink -f "$0")")
torc=$build/torc
log=$(readlink -f "${LOG:-rounds.log}")
work=$(mktemp -d /tmp/torc-rounds.XXXXXX)
lease=300 # seconds; as users have it
look=0.1
. "$here/../processes.sh"

# Those that measure tenths of a second come first, one after the other.
alone=(end wide wide-poll plain)
abreast=(node first-node node-late first-node-late worker watchdog both srun stepd step scancel requeue suspend
  squeue-fails squeue-hangs squeue-empty squeue-half squeue-other
  controller-stopped controller-hangs)
wanted_of() { # FIGURE=MOST…
  case $1 in
    node | first-node) echo again=30 heard=25 end=30 ;;
    *node-late) echo again=45 heard=15 end=30 ;;
    worker | watchdog | both) echo again=15 stays_away=0 end=30 ;;
    srun | step) echo again=30 end=30 ;;
    stepd) echo end=30 ;;
    scancel) echo again=13 end=30 ;;
    requeue) echo again=13 end=30 ;;
    suspend) echo restarted=0 end=30 ;;
    wide) echo others=0.1 end=2 idle=2 ;;
    wide-poll) echo others=2 end=2 ;;
    plain) echo end=2 idle=2 ;;
    end) echo end=2 ;;
    controller-*) echo again=15 end=60 ;;
    squeue-fails | squeue-hangs) echo again=45 fenced=0 end=180 ;; # who may be the last asks for a minute
    squeue-*) echo again=45 fenced=0 end=30 ;;
    *) echo "rounds.sh: there is no row '$1'; there are ${alone[*]} ${abreast[*]}" >&2; return 2 ;;
  esac
}

# ---- workflows: jobs sN_… wait for all of s(N-1)_…; each says when it starts and ends, and where ----

stage() { # NUMBER JOBS HALVES CPUS [RUNTIME]
  cat <<YAML
  - name: s$1_{i}
    parameters: {i: "1:$2"}
    scheduler: all
    resource_requirements: r$1
    command: exec $here/job $round/log $3 0.5
YAML
  [ "$1" = 1 ] || echo "    depends_on_regexes: [\"^s$(($1 - 1))_\"]"
  requirements+=("  - {name: r$1, num_cpus: $4, memory: 50m${5:+, runtime: $5}}")
}
write_workflow() { # ROW
  local requirements=() nodes=4 jobs=$round/jobs
  {
    case $1 in
      end) stage 1 8 2 1 ;;
      wide*) stage 1 1 12 1; stage 2 40 4 1 ;;
      plain) stage 1 320 3 1 ;;
      suspend) stage 1 4 20 2 PT20S; stage 2 8 2 2 ;;
      controller-*) stage 1 340 8 2 ;;
      *node*) stage 1 4 28 2; stage 2 8 2 2 ;;
      scancel) nodes=2; stage 1 4 8 2; stage 2 8 2 2 ;;
      *) stage 1 4 8 2; stage 2 8 2 2 ;;
    esac
  } >"$jobs"
  cat - "$jobs" >"$round/wf.yaml" <<YAML
name: wf
resource_requirements:
$(printf '%s\n' "${requirements[@]}")
slurm_schedulers:
  - {name: all, nodes: $nodes, walltime: "00:20:00", extra: --exclusive}
jobs:
YAML
}

# ---- a squeue that is none: what workers find first in PATH; as long as the file `lie` is there ----

write_squeue() { # LIE
  mkdir "$round/bin"
  cat >"$round/bin/squeue" <<SQUEUE
#!/bin/bash
# Said of every question: what the cluster really answers, or less.
[ -e "$round/lie" ] || exec $(command -v squeue) "\$@"
echo "\$EPOCHREALTIME \$*" >>"$round/asked"
case $1 in
  fails) echo 'slurm_load_jobs error: Unable to contact slurm controller (connect failure)' >&2; exit 1 ;;
  hangs) exec sleep 600 ;;
  empty) ;;
  half) answer=\$($(command -v squeue) "\$@"); printf %s "\${answer:0:\${#answer}/2}" ;;
  other) # A cluster on which the same number has ended, and others run.
    $(command -v squeue) "\$@" | sed -E 's/torctest/elsewhere/g; s/RUNNING/CANCELLED/g'; echo '4711 4711 N/A RUNNING elsewhere m1' ;;
esac
SQUEUE
  chmod 755 "$round/bin/squeue"
  : >"$round/lie"
}

# ---- one round ----

cluster() { "$here/cluster.sh" "$place" "$@"; }
note() { echo "$EPOCHREALTIME $*" >>"$round/log"; }
said() { [ "$(grep -c " $1 " "$round/log")" -ge "$2" ]; } # WORD TIMES
submit() {
  local id
  id=$(cd "$round" && PATH="$round/bin:$PATH" TORC_WORKER_FLAGS="$flags" sbatch --parsable "$store/slurm/all.sbatch") || return 1
  note submitted "$id"
  ids+=("$id")
}
batch_host() { scontrol show job "$1" | sed -n 's/^ *BatchHost=//p'; }
other_node() { # of the allocation than the batch host
  scontrol show hostnames "$(squeue -h -j "$1" -o %N)" | grep -vx "$(batch_host "$1")" | shuf -n 1
}
# Notes each new state of the allocations until all have ended.
follow() {
  local id state nodes open last=() held=()
  while true; do
    open=0
    for id in "${ids[@]}"; do
      state= nodes=
      read -r state nodes < <(squeue -h -t all -j "$id" -o '%T %N' 2>/dev/null)
      if [ -n "$state" ] && [ "$state" != "${last[id]:-}" ]; then
        note state "$id" "$state"
        last[id]=$state
      fi
      if [ "$state" = RUNNING ] && [ "$nodes" != "${held[id]:-}" ]; then
        note nodes "$id" "$nodes"
        held[id]=$nodes
      fi
      case ${last[id]:-} in '' | PENDING | CONFIGURING | RUNNING | SUSPENDED | COMPLETING) open=1 ;; esac
    done
    [ $open = 1 ] || return 0
    sleep 0.2
  done
}
on() { cluster exec "$1" bash -c "$2"; }
strike() { # ROW
  local id=${ids[0]} node
  node=$(other_node "$id")
  # Of the two above a worker the upper one first stands still, or it would see to the lower one's end.
  local family='w=$(pgrep -x torc-watchdog); c=$(pgrep -P $w -x torc);'
  case $1 in
    node | node-late) note fault power "$node"; cluster crash "$node" ;;
    first-node*) node=$(batch_host "$id"); note fault power "$node"; cluster crash "$node" ;;
    worker) note fault SIGKILL "$node"; on "$node" "$family kill -KILL \$c" ;;
    watchdog) note fault SIGKILL "$node"; on "$node" "$family kill -KILL \$w" ;;
    both) note fault SIGKILL "$node"; on "$node" "$family kill -STOP \$w \$c; kill -KILL \$w \$c" ;;
    srun) note fault SIGKILL; on "$(batch_host "$id")" 'kill -KILL $(pgrep -o -x srun)' ;;
    stepd) note fault SIGKILL "$node"; on "$node" 'kill -KILL $(pgrep -x slurmstepd)' ;;
    step) note fault scancel; scancel "$id.0" ;;
    scancel) note fault scancel; scancel "${ids[1]}" ;;
    requeue) note fault requeue; scontrol requeue "$id" ;;
    suspend) note fault suspend; scontrol suspend "$id"; sleep 30; note resumed; scontrol resume "$id" ;;
    controller-*) # One that hangs: connections come about, and nobody answers.
      local down=stop up=start
      [[ $1 = *-hangs ]] && down=STOP up=CONT
      cluster controller $down
      note controller $down
      sleep 30
      note fault SIGKILL "$last_node"
      on "$last_node" "$family kill -KILL \$c"
      sleep 270
      cluster controller $up
      note controller $up
      ;;
    squeue-*) # No process of torc is left there: only the lease tells.
      note fault SIGKILL "$node"
      on "$node" 'for p in /proc/[0-9]*; do [[ $(readlink $p/exe) = */torc ]] && echo ${p#/proc/}; done | xargs kill -KILL'
      ;;
  esac
}
round() { # ROW NUMBER
  local row=$1 number=$2 ids=() flags="--lease-ttl ${lease}s" last_node=n4 silence=6 follower
  place=$work/$row/c
  round=$work/$row/$number
  store=$work/$row/shared/$number.torc
  mkdir -p "$round"
  # Slurm notices the loss of a node after some 15 s by the first of these, 20 to 26 s by the other.
  [[ $row = *-late ]] && silence=15
  [[ $row = controller-* ]] && silence=300 # as at most sites: all nodes are silent to one that hangs
  SLURM_CONF_EXTRA=SlurmdTimeout=$silence NODE_ADDRESS=$(hostname -I | cut -d' ' -f1) cluster start 4 $BASHPID || return
  export SLURM_CONF=$place/slurm.conf
  write_workflow "$row"
  : >"$round/log"
  case $row in
    squeue-*) write_squeue "${row#squeue-}"; flags='--lease-ttl 30s' ;;
    wide-poll) flags+=' --no-bell' ;;
  esac
  (cd "$round" && "$torc" init wf.yaml --store "$store" --engine journal --no-slurm) >"$round/init" 2>&1 || { cat "$round/init"; return 1; }
  submit || return
  [ "$row" != scancel ] || submit || return
  follow &
  follower=$!
  case $row in
    end | wide* | plain) ;;
    *)
      await 60 said start 4 || note late
      # The loss of a node at any moment of the ten seconds between two heartbeats of its worker.
      [[ $row = *node* ]] && sleep $((RANDOM % 10))
      sleep 1.$((RANDOM % 900 + 100))
      strike "$row" >>"$round/out" 2>&1
      ;;
  esac
  await 420 eval "! kill -0 $follower 2>/dev/null" || { note hung; kill $follower; }
  wait $follower 2>/dev/null
  "$torc" status "$store" --json >"$round/status.json" 2>>"$round/out"
  "$torc" history "$store" --json >"$round/history.json" 2>>"$round/out"
  "$torc" verify "$store" >"$round/verify" 2>&1 || note damaged
  cluster stop
  # shellcheck disable=SC2046 # words
  "$here/rounds.py" audit "$row" "$number" "$round" "$store" $(wanted_of "$row") && rm -rf "$round" "$store"
}
row() {
  local number of=$rounds daemon
  mkdir -p "$work/$1/files" "$work/$1/shared"
  # It is known as MooseFS: listings and heartbeats are a second old at most.
  bindfs -f -o subtype=mfs "$work/$1/files" "$work/$1/shared" 2>/dev/null &
  daemon=$!
  await 10 mountpoint -q "$work/$1/shared"
  [[ $1 != controller-* ]] || of=$((rounds < 2 ? rounds : 2))
  for ((number = 1; number <= of; number++)); do
    round "$1" "$number" || [ $? = 1 ] || echo "$1 $number broken=1"
  done >>"$log" 2>&1
  umount "$work/$1/shared"
  kill $daemon 2>/dev/null # nodes of other clusters may have the mount as well
  wait $daemon 2>/dev/null
}

[ $# -gt 0 ] || set -- "${alone[@]}" "${abreast[@]}"
for name; do wanted_of "$name" >/dev/null || exit; done
"$here/cluster.sh" "$work/try" start 1 || exit
"$here/cluster.sh" "$work/try" stop
clean_up() { # also when it is ended from outside: clusters end with who started them
  local mount
  # shellcheck disable=SC2046 # words
  kill $(jobs -rp) 2>/dev/null
  for mount in "$work"/*/shared; do mountpoint -q "$mount" && umount -l "$mount"; done
}
trap clean_up EXIT
trap 'exit 1' INT TERM
: >"$log"
tail -f -n +1 "$log" &
rows=()
for name; do [[ " ${alone[*]} " != *" $name "* ]] || row "$name"; done
for name; do
  [[ " ${alone[*]} " != *" $name "* ]] || continue
  while [ "$(jobs -rp | wc -l)" -gt "${ABREAST:-3}" ]; do sleep 0.2; done # and tail
  row "$name" &
  rows+=($!)
done
for process in "${rows[@]}"; do wait "$process"; done
{
  echo
  for name; do
    # shellcheck disable=SC2046
    "$here/rounds.py" sum "$name" "$log" $(wanted_of "$name") || bad=1
  done
  [ -z "${bad:-}" ] || echo "kept: $work"
} >"$work/table"
cat "$work/table" >>"$log"
sleep 1.2 # until tail has printed it
grep -q '^kept: ' "$work/table" && exit 1
rm -rf "$work"

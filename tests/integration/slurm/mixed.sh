#!/bin/bash
# 200 jobs of one, two and four nodes, with priorities mixed, in one allocation of four nodes of a real Slurm
# (cluster.sh): each runs once to its end, no node is over-subscribed, and how long all took beside a lower bound.
#   mixed.sh BUILD [ROW…]   BUILD: the build directory, with torc; ROW: MODE or MODE-FAULT
# MODE: direct, auto, slurm; FAULT: crash (power cut of a node, which comes back), requeue (of the allocation), suspend (for 20 s).
# A row may be named several times. Prints a line for each (mixed.py says what its figures are). Exit code 1: something
# was lost, doubled or over-subscribed, or without a fault it took more than 1.1 of what is fair; 77: this machine cannot
# do it. What belongs to a bad row is kept.
set -u
build=$(readlink -f "${1:?usage: mixed.sh BUILD [ROW…]}")
shift
here=$(dirname "$(readlink -f "$0")")
torc=$build/torc
work=$(mktemp -d /tmp/torc-mixed.XXXXXX)

look=0.1
. "$here/../processes.sh"
cluster() { "$here/cluster.sh" "$round/c" "$@"; }
# Asks Slurm for the state of the allocation; notes which nodes it has, when these are others than before.
look_at_nodes() {
  local nodes
  state= nodes=
  read -r state nodes < <(squeue -h -t all -j "$id" -o '%T %N' 2>/dev/null)
  [ "$state" = RUNNING ] || nodes=none
  [ "$id" != "$crashed_in" ] || nodes+=" n3" # which Slurm has not noticed yet
  [ "$nodes" = "$has" ] || { has=$nodes; echo "$EPOCHREALTIME nodes $nodes" >>"$round/log"; }
}
ended() { look_at_nodes; [[ -z $state || $state =~ ^(COMPLETED|FAILED|CANCELLED|TIMEOUT|NODE_FAIL)$ ]]; }
half_done() { look_at_nodes; [ "$(grep -c ' end ' "$round/log")" -ge 100 ]; }

row() { # MODE-FAULT NUMBER
  local mode=${1%%-*} fault=${1#*-} id state has= crashed_in=
  [ "$fault" != "$1" ] || fault=none
  round=$work/$2.$1
  mkdir -p "$round"
  NODE_ADDRESS=$(hostname -I | cut -d' ' -f1) cluster start 4 $BASHPID || return
  export SLURM_CONF=$round/c/slurm.conf
  : >"$round/log"
  "$here/mixed.py" workflow "$mode" "$here/job" "$round/log" >"$round/wf.yaml"
  (cd "$round" && "$torc" init wf.yaml --store "$round/wf.torc" --engine journal --no-slurm) >"$round/init" 2>&1 ||
    { cat "$round/init"; return 1; }
  id=$(cd "$round" && TORC_WORKER_FLAGS="--lease-ttl 20s" sbatch --parsable "$round/wf.torc/slurm/all.sbatch") || return 1
  if [ "$fault" != none ]; then
    await 120 half_done || echo "$1: half of the jobs took longer than two minutes"
    echo "$EPOCHREALTIME fault $fault" >>"$round/log"
    case $fault in
      crash) cluster crash n3; crashed_in=$id; look_at_nodes; sleep 20; cluster boot n3; scontrol update NodeName=n3 State=RESUME 2>/dev/null ;;
      requeue) scontrol requeue "$id" ;;
      suspend) scontrol suspend "$id"; look_at_nodes; sleep 20; scontrol resume "$id" ;;
    esac
    look_at_nodes
  fi
  await 400 ended || echo "$1: the allocation goes on"
  # What a lost node leaves undone, a further allocation does.
  if ! "$torc" status "$round/wf.torc" --json | grep -q '"completed": 200'; then
    id=$(cd "$round" && sbatch --parsable "$round/wf.torc/slurm/all.sbatch") && await 200 ended
  fi
  "$torc" status "$round/wf.torc" --json >"$round/status.json"
  "$torc" verify "$round/wf.torc" >"$round/verify" 2>&1 || echo "$1: damaged"
  cluster stop
  "$here/mixed.py" audit "$1" "$round" && rm -rf "$round"
}

[ $# -gt 0 ] || set -- direct auto slurm direct-crash direct-requeue direct-suspend auto-crash auto-requeue auto-suspend
bad=0
number=0
for name; do row "$name" $((++number)) || bad=$?; [ "$bad" != 77 ] || exit 77; done
[ "$bad" != 0 ] || { rm -rf "$work"; exit 0; }
echo "kept: $work"
exit 1

#!/bin/bash
# 200 jobs of one, two and four nodes, with priorities mixed, in one allocation of four nodes of a real Slurm
# (cluster.sh): each runs once to its end, no node is over-subscribed, and how long all took beside a lower bound.
#   mixed.sh BUILD [ROW…]   BUILD: the build directory, with torc; ROW: MODE or MODE-FAULT
# MODE: direct, auto, slurm; FAULT: crash (power cut of a node, which comes back), requeue (of the allocation), suspend (for 20 s).
# Prints a line for each row. Exit code 1: something was lost, doubled or over-subscribed, or without a fault it took more
# than 1.1 of the bound; 77: this machine cannot do it. What belongs to a bad row is kept.
set -u
build=$(readlink -f "${1:?usage: mixed.sh BUILD [ROW…]}")
shift
here=$(dirname "$(readlink -f "$0")")
torc=$build/torc
work=$(mktemp -d /tmp/torc-mixed.XXXXXX)

cat >"$work/job" <<'JOB'
#!/bin/bash
# job LOG TENTHS: runs for so many tenths of a second, of its own time.
say() { echo "$EPOCHREALTIME $1 $TORC_JOB_NAME $TORC_ATTEMPT_ID ${TORC_NODELIST:-$host} $TORC_NUM_CPUS" >>"$log"; }
log=$1
read -r host </proc/sys/kernel/hostname
say start
for ((i = 0; i < $2; i++)); do sleep 0.1; done
say end
JOB
chmod 755 "$work/job"

cluster() { "$here/cluster.sh" "$round/c" "$@"; }
await() { # SECONDS CONDITION…
  local end=$((SECONDS + $1))
  shift
  until "$@"; do
    [ $SECONDS -lt $end ] || return 1
    sleep 0.1
  done
}
state() { squeue -h -t all -j "$id" -o %T 2>/dev/null; }
ended() { [[ $(state) =~ ^(COMPLETED|FAILED|CANCELLED|TIMEOUT|NODE_FAIL)$ || -z $(state) ]]; }
half_done() { [ "$(grep -c ' end ' "$round/log")" -ge 100 ]; }

row() { # MODE-FAULT
  local mode=${1%%-*} fault=${1#*-} id
  [ "$fault" != "$1" ] || fault=none
  round=$work/$1
  mkdir -p "$round"
  NODE_ADDRESS=$(hostname -I | cut -d' ' -f1) cluster start 4 $BASHPID || return
  export SLURM_CONF=$round/c/slurm.conf
  : >"$round/log"
  "$here/mixed.py" workflow "$mode" "$work/job" "$round/log" >"$round/wf.yaml"
  (cd "$round" && "$torc" init wf.yaml --store "$round/wf.torc" --engine journal --no-slurm) >"$round/init" 2>&1 ||
    { cat "$round/init"; return 1; }
  id=$(cd "$round" && TORC_WORKER_FLAGS="--lease-ttl 20s --idle-timeout 30s" sbatch --parsable "$round/wf.torc/slurm/all.sbatch") || return 1
  if [ "$fault" != none ]; then
    await 120 half_done || echo "$1: half of the jobs took longer than two minutes"
    echo "$EPOCHREALTIME fault $fault" >>"$round/log"
    case $fault in
      crash) cluster crash n3; sleep 20; cluster boot n3; scontrol update NodeName=n3 State=RESUME 2>/dev/null ;;
      requeue) scontrol requeue "$id" ;;
      suspend) scontrol suspend "$id"; sleep 20; scontrol resume "$id" ;;
    esac
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
for name; do row "$name" || bad=$?; [ "$bad" != 77 ] || exit 77; done
[ "$bad" != 0 ] || { rm -rf "$work"; exit 0; }
echo "kept: $work"
exit 1

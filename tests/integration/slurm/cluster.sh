#!/bin/bash
# A real Slurm cluster on this machine, for tests: slurmctld and N slurmd from Debian's packages. Every node n1..nN is
# a set of namespaces with its own hostname, process ids, mounts and /dev/shm; files and network are the machine's.
#   cluster.sh DIR start N [OWNER]  N nodes (at most 9), 2 CPUs and 1000 MB each, on ports that are free. First stops a
#                                leftover in DIR. When the process OWNER ends without a stop, everything ends with it
#   cluster.sh DIR stop          ends everything that was started in DIR; fine when nothing runs
#   cluster.sh DIR env           prints what to export: SLURM_CONF
#   cluster.sh DIR exec nX CMD…  runs CMD on a node, beside its jobs
#   cluster.sh DIR crash nX      cuts its power: every process of the node is gone at once
#   cluster.sh DIR boot nX       starts it again
#   cluster.sh DIR controller start | stop | SIGNAL
#                                slurmctld alone: stops it, and starts it again from what it has saved; or a signal
# DIR must be a path without spaces, short enough for sockets. Exit codes: 0, 1 failed, 2 usage, 77 this machine
# cannot do it (no root, no namespaces, packages missing); the reason is on stderr.
# In the environment of `start`: SLURM_CONF_EXTRA, further lines of slurm.conf; NODE_ADDRESS, the address that the names
# of nodes stand for there (127.0.0.1; workers of several nodes ring each other on another one only);
# SLURM_ACCOUNTING=1, slurmdbd with a database of its own (at most 8 nodes then); SLURM_CGROUPS=1, steps are held to their
# memory by task/cgroup.
set -u
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
self=$(readlink -f "$0")
[ $# -ge 2 ] || { sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "$self"; exit 2; }
mkdir -p "$1" && dir=$(readlink -f "$1") || exit 1
command=$2
shift 2
export SLURM_CONF=$dir/slurm.conf

fail() { echo "cluster.sh: $*" >&2; exit 1; }
cannot() { echo "cluster.sh: $*" >&2; exit 77; }
. "${self%/*}/../processes.sh"
. "${self%/*}/accounting.sh"

finish() { # NAME SIGNAL…: each signal in turn until it is gone
  local name=$1 signal
  shift
  for signal in "$@"; do
    lives "$name" && kill -"$signal" "$(pid_of "$name")" 2>/dev/null
    await 5 gone "$name" && break
  done
  gone "$name" || fail "$name (pid $(pid_of "$name")) does not end"
  rm -f "$dir/run/$name"
}

# ---- one node ----

# The unshare process stands for the node: when it dies, the kernel ends the node's pid 1 and with it all the rest.
boot() {
  local node=$1
  lives "$node" && fail "$node is running"
  mkdir -p "$dir/spool/$node"
  setsid unshare --mount --uts --pid --fork --mount-proc --kill-child=KILL -- \
    "$self" "$dir" _node "$node" </dev/null >>"$dir/log/$node.out" 2>&1 &
  remember "$node" $!
}
node_main() { # as pid 1 of the node: also reaps what loses its parent
  local node=$1 slurmd
  hostname "$node"
  mount -t tmpfs -o mode=1777 none /dev/shm
  mount --bind "$dir/hosts" /etc/hosts
  slurmd -D -N "$node" -f "$SLURM_CONF" &
  slurmd=$!
  trap 'kill -TERM $slurmd 2>/dev/null' TERM
  while kill -0 $slurmd 2>/dev/null; do wait $slurmd; done
}
shut_down() {
  lives "$1" && kill -TERM "$(first_process "$1")" 2>/dev/null && await 3 gone "$1"
  finish "$1" KILL
}
on_node() {
  local node=$1 init
  shift
  lives "$node" || fail "$node is not running"
  init=$(first_process "$node")
  exec nsenter -t "$init" -m -u -p -- env -C "$PWD" TMPDIR=/dev/shm "$@"
}

# ---- all of it ----

check_machine() {
  local program
  for program in slurmctld slurmd sbatch munged unshare nsenter; do
    command -v $program >/dev/null || cannot "$program is missing; run scripts/install-deps.sh test"
  done
  [ "$(id -u)" = 0 ] || cannot "nodes are namespaces, and making those needs root; run the tests as root"
  unshare --mount --uts --pid --fork --mount-proc -- mount -t tmpfs none /dev/shm 2>/dev/null ||
    cannot "this machine does not let root make mount, UTS and pid namespaces (a container without CAP_SYS_ADMIN?)"
  [ -z "${SLURM_ACCOUNTING:-}" ] || check_accounting
  [ -z "${SLURM_CGROUPS:-}" ] || check_cgroups
}

write_configuration() {
  local nodes=$1 port=$2 i host
  host=$(hostname -s)
  cat >"$dir/slurm.conf" <<CONF
ClusterName=torctest
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$port
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$dir/munge/socket,cred_expire=5
CredType=cred/munge
StateSaveLocation=$dir/state
SlurmdSpoolDir=$dir/spool/%n
SlurmctldPidFile=$dir/state/slurmctld.pid
SlurmdPidFile=$dir/spool/%n.pid
SlurmctldLogFile=$dir/log/slurmctld.log
SlurmdLogFile=$dir/log/%n.log
MailProg=/bin/true
MpiDefault=none
TaskProlog=$dir/task_prolog
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
SlurmdParameters=config_overrides
SchedulerParameters=sched_min_interval=0,sched_interval=1,bf_interval=1,batch_sched_delay=0
PropagateResourceLimits=NONE
ReturnToService=1
SlurmdTimeout=4
SlurmctldTimeout=10
TCPTimeout=2
MessageTimeout=5
KillWait=2
WaitTime=5
JobRequeue=1
MinJobAge=300
NodeName=DEFAULT CPUs=2 RealMemory=1000 State=UNKNOWN
CONF
  if [ -n "${SLURM_CGROUPS:-}" ]; then
    cgroup_configuration
  else
    printf '%s\n' ProctrackType=proctrack/linuxproc TaskPlugin=task/none
  fi >>"$dir/slurm.conf"
  if [ -n "${SLURM_ACCOUNTING:-}" ]; then
    accounting_configuration $((port + 9))
  else
    printf '%s\n' JobAcctGatherType=jobacct_gather/none AccountingStorageType=accounting_storage/none
  fi >>"$dir/slurm.conf"
  echo "127.0.0.1 localhost $host" >"$dir/hosts"
  for ((i = 1; i <= nodes; i++)); do
    echo "NodeName=n$i NodeHostname=n$i NodeAddr=127.0.0.1 Port=$((port + i))" >>"$dir/slurm.conf"
    echo "${NODE_ADDRESS:-127.0.0.1} n$i" >>"$dir/hosts"
  done
  echo "PartitionName=all Nodes=n[1-$nodes] Default=YES DefaultTime=10 MaxTime=60 State=UP" >>"$dir/slurm.conf"
  printf '%s\n' "${SLURM_CONF_EXTRA:-}" >>"$dir/slurm.conf"
  # As on real nodes, what tasks keep in TMPDIR stays on theirs.
  printf '#!/bin/sh\necho export TMPDIR=/dev/shm\n' >"$dir/task_prolog"
  chmod 755 "$dir/task_prolog"
}

start_munge() {
  mkdir -m 755 "$dir/munge"
  (umask 077 && head -c 128 /dev/urandom >"$dir/munge/key")
  # --force: a private temporary directory above the socket is fine here, every process is root's.
  munged --force --socket="$dir/munge/socket" --key-file="$dir/munge/key" --pid-file="$dir/munge/pid" \
    --log-file="$dir/munge/log" --seed-file="$dir/munge/seed" --num-threads=2 2>"$dir/log/munged.out" ||
    fail "munged does not start: $(cat "$dir/log/munged.out")"
  await 5 test -s "$dir/munge/pid" || fail "munged does not start; see $dir/munge/log"
  remember munged "$(cat "$dir/munge/pid")"
}

# Ends the cluster of a test that was killed.
guard_main() {
  local owner=$1 watch
  tail --pid="$owner" -f /dev/null &
  watch=$!
  trap 'kill $watch; exit' TERM
  wait $watch
  rm -f "$dir/run/guard"
  stop
}

# Ten ports below those that the system gives to clients, free now. Who binds the first has all ten: slurmctld.
free_ports() {
  local first i
  while true; do
    first=$((20000 + SRANDOM % 1200 * 10))
    for ((i = 0; i < 10; i++)); do
      (: <"/dev/tcp/127.0.0.1/$((first + i))") 2>/dev/null && continue 2
    done
    echo $first
    return
  done
}
launch_controller() {
  setsid slurmctld -D -f "$SLURM_CONF" </dev/null >>"$dir/log/slurmctld.out" 2>&1 &
  remember slurmctld $!
  await 20 answers_or_gone || fail "slurmctld does not answer; see $dir/log"
}
answers_or_gone() { gone slurmctld || timeout 5 scontrol ping; }
start_controller() { # NODES
  local round port name
  for round in {1..20}; do
    port=$(free_ports)
    write_configuration "$1" "$port"
    if [ -n "${SLURM_ACCOUNTING:-}" ]; then
      [ -e "$dir/db" ] || start_database
      start_slurmdbd $((port + 9))
      # slurmctld makes itself known to slurmdbd, which must have the name by then.
      lives slurmdbd && { timeout 10 sacctmgr -i add cluster torctest >"$dir/log/sacctmgr.out" 2>&1 || true; }
    fi
    launch_controller
    lives slurmctld && { [ -z "${SLURM_ACCOUNTING:-}" ] || lives slurmdbd; } && return
    # Another cluster or program was faster.
    grep -q 'Address already in use' "$dir"/log/slurm{ctld,dbd}.log || break
    for name in slurmctld slurmdbd; do
      [ -e "$dir/run/$name" ] && finish "$name" TERM KILL
      [ -e "$dir/log/$name.log" ] && mv "$dir/log/$name.log" "$dir/log/$name.log.$round"
    done
  done
  fail "slurmctld does not start; see $dir/log"
}

controller() {
  case $1 in
    start) launch_controller && lives slurmctld || fail "slurmctld does not start; see $dir/log" ;;
    stop) finish slurmctld TERM KILL ;;
    *) lives slurmctld && kill -"$1" "$(pid_of slurmctld)" ;;
  esac
}

# A node is told once for each of its partitions.
all_idle() { [ "$(timeout 5 sinfo -h -N -t idle -o %N | sort -u | wc -l)" = "$1" ]; }

start() {
  local nodes=$1 owner=${2:-} i
  check_machine
  stop
  rm -rf "$dir"/{state,spool,log,munge,run,db}
  rm -f "$dir"/cgroup.conf "$dir"/slurmdbd.conf
  mkdir -p "$dir"/{state,spool,log,run}
  trap stop EXIT # unless all goes well
  if [ -n "$owner" ]; then
    setsid "$self" "$dir" _guard "$owner" </dev/null >/dev/null 2>&1 &
    remember guard $!
  fi
  start_munge
  start_controller "$nodes" # a slurmd that finds none tries again only seconds later
  for ((i = 1; i <= nodes; i++)); do boot "n$i"; done
  await 30 all_idle "$nodes" || fail "not all nodes came up; see $dir/log"
  trap - EXIT
}

stop() {
  local file ends=()
  [ -d "$dir/run" ] || return 0
  for file in "$dir"/run/n[0-9]*; do
    [ -e "$file" ] && shut_down "${file##*/}" &
    ends+=($!)
  done
  # For these alone: of a start that failed the guard is a child, too, and ends with its owner.
  wait "${ends[@]}"
  for file in slurmctld slurmdbd mariadbd munged guard; do
    [ -e "$dir/run/$file" ] && finish "$file" TERM KILL
  done
  remove_cgroups
  rmdir "$dir/run" || fail "some processes were not ended: $(ls "$dir/run")"
}

case $command in
  start) [ $# = 1 ] || [ $# = 2 ] || fail "usage: cluster.sh DIR start N [OWNER]"; start "$@" ;;
  stop) stop ;;
  env) echo "export SLURM_CONF=$SLURM_CONF" ;;
  exec) on_node "$@" ;;
  crash) finish "$1" KILL ;;
  boot) boot "$1" ;;
  controller) controller "$1" ;;
  _node) node_main "$1" ;;
  _guard) guard_main "$1" ;;
  *) echo "cluster.sh: unknown command '$command'" >&2; exit 2 ;;
esac

#!/bin/bash
# A real Grid Engine on this machine, for tests: sge_qmaster and N sge_execd from Debian's packages. The master has a
# network of its own (the login side, where qsub runs), and every execution host n1..nN is a set of namespaces with its
# own address, hostname, process ids and mounts; files are the machine's.
#   cluster.sh DIR start N [OWNER]  N hosts (at most 9) of 2 slots each (-pe smp 2: both). First stops a leftover in DIR. When the process
#                                OWNER ends without a stop, everything ends with it
#   cluster.sh DIR stop          ends everything that was started in DIR; fine when nothing runs
#   cluster.sh DIR env           prints what to export: SGE_ROOT, SGE_CELL, ports
#   cluster.sh DIR exec - CMD…   runs CMD on the login side; `exec nX CMD…` on a host, beside its jobs
#   cluster.sh DIR crash nX      cuts its power: every process of the host is gone at once
#   cluster.sh DIR boot nX       starts it again
# DIR must be a path without spaces. Exit codes: 0, 1 failed, 2 usage, 77 this machine cannot do it (no root, no
# namespaces, packages missing); the reason is on stderr.
set -u
export PATH=$PATH:/usr/sbin:/sbin
self=$(readlink -f "$0")
[ $# -ge 2 ] || { sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "$self"; exit 2; }
mkdir -p "$1" && dir=$(readlink -f "$1") || exit 1
command=$2
shift 2
export SGE_ROOT=$dir/sge SGE_CELL=default SGE_ARCH=lx-amd64 SGE_QMASTER_PORT=${SGE_TEST_PORT:-6444} SGE_EXECD_PORT=6445
[ ! -x /usr/share/gridengine/util/arch ] || SGE_ARCH=$(/usr/share/gridengine/util/arch)

fail() { echo "cluster.sh: $*" >&2; exit 1; }
cannot() { echo "cluster.sh: $*" >&2; exit 77; }
. "${self%/*}/../processes.sh"

programs=/usr/lib/gridengine
master_address=10.77.0.1

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

# ---- one host ----

# The unshare process stands for the host: when it dies, the kernel ends the host's pid 1 and with it all the rest.
boot() { # NAME
  local host=$1
  lives "$host" && fail "$host is running"
  rm -f "$dir/run/$host.up"
  setsid unshare --mount --uts --net --pid --fork --mount-proc --kill-child=KILL -- \
    "$self" "$dir" _host "$host" </dev/null >>"$dir/log/$host.out" 2>&1 &
  remember "$host" $!
  await 10 test -e "$dir/run/$host.up" || fail "$host does not start; see $dir/log"
  [ "$host" = master ] && return
  connect "$host" || fail "$host gets no network"
  : >"$dir/run/$host.go"
}
# A pair of interfaces between the master and a host.
connect() {
  local host=$1 n=${1#n} master
  master=$(first_process master)
  # One of a host that lost its power goes with it, only later.
  nsenter -t "$master" -n ip link del "v$n" 2>/dev/null
  nsenter -t "$master" -n sh -c "
    ip link add v$n type veth peer name e0 netns $(first_process_from_here "$host") &&
    ip addr add 10.77.$n.1/24 dev v$n && ip link set v$n up" &&
    nsenter -t "$(first_process "$host")" -n sh -c "
      ip addr add 10.77.$n.2/24 dev e0 && ip link set e0 up && ip route add default via 10.77.$n.1"
}
# ip(8) looks for the process where it runs: nsenter has not changed that.
first_process_from_here() { first_process "$1"; }

host_main() { # as pid 1 of the host: also reaps what loses its parent
  local host=$1 daemon
  hostname "$host"
  mount --bind "$dir/hosts" /etc/hosts
  ip link set lo up
  if [ "$host" = master ]; then
    ip addr add $master_address/32 dev lo
    echo 1 >/proc/sys/net/ipv4/ip_forward
    : >"$dir/run/$host.up"
    SGE_ND=1 $programs/sge_qmaster &
  else
    mount -t tmpfs -o mode=1777 none /dev/shm
    : >"$dir/run/$host.up"
    await 10 test -e "$dir/run/$host.go" || exit 1
    rm -f "$dir/run/$host.go"
    SGE_ND=1 $programs/sge_execd &
  fi
  daemon=$!
  trap 'kill -TERM $daemon 2>/dev/null' TERM
  while kill -0 $daemon 2>/dev/null; do wait $daemon; done
}
on_host() {
  local host=$1 init
  shift
  [ "$host" = - ] && host=master
  lives "$host" || fail "$host is not running"
  init=$(first_process "$host")
  exec nsenter -t "$init" -m -u -n -p -- env -C "$PWD" PATH="$programs:$PATH" "$@"
}
master() { "$self" "$dir" exec - "$@"; }

# ---- all of it ----

check_machine() {
  local program
  for program in $programs/sge_qmaster $programs/sge_execd $programs/qsub unshare nsenter ip; do
    command -v $program >/dev/null || cannot "$program is missing; run scripts/install-deps.sh test"
  done
  [ "$(id -u)" = 0 ] || cannot "hosts are namespaces, and making those needs root; run the tests as root"
  unshare --mount --uts --net --pid --fork --mount-proc -- ip link add v type veth peer name w 2>/dev/null ||
    cannot "this machine does not let root make namespaces with networks (a container without CAP_SYS_ADMIN?)"
}

write_configuration() {
  local nodes=$1 i resources=/usr/share/gridengine/util/resources
  local cell=$SGE_ROOT/$SGE_CELL/common
  mkdir -p "$cell" "$dir"/spool/{qmaster/job_scripts,db,execd} "$dir/tmp"
  chmod 1777 "$dir/tmp"
  for i in bin lib util utilbin; do ln -sfn "/var/lib/gridengine/$i" "$SGE_ROOT/$i"; done
  echo master >"$cell/act_qmaster"
  cat >"$cell/bootstrap" <<CONF
admin_user              none
default_domain          none
ignore_fqdn             false
spooling_method         classic
spooling_lib            libspoolc
spooling_params         $cell;$dir/spool/qmaster
binary_path             $SGE_ROOT/bin
qmaster_spool_dir       $dir/spool/qmaster
security_mode           none
listener_threads        2
worker_threads          2
scheduler_threads       1
CONF
  echo "127.0.0.1 localhost" >"$dir/hosts"
  echo "$master_address master" >>"$dir/hosts"
  for ((i = 1; i <= nodes; i++)); do echo "10.77.$i.2 n$i" >>"$dir/hosts"; done
  sed -e "s|^execd_spool_dir.*|execd_spool_dir $dir/spool/execd|" -e 's|^min_uid.*|min_uid 0|' \
    -e 's|^min_gid.*|min_gid 0|' -e 's|^load_report_time.*|load_report_time 00:00:02|' \
    -e 's|^max_unheard.*|max_unheard 00:00:06|' -e 's|^mailer.*|mailer /bin/true|' \
    -e 's|^reporting_params.*|reporting_params accounting=true reporting=false flush_time=00:00:01 accounting_flush_time=00:00:00 joblog=false sharelog=00:00:00|' \
    -e 's|^shell_start_mode.*|shell_start_mode unix_behavior|' \
    /usr/share/gridengine/default-configuration >"$dir/configuration"
  {
    $programs/spoolinit classic libspoolc "$cell;$dir/spool/qmaster" init &&
      $programs/spooldefaults configuration "$dir/configuration" &&
      $programs/spooldefaults complexes $resources/centry &&
      $programs/spooldefaults usersets $resources/usersets &&
      $programs/spooldefaults managers root
  } >"$dir/log/init.out" 2>&1 || fail "Grid Engine cannot be set up: $(tail -n 3 "$dir/log/init.out")"
}

configure_queue() { # NODES
  local i names=
  for ((i = 1; i <= $1; i++)); do
    master qconf -ah "n$i" && names+=" n$i" || return 1
  done
  master qconf -as master || return 1
  printf 'group_name @hosts\nhostlist%s\n' "$names" >"$dir/group"
  master qconf -Ahgrp "$dir/group" || return 1
  cat >"$dir/pe" <<PE
pe_name            smp
slots              999
user_lists         NONE
xuser_lists        NONE
start_proc_args    NONE
stop_proc_args     NONE
allocation_rule    \$pe_slots
control_slaves     FALSE
job_is_first_task  TRUE
urgency_slots      min
accounting_summary FALSE
qsort_args         NONE
PE
  master qconf -Ap "$dir/pe" || return 1
  cat >"$dir/queue" <<QUEUE
qname                 all.q
hostlist              @hosts
seq_no                0
load_thresholds       NONE
suspend_thresholds    NONE
nsuspend              1
suspend_interval      00:05:00
priority              0
min_cpu_interval      00:05:00
processors            UNDEFINED
qtype                 BATCH INTERACTIVE
ckpt_list             NONE
pe_list               smp
rerun                 FALSE
slots                 2
tmpdir                $dir/tmp
shell                 /bin/bash
prolog                NONE
epilog                NONE
shell_start_mode      unix_behavior
starter_method        NONE
suspend_method        NONE
resume_method         NONE
terminate_method      NONE
notify                00:00:02
owner_list            NONE
user_lists            NONE
xuser_lists           NONE
subordinate_list      NONE
complex_values        NONE
projects              NONE
xprojects             NONE
calendar              NONE
initial_state         default
s_rt                  INFINITY
h_rt                  INFINITY
s_cpu                 INFINITY
h_cpu                 INFINITY
s_fsize               INFINITY
h_fsize               INFINITY
s_data                INFINITY
h_data                INFINITY
s_stack               INFINITY
h_stack               INFINITY
s_core                INFINITY
h_core                INFINITY
s_rss                 INFINITY
h_rss                 INFINITY
s_vmem                INFINITY
h_vmem                INFINITY
QUEUE
  master qconf -Aq "$dir/queue" || return 1
  master qconf -ssconf >"$dir/scheduler" || return 1
  sed -i -e 's|^schedule_interval.*|schedule_interval 0:0:1|' -e 's|^flush_submit_sec.*|flush_submit_sec 1|' \
    -e 's|^flush_finish_sec.*|flush_finish_sec 1|' "$dir/scheduler"
  master qconf -Msconf "$dir/scheduler"
}

guard_main() {
  local owner=$1 watch
  tail --pid="$owner" -f /dev/null &
  watch=$!
  trap 'kill $watch; exit' TERM
  wait $watch
  rm -f "$dir/run/guard"
  stop
}

# A host reports its load before it is given jobs; until then it has "-" there.
all_report() {
  [ "$(master timeout 5 qhost 2>/dev/null | awk '/^n[0-9]/ && $4 != "-"' | wc -l)" = "$1" ]
}
answers_or_gone() { gone master || master timeout 5 qconf -sh; }

start() {
  local nodes=$1 owner=${2:-} i
  check_machine
  stop
  rm -rf "$dir"/{sge,spool,log,run,tmp}
  mkdir -p "$dir"/{sge,spool,log,run}
  trap stop EXIT # unless all goes well
  if [ -n "$owner" ]; then
    setsid "$self" "$dir" _guard "$owner" </dev/null >/dev/null 2>&1 &
    remember guard $!
  fi
  write_configuration "$nodes"
  boot master
  await 20 answers_or_gone
  lives master || fail "sge_qmaster does not start; see $dir/log and $dir/spool/qmaster/messages"
  configure_queue "$nodes" >"$dir/log/configure.out" 2>&1 || fail "$(tail -n 3 "$dir/log/configure.out")"
  for ((i = 1; i <= nodes; i++)); do boot "n$i"; done
  look=0.2 await 60 all_report "$nodes" || fail "not all hosts came up; see $dir/log"
  trap - EXIT
}

stop() {
  local file ending=()
  [ -d "$dir/run" ] || return 0
  for file in "$dir"/run/n[0-9]; do
    [ -e "$file" ] || continue
    finish "${file##*/}" KILL &
    ending+=($!)
  done
  [ ${#ending[@]} = 0 ] || wait "${ending[@]}"
  [ -e "$dir/run/master" ] && finish master KILL
  [ -e "$dir/run/guard" ] && finish guard TERM KILL
  rm -f "$dir"/run/*.up "$dir"/run/*.go
  rmdir "$dir/run" || fail "some processes were not ended: $(ls "$dir/run")"
}

case $command in
  start) [ $# = 1 ] || [ $# = 2 ] || fail "usage: cluster.sh DIR start N [OWNER]"; start "$@" ;;
  stop) stop ;;
  env) printf 'export %s\n' "SGE_ROOT=$SGE_ROOT" "SGE_CELL=$SGE_CELL" "SGE_ARCH=$SGE_ARCH" \
    "SGE_QMASTER_PORT=$SGE_QMASTER_PORT" "SGE_EXECD_PORT=$SGE_EXECD_PORT" ;;
  exec) on_host "$@" ;;
  crash) finish "$1" KILL ;;
  boot) boot "$1" ;;
  _host) host_main "$1" ;;
  _guard) guard_main "$1" ;;
  *) echo "cluster.sh: unknown command '$command'" >&2; exit 2 ;;
esac

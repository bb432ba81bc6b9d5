#!/bin/bash
# An NFS server and two clients, each a kernel of its own: User Mode Linux processes of Debian's packages. Their root is
# this machine's own file system, read-only, under a memory disk of theirs; all of it is seen at /host, writable. The
# server exports /export/shared, on a disk of its own.
#   lab.sh DIR start [OWNER]     boots node0 (the server), node1 and node2. First stops a leftover in DIR. When the
#                                process OWNER ends without a stop, everything ends with it
#   lab.sh DIR stop              ends everything that was started in DIR; fine when nothing runs
#   lab.sh DIR run N CMD         runs CMD with sh on node N; output and exit code are its own, 255: no answer
#   lab.sh DIR mount N OPTIONS   mounts the server's export at /shared on node N, e.g. vers=3,nolock
#   lab.sh DIR kill N            cuts its power
#   lab.sh DIR boot N            starts it again; the server with the same disk
#   lab.sh DIR cut N | heal N    cuts the network between node N and the others, but not from this machine
#   lab.sh DIR freeze N | thaw N stops its kernel between two instructions; lets it go on
# DIR: a path without spaces. Exit codes: 0, 1 failed, 2 usage, 77 this machine cannot do it; the reason is on stderr.
# Environment: LAB_PROGRAMS, where nfs-lab-agent and libuml_xstate.so lie. TORC_NFS_CACHE: where the packages are kept
# (default: ${XDG_CACHE_HOME:-~/.cache}/torc/nfs-lab; 130 MB, fetched once).
set -u
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
self=$(readlink -f "$0")
here=$(dirname "$self")
[ $# -ge 2 ] || { sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "$self"; exit 2; }
mkdir -p "$1" && dir=$(readlink -f "$1") || exit 1
command=$2
shift 2
programs=$(readlink -f "${LAB_PROGRAMS:-.}")
[ -x "$programs/nfs-lab-agent" ] || { echo "lab.sh: set LAB_PROGRAMS to where nfs-lab-agent lies" >&2; exit 2; }
cache=${TORC_NFS_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/torc/nfs-lab}
grace=10 # seconds: leases and grace periods of the server; the least that the kernel allows

fail() { echo "lab.sh: $*" >&2; exit 1; }
cannot() { echo "lab.sh: $*" >&2; exit 77; }

# ---- processes: DIR/pid/NAME holds "pid starttime", so that a recycled pid is never taken for ours ----

start_time() {
  local stat fields
  stat=$(cat "/proc/$1/stat" 2>/dev/null) || return 1
  read -ra fields <<<"${stat##*) }" # from field 3, the state, on
  [ "${fields[0]}" != Z ] && echo "${fields[19]}"
}
remember() { echo "$2 $(start_time "$2")" >"$dir/pid/$1"; disown "$2" 2>/dev/null; }
lives() {
  local pid since
  read -r pid since 2>/dev/null <"$dir/pid/$1" || return 1
  [ -n "$since" ] && [ "$(start_time "$pid")" = "$since" ]
}
pid_of() { cut -d' ' -f1 "$dir/pid/$1"; }
await() { # SECONDS CONDITION…
  local end=$((SECONDS + $1))
  shift
  until "$@" >/dev/null 2>&1; do
    [ $SECONDS -lt $end ] || return 1
    sleep 0.05
  done
}
gone() { ! lives "$1"; }
finish() {
  lives "$1" && kill -KILL "$(pid_of "$1")" 2>/dev/null
  await 10 gone "$1" || fail "$1 (pid $(pid_of "$1")) does not end"
  rm -f "$dir/pid/$1"
}

# ---- the packages ----

packages="user-mode-linux nfs-kernel-server nfs-common rpcbind kmod"
# They, and what they need and this machine lacks.
wanted() {
  # shellcheck disable=SC2086
  { apt-get -s install --no-install-recommends $packages 2>/dev/null | awk '/^Inst/ {print $2}' &&
    apt-cache show $packages >/dev/null 2>&1 && printf '%s\n' $packages; } | sort -u
}
# A tree in the layout of this machine, where /lib may be a link into /usr.
unpack() {
  local from=$1 to=$2 place
  for place in bin sbin lib lib64; do
    [ -L "/$place" ] && [ -d "$from/$place" ] || continue
    mkdir -p "$to/usr/$place"
    cp -a "$from/$place/." "$to/usr/$place/" && rm -rf "${from:?}/$place"
  done
  cp -a "$from/." "$to/"
}
make_kit() {
  local work names name place package
  work=$(mktemp -d "$cache/kit-XXXXXX") || cannot "cannot write to $cache; set TORC_NFS_CACHE"
  names=$(wanted)
  case $names in *user-mode-linux*) ;; *) apt-get -q update >&2 && names=$(wanted) ;; esac
  case $names in *user-mode-linux*) ;; *) cannot "apt-get finds no package user-mode-linux for this system" ;; esac
  mkdir "$work/debs" "$work/tree" "$work/kit"
  # shellcheck disable=SC2086
  (cd "$work/debs" && { apt-get -qq download $names || { apt-get -q update && apt-get -qq download $names; }; }) >&2 ||
    cannot "cannot fetch: $names"
  for package in "$work"/debs/*.deb; do
    dpkg -x "$package" "$work/tree" && unpack "$work/tree" "$work/kit" && rm -rf "$work/tree" && mkdir "$work/tree" ||
      fail "cannot unpack $package"
  done
  mkdir -p "$work/kit/usr/lib/modules"
  mv "$work"/kit/usr/lib/uml/modules/* "$work/kit/usr/lib/modules/" || fail "user-mode-linux has no modules"
  for name in insmod modprobe; do ln -sf ../bin/kmod "$work/kit/usr/sbin/$name"; done
  for place in bin sbin lib lib64; do [ -L "/$place" ] && ln -s "usr/$place" "$work/kit/$place"; done
  rm -rf "$work/debs" "$work/tree"
  # One of several that do this at a time is first; the others use what it made.
  mv -T "$work/kit" "$cache/kit" 2>/dev/null || rm -rf "$work/kit"
  rmdir "$work"
}
need_kit() {
  mkdir -p "$cache" || cannot "cannot write to $cache; set TORC_NFS_CACHE"
  cache=$(readlink -f "$cache")
  kit=$cache/kit
  [ -x "$kit/usr/bin/linux.uml" ] || make_kit
  [ -x "$kit/usr/bin/linux.uml" ] || fail "no kernel in $kit; remove $cache and try again"
}

# ---- one node ----

tap() { echo "lab$1"; }
in_network() { nsenter --net="/proc/$(pid_of network)/ns/net" -- "$@"; }

boot() {
  local node=$1 memory=$dir disk=()
  lives "node$node" && fail "node$node is running"
  [ "$(df --output=avail -k /dev/shm 2>/dev/null | tail -1)" -gt 1000000 ] 2>/dev/null && memory=/dev/shm
  [ "$node" = 0 ] && disk=("ubda=$dir/disk")
  # All on one processor: this kernel may miss wake-ups when its processes run on several at once. The processes of
  # its guest die with it, in a PID namespace.
  TMPDIR=$memory LD_PRELOAD=$programs/libuml_xstate.so setsid taskset -c $(($(nproc) - 1)) \
    nsenter --net="/proc/$(pid_of network)/ns/net" -- unshare --mount --pid --fork --mount-proc --kill-child=KILL -- \
    "$kit/usr/bin/linux.uml" mem=320M "${disk[@]}" root=/dev/root rootfstype=hostfs rootflags=/ ro init="$here/guest.sh" \
    "vec0:transport=tap,ifname=$(tap "$node"),mac=52:54:00:99:00:1$node,depth=128,gro=1" con=null con0=null,fd:1 ssl=null \
    "uml_dir=$dir/uml" "umid=node$node" quiet panic=-1 "lab.node=$node" "lab.kit=$kit" "lab.dir=$dir" \
    "lab.agent=$programs/nfs-lab-agent" "lab.self=$here/guest.sh" "lab.grace=$grace" \
    </dev/null >>"$dir/log/node$node" 2>&1 &
  remember "node$node" $!
}
run() { in_network "$programs/nfs-lab-agent" run "10.99.0.1$1" 7700 "$2"; }
is_ready() { run "$1" 'test -e /run/ready'; }
is_ready_or_gone() { is_ready "$1" || gone "node$1"; }
await_ready() {
  await 90 is_ready_or_gone "$1" && lives "node$1" || { tail -5 "$dir/log/node$1" >&2; fail "node$1 does not come up; see $dir/log/node$1"; }
}
kernel_of() { # the pid of its main process
  local children
  children=$(cat "/proc/$(pid_of "node$1")/task/$(pid_of "node$1")/children") || fail "node$1 is not running"
  echo "${children%% *}"
}
mount_share() {
  local what=node0:/
  case $2 in *vers=3*) what=node0:/export/shared ;; esac
  run "$1" "mkdir -p /shared && mount -t nfs -o '$2' $what /shared"
}

# ---- all of it ----

check_machine() {
  local program
  for program in ip nsenter unshare taskset apt-get dpkg mke2fs; do
    command -v $program >/dev/null || cannot "$program is missing; run scripts/install-deps.sh test"
  done
  [ "$(uname -m)" = x86_64 ] || cannot "User Mode Linux is for x86_64"
  [ "$(id -u)" = 0 ] || cannot "networks of virtual nodes need root; run the tests as root"
  [ -c /dev/net/tun ] || cannot "there is no /dev/net/tun (a container without that device?)"
  unshare --net --mount --pid --fork --mount-proc -- true 2>/dev/null ||
    cannot "this machine does not let root make network, mount and PID namespaces"
}

start_network() {
  local node
  setsid unshare --net -- sleep infinity </dev/null >/dev/null 2>&1 &
  remember network $!
  await 5 test "$(readlink /proc/$$/ns/net)" != "$(readlink "/proc/$(pid_of network)/ns/net")"
  in_network ip link set lo up
  in_network ip link add bridge0 type bridge && in_network ip addr add 10.99.0.1/24 dev bridge0 &&
    in_network ip link set bridge0 up || cannot "cannot make a network bridge"
  for node in 0 1 2; do
    in_network ip tuntap add "$(tap $node)" mode tap && in_network ip link set "$(tap $node)" master bridge0 up ||
      cannot "cannot make a network interface with /dev/net/tun"
  done
}

# Ends the lab of a test that was killed.
guard_main() {
  local watch
  tail --pid="$1" -f /dev/null &
  watch=$!
  trap 'kill $watch; exit' TERM
  wait $watch
  rm -f "$dir/pid/guard"
  stop
}

start() {
  local node
  check_machine
  stop
  rm -rf "$dir"/{pid,log,uml,state1,state2,disk}
  mkdir -p "$dir"/{pid,log,uml}
  need_kit
  trap stop EXIT # unless all goes well
  if [ -n "${1:-}" ]; then
    setsid "$self" "$dir" _guard "$1" </dev/null >/dev/null 2>&1 &
    remember guard $!
  fi
  start_network
  truncate -s 1G "$dir/disk" && mke2fs -q -t ext4 "$dir/disk" || fail "cannot make the server's disk"
  for node in 0 1 2; do boot $node; done
  for node in 0 1 2; do await_ready $node; done
  trap - EXIT
}

stop() {
  local file
  [ -d "$dir/pid" ] || return 0
  for file in "$dir"/pid/{node,network,guard}*; do [ -e "$file" ] && finish "${file##*/}"; done
  rmdir "$dir/pid" || fail "some processes were not ended: $(ls "$dir/pid")"
}

cut_off() { # N on|off
  in_network ip link set "$(tap 0)" type bridge_slave isolated on
  in_network ip link set "$(tap "$1")" type bridge_slave isolated "$2"
}

case $command in
  start) start "$@" ;;
  stop) stop ;;
  run) run "$@" ;;
  mount) mount_share "$@" ;;
  kill) finish "node$1" ;;
  boot) need_kit; boot "$1"; await_ready "$1" ;;
  cut) cut_off "$1" on ;;
  heal) cut_off "$1" off ;;
  freeze) kill -STOP "$(kernel_of "$1")" ;;
  thaw) kill -CONT "$(kernel_of "$1")" ;;
  _guard) guard_main "$@" ;;
  *) echo "lab.sh: unknown command '$command'" >&2; exit 2 ;;
esac

#!/bin/bash
# A real shared filesystem with two clients on one machine: sshfs, MooseFS, GlusterFS or CephFS, from Debian's packages.
# The servers and each client (a FUSE process with caches of its own) have a network namespace each, joined by a bridge;
# nothing listens outside. The mounts are visible to everyone.
#   lab.sh DIR FS install       installs the packages of FS (sshfs moosefs gluster ceph); starts no daemon of theirs
#   lab.sh DIR FS start [OWNER] starts servers and clients a and b, mounted at DIR/FS/mnt/a and …/b. First stops a
#                               leftover in DIR. When the process OWNER ends without a stop, everything ends with it
#   lab.sh DIR FS stop          ends everything that was started in DIR; fine when nothing runs
#   lab.sh DIR FS run C CMD     runs CMD with sh as if on the node of client C: its network and a host name, /dev/shm and
#                               TMPDIR of its own; output and exit code are its own
#   lab.sh DIR FS cut C         nothing passes between C and the servers
#   lab.sh DIR FS deaf C        what C asks is done, no reply reaches it
#   lab.sh DIR FS heal C        undoes both; mounts again when the client was killed, or evicted by the servers (CephFS)
#   lab.sh DIR FS kill C        kills the client process
#   lab.sh DIR FS freeze C | thaw C  stops it between two instructions; lets it go on, and mounts again when it was evicted
# DIR: a path without spaces. Exit codes: 0, 1 failed, 2 usage, 77 this machine cannot do it; the reason is on stderr.
# Environment: LAB_MOUNT_OPTIONS, more options of the clients. LAB_SESSION: how long a CephFS client that died keeps its
# rights (20 s; 60 where nobody sets it).
set -u
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
self=$(readlink -f "$0")
[ $# -ge 3 ] || { sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "$self"; exit 2; }
mkdir -p "$1" && base=$(readlink -f "$1") || exit 1
fs=$2
command=$3
shift 3
dir=$base/$fs
spaces=lab$(echo "$dir" | cksum | cut -c1-8) # the network namespaces' names begin so
server=10.78.0.1
options=${LAB_MOUNT_OPTIONS:-}
session=${LAB_SESSION:-20}

fail() { echo "lab.sh: $*" >&2; exit 1; }
cannot() { echo "lab.sh: $*" >&2; exit 77; }

sshfs_packages="sshfs openssh-server"
sshfs_programs="sshfs /usr/sbin/sshd ssh-keygen"
moosefs_packages="moosefs-master moosefs-chunkserver moosefs-client"
moosefs_programs="mfsmaster mfschunkserver mfsmount mfssetgoal"
gluster_packages="glusterfs-server glusterfs-client"
gluster_programs="glusterd gluster glusterfs"
ceph_packages="ceph-mon ceph-mgr ceph-osd ceph-mds ceph-common ceph-fuse"
ceph_programs="ceph-mon ceph-mgr ceph-osd ceph-mds ceph ceph-fuse monmaptool"
case $fs in sshfs | moosefs | gluster | ceph) ;; *) echo "lab.sh: unknown filesystem '$fs'" >&2; exit 2 ;; esac

# ---- processes: DIR/FS/pid/NAME holds "pid starttime", so that a recycled pid is never taken for ours ----

start_time() {
  local stat fields
  stat=$(cat "/proc/$1/stat" 2>/dev/null) || return 1
  read -ra fields <<<"${stat##*) }" # from field 3, the state, on
  [ "${fields[0]}" != Z ] && echo "${fields[19]}"
}
remember() { echo "$2 $(start_time "$2")" >"$dir/pid/$1"; disown "$2" 2>/dev/null || true; }
lives() {
  local pid since
  read -r pid since 2>/dev/null <"$dir/pid/$1" || return 1
  [ -n "$since" ] && [ "$(start_time "$pid")" = "$since" ]
}
signal() { lives "$2" && kill "-$1" "$(cut -d' ' -f1 "$dir/pid/$2")" 2>/dev/null; }
await() { # SECONDS CONDITION…
  local end=$((SECONDS + $1))
  shift
  until "$@" >/dev/null 2>&1; do
    [ $SECONDS -lt $end ] || return 1
    sleep 0.1
  done
}
gone() { ! lives "$1"; }
# A process in a call that hangs ends only with its mount, so nobody waits for it for long.
finish() { signal KILL "$1"; await 2 gone "$1"; rm -f "$dir/pid/$1"; }
inside() { # SPACE CMD…
  local space=$1
  shift
  nsenter --net="/run/netns/$spaces$space" "$@"
}
spawn() { # NAME SPACE CMD…
  local name=$1 space=$2
  shift 2
  setsid nsenter --net="/run/netns/$spaces$space" "$@" >>"$dir/log/$name" 2>&1 </dev/null &
  remember "$name" $!
}
address() { case $1 in a) echo 10.78.0.11 ;; b) echo 10.78.0.12 ;; esac; }
answers() { inside a bash -c "exec 3<>/dev/tcp/$server/$1"; }

network() {
  local client
  ip netns add "${spaces}s" && ip -n "${spaces}s" link set lo up && ip -n "${spaces}s" link add lan0 type bridge &&
    ip -n "${spaces}s" addr add $server/24 dev lan0 && ip -n "${spaces}s" link set lan0 up ||
    cannot "this machine does not let root make network namespaces"
  for client in a b; do
    ip netns add "$spaces$client" && ip -n "$spaces$client" link set lo up &&
      ip -n "${spaces}s" link add "v$client" type veth peer name eth0 netns "$spaces$client" &&
      ip -n "${spaces}s" link set "v$client" master lan0 up &&
      ip -n "$spaces$client" addr add "$(address $client)/24" dev eth0 && ip -n "$spaces$client" link set eth0 up ||
      cannot "cannot make a network between namespaces"
  done
}

# ---- sshfs: an sshd with keys and a configuration of its own ----

sshfs_servers() {
  mkdir -p "$dir/export" "$dir/etc" /run/sshd
  chmod 700 "$dir/etc"
  ssh-keygen -q -t ed25519 -N '' -f "$dir/etc/host" && ssh-keygen -q -t ed25519 -N '' -f "$dir/etc/user" || return 1
  printf '%s\n' "ListenAddress $server" "Port 2222" "HostKey $dir/etc/host" "AuthorizedKeysFile $dir/etc/user.pub" \
    "StrictModes no" "UsePAM no" "PasswordAuthentication no" "PermitRootLogin prohibit-password" "PidFile none" \
    "Subsystem sftp internal-sftp" >"$dir/etc/sshd_config"
  spawn sshd s /usr/sbin/sshd -D -e -f "$dir/etc/sshd_config"
  await 10 answers 2222
}
sshfs_client() {
  # shellcheck disable=SC2086
  spawn "client-$1" "$1" sshfs -f -p 2222 -F /dev/null $options \
    -o "IdentityFile=$dir/etc/user,StrictHostKeyChecking=no,UserKnownHostsFile=$dir/etc/known" \
    -o reconnect,ServerAliveInterval=5,ServerAliveCountMax=3 "root@$server:$dir/export" "$dir/mnt/$1"
}

# ---- MooseFS: a master and a chunk server ----

moosefs_servers() {
  mkdir -p "$dir/meta" "$dir/chunks" "$dir/disk"
  printf 'MFSM NEW' >"$dir/meta/metadata.mfs"
  echo "*  /  rw,alldirs,admin,maproot=0:0" >"$dir/exports.cfg"
  : >"$dir/topology.cfg"
  echo "$dir/disk" >"$dir/disks.cfg"
  printf '%s\n' "WORKING_USER = root" "WORKING_GROUP = root" "DATA_PATH = $dir/meta" "EXPORTS_FILENAME = $dir/exports.cfg" \
    "TOPOLOGY_FILENAME = $dir/topology.cfg" "MATOML_LISTEN_HOST = $server" "MATOCS_LISTEN_HOST = $server" \
    "MATOCL_LISTEN_HOST = $server" "LOCK_MEMORY = 0" "SESSION_SUSTAIN_TIME = 60" >"$dir/master.cfg"
  printf '%s\n' "WORKING_USER = root" "WORKING_GROUP = root" "DATA_PATH = $dir/chunks" "HDD_CONF_FILENAME = $dir/disks.cfg" \
    "MASTER_HOST = $server" "CSSERV_LISTEN_HOST = $server" "HDD_LEAVE_SPACE_DEFAULT = 64MiB" >"$dir/chunks.cfg"
  spawn master s mfsmaster -f -c "$dir/master.cfg" start
  await 20 answers 9421 || return 1
  spawn chunks s mfschunkserver -f -c "$dir/chunks.cfg" start
}
# shellcheck disable=SC2086
moosefs_client() { spawn "client-$1" "$1" mfsmount "$dir/mnt/$1" -f -H $server -P 9421 $options; }
moosefs_ready() { inside a mfssetgoal -r 1 "$dir/mnt/a"; } # one copy of everything: there is one chunk server

# ---- GlusterFS: glusterd with a directory of its own, one brick ----

gluster_tell() { inside s gluster --mode=script --log-file="$dir/log/cli.log" --glusterd-sock="$dir/glusterd.sock" "$@"; }
gluster_brick() {
  local pid
  pid=$(cat "$dir"/run/vols/lab/*.pid 2>/dev/null) && [ -n "$pid" ] && remember brick "$pid"
}
gluster_servers() {
  mkdir -p "$dir/gd" "$dir/run" "$dir/vrun" "$dir/brick" /var/run/gluster /var/log/glusterfs
  {
    echo "volume management"
    echo "    type mgmt/glusterd"
    printf '    option %s\n' "working-directory $dir/gd" "glusterd-sockfile $dir/glusterd.sock" "run-directory $dir/run" \
      "transport-type socket" "transport.socket.bind-address $server" "transport.address-family inet" \
      "transport.socket.read-fail-log off" "ping-timeout 0" "event-threads 1" "max-port 60999"
    echo "end-volume"
  } >"$dir/glusterd.vol"
  printf '#!/bin/sh\necho gsyncd\n' >"$dir/gsyncd"
  chmod 755 "$dir/gsyncd"
  # Its fixed paths are bound to ours, for it and its brick alone. Without replication to other sites it starts in 1 s.
  # shellcheck disable=SC2016
  spawn glusterd s unshare --mount --propagation private bash -c \
    'mount --bind "$0/log" /var/log/glusterfs && mount --bind "$0/vrun" /var/run/gluster || exit 1
     for g in /usr/lib/*/glusterfs/gsyncd; do [ -e "$g" ] && mount --bind "$0/gsyncd" "$g"; done; exec "$@"' \
    "$dir" glusterd -N -f "$dir/glusterd.vol" --log-file="$dir/log/glusterd.log"
  await 20 gluster_tell pool list || return 1
  gluster_tell volume create lab "$server:$dir/brick/b" force && gluster_tell volume set lab network.ping-timeout 5 &&
    gluster_tell volume start lab && await 10 gluster_brick
}
gluster_client() {
  # shellcheck disable=SC2086
  spawn "client-$1" "$1" glusterfs -N --volfile-server=$server --volfile-id=lab --log-file="$dir/log/mount-$1.log" \
    $options "$dir/mnt/$1"
}

# ---- CephFS: a monitor, a manager, an object server in memory, a metadata server ----

ceph_tell() { inside s timeout 20 ceph -c "$dir/ceph.conf" "$@"; }
ceph_active() { ceph_tell mds stat | grep -q up:active; }
ceph_servers() {
  local id
  id=$(cat /proc/sys/kernel/random/uuid)
  mkdir -p "$dir/mon" "$dir/mgr" "$dir/osd" "$dir/mds" "$dir/run"
  {
    echo "[global]"
    printf '%s\n' "fsid = $id" "mon host = [v2:$server:3300,v1:$server:6789]" "public network = 10.78.0.0/24" \
      "auth cluster required = none" "auth service required = none" "auth client required = none" \
      "osd pool default size = 1" "osd pool default min size = 1" "osd crush chooseleaf type = 0" \
      "mon allow pool size one = true" "mon warn on pool no redundancy = false" "mon data avail crit = 1" \
      "mon data avail warn = 2" "run dir = $dir/run" "admin socket = $dir/run/\$name.asok" "log file = $dir/log/\$name.log" \
      "mon cluster log file = $dir/log/cluster.log" "crash dir = $dir/run" "mgr initial modules =" \
      "mds session timeout = $session" "osd objectstore = memstore" "memstore device bytes = 2147483648" \
      "osd max object name len = 256" "[mon.a]" "mon data = $dir/mon" "[mgr.x]" "mgr data = $dir/mgr" "[osd.0]" \
      "osd data = $dir/osd" "[mds.a]" "mds data = $dir/mds"
  } >"$dir/ceph.conf"
  monmaptool --create --fsid "$id" --addv a "[v2:$server:3300,v1:$server:6789]" "$dir/monmap" &&
    inside s ceph-mon -c "$dir/ceph.conf" -i a --mkfs --monmap "$dir/monmap" || return 1
  spawn mon s ceph-mon -c "$dir/ceph.conf" -i a -f
  await 30 ceph_tell status || return 1
  spawn mgr s ceph-mgr -c "$dir/ceph.conf" -i x -f
  ceph_tell osd new "$id" && inside s ceph-osd -c "$dir/ceph.conf" -i 0 --mkfs --osd-uuid "$id" || return 1
  spawn osd s ceph-osd -c "$dir/ceph.conf" -i 0 -f
  ceph_tell osd pool create meta 8 && ceph_tell osd pool create data 8 && ceph_tell fs new lab meta data || return 1
  spawn mds s ceph-mds -c "$dir/ceph.conf" -i a -f
  await 60 ceph_active
}
# shellcheck disable=SC2086
ceph_client() { spawn "client-$1" "$1" ceph-fuse -c "$dir/ceph.conf" -f --id "n$1" $options "$dir/mnt/$1"; }

# ---- all of it ----

check_machine() {
  local program programs=${fs}_programs
  [ "$(id -u)" = 0 ] || cannot "mounts and networks of virtual nodes need root; run the tests as root"
  for program in ip nsenter unshare setsid ${!programs}; do
    command -v "$program" >/dev/null || cannot "$program is missing; run $self DIR $fs install"
  done
  [ -c /dev/fuse ] || mknod -m 666 /dev/fuse c 10 229 2>/dev/null || cannot "there is no /dev/fuse"
}

is_mounted() { awk -v m="$dir/mnt/$1" '$2 == m {found = 1} END {exit !found}' /proc/mounts; }
take_away() { while is_mounted "$1"; do umount -l "$dir/mnt/$1" || break; done; }
mount_client() {
  mkdir -p "$dir/mnt/$1"
  "${fs}_client" "$1"
  await 30 is_mounted "$1" && timeout 30 stat "$dir/mnt/$1" >/dev/null || {
    tail -5 "$dir/log/client-$1" >&2
    return 1
  }
}
can_write() { timeout 20 sh -c "echo x >'$dir/mnt/a/.up' && rm '$dir/mnt/a/.up'"; }

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
  local client
  check_machine
  stop
  mkdir -p "$dir/mnt"
  trap stop EXIT # unless all goes well
  # What is mounted anew here is to be seen by those who run as if on a node.
  mount --bind "$dir" "$dir" && mount --make-shared "$dir" || cannot "this machine does not let root mount"
  mkdir -p "$dir/pid" "$dir/log" "$dir/mnt"
  if [ -n "${1:-}" ]; then
    setsid "$self" "$base" "$fs" _guard "$1" </dev/null >/dev/null 2>&1 &
    remember guard $!
  fi
  network
  "${fs}_servers" >>"$dir/log/setup" 2>&1 || { tail -5 "$dir/log/setup" >&2; fail "the servers do not start"; }
  for client in a b; do mount_client $client || fail "cannot mount as client $client"; done
  await 30 can_write || fail "nothing can be written"
  ! declare -F "${fs}_ready" >/dev/null || "${fs}_ready" >>"$dir/log/setup" 2>&1 || fail "${fs}_ready"
  trap - EXIT
}

stop() {
  local client file pid
  for client in a b; do
    take_away $client
    [ -d "$dir/pid" ] && finish "client-$client"
  done
  for file in "$dir"/pid/*; do [ -e "$file" ] && finish "${file##*/}"; done
  # What those have started: an ssh of sshfs, a session of sshd, a brick.
  for client in a b s; do
    for pid in $(ip netns pids "$spaces$client" 2>/dev/null); do kill -KILL "$pid" 2>/dev/null; done
    ip netns del "$spaces$client" 2>/dev/null
  done
  while mountpoint -q "$dir" 2>/dev/null; do umount -l "$dir" || break; done
  rm -rf --one-file-system "$dir"
}

install_packages() {
  local packages=${fs}_packages code=0 ours=0
  export DEBIAN_FRONTEND=noninteractive
  # Keeps apt from starting daemons.
  [ -e /usr/sbin/policy-rc.d ] || { printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d && chmod 755 /usr/sbin/policy-rc.d && ours=1; }
  # shellcheck disable=SC2086
  apt-get -q -o DPkg::Lock::Timeout=600 update && apt-get -q -o DPkg::Lock::Timeout=600 install -y --no-install-recommends iproute2 ${!packages} || code=1
  [ $ours = 1 ] && rm -f /usr/sbin/policy-rc.d
  return $code
}

run() {
  local place=$dir/tmp-$1
  mkdir -p "$place"
  # shellcheck disable=SC2016
  TMPDIR=$place exec nsenter --net="/run/netns/$spaces$1" -- unshare --uts --mount --propagation slave bash -c \
    'hostname "node$0" && mount -t tmpfs none "$TMPDIR" && mount -t tmpfs -o mode=1777 none /dev/shm && exec sh -c "$1"' "$1" "$2"
}

mount_anew() { take_away "$1" && mount_client "$1"; }
# A client that CephFS has evicted answers ESHUTDOWN until it is mounted anew; nothing else helps.
evicted() {
  [ "$fs" = ceph ] || return 1
  LC_ALL=C timeout 60 sh -c "echo x >'$dir/mnt/$1/.up-$1' && rm '$dir/mnt/$1/.up-$1'" 2>&1 | grep -q 'transport endpoint shutdown'
}
readmit() { ! evicted "$1" || { finish "client-$1" && mount_anew "$1"; }; }
heal() {
  ip -n "${spaces}s" link set "v$1" up
  ip -n "${spaces}s" route del blackhole "$(address "$1")/32" 2>/dev/null
  lives "client-$1" || mount_anew "$1" || return 1
  readmit "$1"
}

case $command in
  install) install_packages ;;
  start) start "$@" ;;
  stop) stop ;;
  run) run "$@" ;;
  cut) ip -n "${spaces}s" link set "v$1" down ;;
  deaf) ip -n "${spaces}s" route replace blackhole "$(address "$1")/32" ;;
  heal) heal "$1" ;;
  kill) signal KILL "client-$1" ;;
  freeze) signal STOP "client-$1" ;;
  thaw) signal CONT "client-$1" && readmit "$1" ;;
  _guard) guard_main "$@" ;;
  *) echo "lab.sh: unknown command '$command'" >&2; exit 2 ;;
esac

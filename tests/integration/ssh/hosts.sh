#!/bin/bash
# Hosts that reach each other by ssh, on this machine, for tests: each has its own network, hostname, process ids, IPC
# and /dev/shm, its own sshd, and a directory that all share by a filesystem that can stop to answer. Root only.
#   hosts.sh DIR start N SHARED [OWNER]  h1..hN (at most 99). First stops a leftover in DIR. SHARED is a directory of this
#                                machine; hosts see it by FUSE. When the process OWNER ends without a stop, all ends with it
#   hosts.sh DIR stop            ends everything that was started in DIR; fine when nothing runs
#   hosts.sh DIR ssh hX CMD…     runs CMD there, by ssh from this machine
#   hosts.sh DIR exec hX CMD…    runs CMD there, without ssh
#   hosts.sh DIR cut hX          pulls its cable: no network, and the shared directory does not answer there
#   hosts.sh DIR heal hX         plugs it in again
#   hosts.sh DIR crash hX        cuts its power: every process is gone at once, and nobody is told
# DIR must be a path without spaces. Exit codes: 0, 1 failed, 2 usage, 77 this machine cannot do it; the reason is on stderr.
set -u
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
self=$(readlink -f "$0")
[ $# -ge 2 ] || { sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "$self"; exit 2; }
mkdir -p "$1" && dir=$(readlink -f "$1") || exit 1
command=$2
shift 2

fail() { echo "hosts.sh: $*" >&2; exit 1; }
cannot() { echo "hosts.sh: $*" >&2; exit 77; }
. "${self%/*}/../processes.sh"

sum=$(printf %s "$dir" | cksum | cut -d' ' -f1)
net=10.$((200 + sum % 50)).$((sum / 50 % 250))
tag=$(printf %06x $((sum % 16777216)))
bridge=tb$tag
namespace() { echo "torc-$tag-$1"; }
cable() { echo "tv$tag-${1#h}"; }
address() { echo "$net.$((10 + ${1#h}))"; }

# ---- one host ----

boot() {
  local host=$1
  ip netns add "$(namespace "$host")" &&
    ip link add "$(cable "$host")" type veth peer name eth0 netns "$(namespace "$host")" &&
    ip link set "$(cable "$host")" master "$bridge" up &&
    ip -n "$(namespace "$host")" addr add "$(address "$host")/24" dev eth0 &&
    ip -n "$(namespace "$host")" link set lo up && ip -n "$(namespace "$host")" link set eth0 up ||
    fail "no network for $host"
  setsid nsenter --net="/run/netns/$(namespace "$host")" -- unshare --mount --uts --ipc --pid --fork --mount-proc \
    --kill-child=KILL -- "$self" "$dir" _host "$host" </dev/null >>"$dir/log/$host.out" 2>&1 &
  remember "$host" $!
}
host_main() { # as pid 1 of the host: also reaps what loses its parent
  local host=$1 shared sshd
  shared=$(cat "$dir/shared")
  hostname "$host"
  mount -t tmpfs -o mode=1777 none /dev/shm
  mount -t tmpfs -o mode=755 none /run && mkdir /run/sshd
  mount --bind "$dir/etc/hosts" /etc/hosts
  mount --bind "$dir/etc/ssh_config" /etc/ssh/ssh_config
  mount --bind "$dir/etc/shadow" /etc/shadow
  mkdir /run/files && mount --bind "$shared" /run/files
  # It is known as MooseFS: listings and heartbeats are a second old at most.
  bindfs -f -o subtype=mfs,nonempty /run/files "$shared" &
  echo $! >"/run/bindfs"
  until mountpoint -q "$shared"; do sleep 0.02; done
  $(command -v sshd) -D -f "$dir/etc/sshd_config" -E "$dir/log/$host.sshd" &
  sshd=$!
  trap 'kill -TERM $sshd 2>/dev/null' TERM
  while kill -0 $sshd 2>/dev/null; do wait $sshd; done
}
is_up() { on_host "$1" bash -c ": </dev/tcp/127.0.0.1/22"; }
unplug() { ip link del "$(cable "$1")" 2>/dev/null; ip netns del "$(namespace "$1")" 2>/dev/null; }
shut_down() {
  local init
  if lives "$1"; then
    init=$(first_process "$1")
    [ -z "$init" ] || kill -KILL "$init" 2>/dev/null # the kernel ends the rest of the namespace
    kill -KILL "$(pid_of "$1")" 2>/dev/null
    await 10 gone "$1" || fail "$1 does not end"
  fi
  unplug "$1"
  rm -f "$dir/run/$1"
}
on_host() {
  local init host=$1
  shift
  lives "$host" || fail "$host is not running"
  init=$(first_process "$host")
  nsenter -t "$init" -m -u -i -p -n -- "$@"
}
each() { [ ! -d "$dir/run" ] || find "$dir/run" -name 'h*' -printf '%f\n' | sort -V; }

# ---- all of them ----

check_machine() {
  local program
  for program in sshd ssh-keygen ip unshare nsenter bindfs; do
    command -v $program >/dev/null || cannot "$program is missing; run scripts/install-deps.sh test"
  done
  [ "$(id -u)" = 0 ] || cannot "hosts are namespaces, and making those needs root; run the tests as root"
  [ -e /dev/fuse ] || cannot "there is no /dev/fuse"
  ip netns add "torc-try-$$" 2>/dev/null || cannot "this machine does not let root make network namespaces"
  ip netns del "torc-try-$$"
}
write_configuration() {
  local nodes=$1 i
  mkdir -p "$dir"/{run,log,etc,keys}
  chmod 700 "$dir/keys"
  ssh-keygen -q -t ed25519 -N '' -f "$dir/keys/user"
  ssh-keygen -q -t ed25519 -N '' -f "$dir/keys/host"
  echo "127.0.0.1 localhost" >"$dir/etc/hosts"
  for ((i = 1; i <= nodes; i++)); do echo "$(address h$i) h$i" >>"$dir/etc/hosts"; done
  echo "* $(cut -d' ' -f1,2 "$dir/keys/host.pub")" >"$dir/etc/known_hosts"
  sed 's/^root:[^:]*:/root:*:/' /etc/shadow >"$dir/etc/shadow" # sshd refuses a locked user
  cat >"$dir/etc/ssh_config" <<CONF
Host *
  IdentityFile $dir/keys/user
  IdentitiesOnly yes
  UserKnownHostsFile $dir/etc/known_hosts
  GlobalKnownHostsFile /dev/null
  StrictHostKeyChecking yes
  BatchMode yes
  User root
  LogLevel ERROR
CONF
  cp "$dir/etc/ssh_config" "$dir/etc/ssh_config.login"
  for ((i = 1; i <= nodes; i++)); do printf 'Host h%s\n  HostName %s\n' $i "$(address h$i)" >>"$dir/etc/ssh_config.login"; done
  cat >"$dir/etc/sshd_config" <<CONF
HostKey $dir/keys/host
AuthorizedKeysFile $dir/keys/user.pub
StrictModes no
PermitRootLogin prohibit-password
PasswordAuthentication no
KbdInteractiveAuthentication no
UsePAM no
UseDNS no
MaxStartups 100
CONF
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
start() {
  local nodes=$1 shared=$2 owner=${3:-} host
  check_machine
  stop
  rm -rf "$dir"/{run,log,etc,keys}
  write_configuration "$nodes"
  readlink -f "$shared" >"$dir/shared"
  # With an address of its own. It would have the least of its cables', and another one when the host of that is crashed:
  # then no other host would reach this machine for a minute or two.
  ip link add "$bridge" address "02:74:6f:${tag:0:2}:${tag:2:2}:${tag:4:2}" type bridge && ip link set "$bridge" up &&
    ip addr add "$net.1/24" dev "$bridge" ||
    fail "no bridge $bridge"
  for ((i = 1; i <= nodes; i++)); do boot "h$i"; done
  for ((i = 1; i <= nodes; i++)); do
    await 20 is_up "h$i" || fail "h$i has no sshd: $(cat "$dir/log/h$i".*)"
  done
  [ -z "$owner" ] && return
  setsid "$self" "$dir" _guard "$owner" </dev/null >/dev/null 2>&1 &
  remember guard $!
}
stop() {
  local host
  if lives guard; then kill -TERM "$(pid_of guard)"; fi
  rm -f "$dir/run/guard"
  for host in $(each); do shut_down "$host"; done
  ! ip link show "$bridge" >/dev/null 2>&1 || ip link del "$bridge"
}

case $command in
  start) start "${1:?start N SHARED}" "${2:?start N SHARED}" "${3:-}" ;;
  stop) stop ;;
  ssh) exec ssh -F "$dir/etc/ssh_config.login" "$@" ;;
  exec) on_host "$@" ;;
  cut)
    ip link set "$(cable "$1")" down
    on_host "$1" bash -c 'kill -STOP $(cat /run/bindfs)'
    ;;
  heal)
    ip link set "$(cable "$1")" up
    on_host "$1" bash -c 'kill -CONT $(cat /run/bindfs)'
    ;;
  crash)
    ip link set "$(cable "$1")" down
    shut_down "$1"
    ;;
  _host) host_main "$1" ;;
  _guard) guard_main "$1" ;;
  *) fail "unknown command '$command'" ;;
esac

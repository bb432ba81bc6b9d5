# Sourced by the fixtures of this directory: the processes that they started, and waiting for what these do. $dir is the
# fixture's directory. DIR/run/NAME holds "pid starttime", so that a recycled pid is never taken for ours.
# shellcheck shell=bash disable=SC2154

start_time() { # PID
  local stat fields
  stat=$(cat "/proc/$1/stat" 2>/dev/null) || return 1
  read -ra fields <<<"${stat##*) }" # from field 3, the state, on
  [ "${fields[0]}" != Z ] && echo "${fields[19]}"
}
remember() { echo "$2 $(start_time "$2")" >"$dir/run/$1"; } # NAME PID
lives() {                                                   # NAME
  local pid since
  read -r pid since 2>/dev/null <"$dir/run/$1" || return 1
  [ -n "$since" ] && [ "$(start_time "$pid")" = "$since" ]
}
gone() { ! lives "$1"; }
pid_of() { cut -d' ' -f1 "$dir/run/$1"; }
# Of what unshare stands for: pid 1 of a node.
first_process() { tr -d ' ' <"/proc/$(pid_of "$1")/task/$(pid_of "$1")/children"; }

await() { # SECONDS CONDITION…: looks every $look seconds, or 50 times a second
  local end=$((SECONDS + $1))
  shift
  until "$@" >/dev/null 2>&1; do
    [ $SECONDS -lt $end ] || return 1
    sleep "${look:-0.02}"
  done
}

#!/bin/bash
# The long form of the tests on real filesystems in userspace, with a table at the end.
#   run.sh PROGRAM [FS…]   PROGRAM: the built fs_itest; FS: sshfs moosefs gluster ceph (all of them)
# Installs the packages of each first (lab.sh install). Environment: LOG, a file for what it prints (default: fs.log);
# TORC_FS_ROUNDS: how often each fault strikes (3).
set -u
log=${LOG:-fs.log}
program=$1
shift
[ $# -gt 0 ] || set -- sshfs moosefs gluster ceph
lab=$(dirname "$(readlink -f "$0")")/lab.sh
filter=
for filesystem in "$@"; do
  "$lab" "$(mktemp -d)" "$filesystem" install >"$log" 2>&1 || { tail -5 "$log"; echo "cannot install $filesystem; all of it is in $log"; exit 1; }
  filter=$filter:*/$filesystem
done
TORC_TEST_REQUIRE_FS=all TORC_FS_ROUNDS=${TORC_FS_ROUNDS:-3} "$program" "--gtest_filter=${filter#:}" >"$log" 2>&1
code=$?
awk '
  /^\[ RUN / { name = $4; sub(/.*OnFilesystem\./, "", name); figures = "" }
  / attempts, .* leases expired$/ { figures = $0 }
  /^\[ +(OK|FAILED|SKIPPED) \] Real/ {
    split(name, part, "/"); gsub(/_/, " ", part[1])
    printf "%-8s %-8s %s: %s\n", $2 == "OK" ? "ok" : $2, part[2], part[1], figures
    name = ""
  }' "$log" | sed 's/^\[ */[/'
[ $code = 0 ] || { grep -E -A3 'VIOLATION|Failure$' "$log" | head -40; echo "all of it is in $log"; }
exit $code

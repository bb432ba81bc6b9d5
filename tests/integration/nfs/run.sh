#!/bin/bash
# The long form of the tests on a real NFS, with a table at the end.
#   run.sh PROGRAM   PROGRAM: the built nfs_itest
# Environment: LOG, a file for what it prints (default: nfs.log); TORC_NFS_ROUNDS: how often each fault strikes (3).
set -u
log=${LOG:-nfs.log}
TORC_TEST_REQUIRE_NFS=1 TORC_NFS_ROUNDS=${TORC_NFS_ROUNDS:-3} "$1" >"$log" 2>&1
code=$?
awk '
  /^\[ RUN / { name = $4; sub(/.*OnNfs\./, "", name); figures = "" }
  / attempts, .* leases expired$/ { figures = $0 }
  /^\[ +(OK|FAILED|SKIPPED) \] Version/ {
    split(name, part, "/"); gsub(/_/, " ", part[1])
    printf "%-8s %-14s %s: %s\n", $2 == "OK" ? "ok" : $2, part[2], part[1], figures
    name = ""
  }' "$log" | sed 's/^\[ */[/'
[ $code = 0 ] || { grep -E -A3 'VIOLATION|Failure$' "$log" | head -40; echo "all of it is in $log"; }
exit $code

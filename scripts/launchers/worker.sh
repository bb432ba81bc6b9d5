#!/bin/bash
{{directives}}
#
# A worker for the workflow in {{store_name}}, on one node of {{launcher}}. It claims jobs until none is left for it and
# then exits. More worker flags for one submission: TORC_WORKER_FLAGS="--lease-ttl 60s" in its environment.

# Where a job or an action of torc submitted it, the system passed on what that one was told of itself.
if [ -n "${TORC_RUN_ID:-}" ]; then
  for name in ${!TORC_@}; do
    case $name in TORC_WORKER_FLAGS | TORC_INTENT) ;; *) unset "$name" ;; esac
  done
fi
export TORC_STORE={{store}}
torc_id={{id}} torc_cpus={{cpus}}
export TORC_ALLOCATION_ID=${!torc_id:-}
exec >>{{logs}}/{{launcher}}-"${TORC_ALLOCATION_ID:-$$}".out 2>&1

# The CPUs that the system gave it; the flags for one submission count before.
torc_flags=()
case " ${TORC_WORKER_FLAGS:-}" in
  *" --num-cpus"*) ;;
  *) [ -z "$torc_cpus" ] || [ -z "${!torc_cpus:-}" ] || torc_flags+=("--num-cpus=${!torc_cpus}") ;;
esac

# Systems warn before the end by one signal or another, often to all of the script's processes: the worker has a group of
# its own (-m), and is told by the one that it knows.
set -m
trap '[ -z "${worker:-}" ] || kill -TERM "$worker" 2>/dev/null' TERM HUP XCPU USR1 USR2
{{torc}} worker {{store}}{{flags}} "${torc_flags[@]}" ${TORC_WORKER_FLAGS:-} &
worker=$!
while wait "$worker"; kill -0 "$worker" 2>/dev/null; do :; done
wait "$worker"

#!/bin/bash
# The commands of a batch system as its documents have them, for tests: which one it is says its name. $FAKE holds jobs,
# a line each: id, name, intent, user (FAKE_USER, or me), state in the system's word, with '|' between; and `mode`, what is wrong with it:
# ok, down, refuse, limit, rubbish, cut (a list loses its end), late (submits, then fails).
set -u
me=${0##*/}
system=$(basename "$(dirname "$0")")
mode=$(cat "$FAKE/mode" 2>/dev/null || echo ok)
touch "$FAKE/jobs"
echo "$me $*" >>"$FAKE/calls"

add() { # NAME INTENT STATE: prints the number
  local id=$(($(wc -l <"$FAKE/jobs") + 1))
  echo "$id|$1|$2|${FAKE_USER:-me}|$3" >>"$FAKE/jobs"
  echo "$id"
}
jobs() { cat "$FAKE/jobs"; }
set_state() { sed -i -E "s/^($1\|.*)\|[^|]*$/\1|$2/" "$FAKE/jobs"; } # ID STATE
cut_if() { [ "$mode" = cut ] && head -c -7 || cat; }
die() { printf '%s\n' "${@:2}" >&2; exit "$1"; }

after() { # FLAG ARGUMENTS…: what follows the flag
  local flag=$1
  shift
  while [ $# -gt 1 ]; do
    [ "$1" = "$flag" ] && { echo "$2"; return; }
    shift
  done
}

pbs_record() {
  local id name intent user state
  IFS='|' read -r id name intent user state
  printf 'Job Id: %s.srv\n    Job_Name = %s\n    Job_Owner = %s@login\n    job_state = %s\n' "$id" "$name" "$user" "$state"
  printf '    qtime = Thu Nov 26 18:10:08 2026\n    Resource_List.nodect = 1\n'
  printf '    Variable_List = PBS_O_HOME=/home/me,PBS_O_LANG=C,\n\tPATH=/bin:/usr/bin,TORC_INTENT=%s,\n\tX=1\n' "$intent"
  printf '    comment = Not Running: Insufficient amount of resource\n\n'
}
of_pbs() {
  local id
  [ "$mode" = down ] && die 111 'Connection refused' "$me: cannot connect to server srv (errno=15010)"
  case $me in
    qsub)
      [ "$mode" = refuse ] && die 170 'qsub: Unknown queue'
      [ "$mode" = limit ] && die 38 "qsub: would exceed queue generic's per-user limit"
      id=$(add "$(after -N "$@")" "$TORC_INTENT" Q)
      [ "$mode" = late ] && die 1 'qsub: End of File'
      [ "$mode" = rubbish ] && { echo 'Welcome!'; exit; }
      echo "$id.srv"
      ;;
    qstat)
      if [ "$*" = '-B -f' ]; then
        echo 'Server: srv'
      elif [ "$1" = -B ]; then
        printf '%s\n' 'Server             Max   Tot   Que   Run   Hld   Wat   Trn   Ext Status' \
          '---------------- ----- ----- ----- ----- ----- ----- ----- ----- -----------' \
          'srv                  0     2     1     1     0     0     0     0 Active'
      else
        shift
        for id in "$@"; do
          grep "^${id%.srv}|" "$FAKE/jobs" | pbs_record
        done | if [ "$mode" = cut ]; then head -c -200; exit 1; else cat; fi
      fi
      ;;
    qselect) # -x: with what has ended
      jobs | if [ "$1" = -x ]; then cat; else grep -v '|[FXC]$'; fi | cut -d'|' -f1 | sed 's/$/.srv/'
      ;;
    qdel)
      for id in "$@"; do
        if grep -q "^${id%.srv}|.*|[QR]$" "$FAKE/jobs"; then
          set_state "${id%.srv}" F
        else
          echo "qdel: Unknown Job Id $id" >&2
          fail=153
        fi
      done
      exit "${fail:-0}"
      ;;
  esac
}

of_lsf() {
  local id
  [ "$mode" = down ] && die 255 "Failed in an LSF library call: Failed in sending/receiving a message: Connection refused. Job not submitted."
  case $me in
    bsub)
      cat >"$FAKE/script"
      [ "$mode" = refuse ] && die 255 'nope: No such queue. Job not submitted.'
      [ "$mode" = limit ] && die 255 'User <me>: Pending job threshold reached. Job not submitted.'
      id=$(add "$(after -J "$@")" x PEND)
      [ "$mode" = late ] && die 255 'batch daemon internal error'
      [ "$mode" = rubbish ] && { echo 'Welcome!'; exit; }
      echo "Job <$id> is submitted to default queue <normal>."
      ;;
    bjobs)
      [ -s "$FAKE/jobs" ] || { echo 'No job found' >&2; exit 255; }
      { echo 'JOBID|STAT|USER|JOB_NAME'; awk -F'|' '{print $1 "|" $5 "|" $4 "|" $2}' "$FAKE/jobs"; } | cut_if
      ;;
    bkill)
      for id in "$@"; do
        if grep -q "^$id|.*|\(PEND\|RUN\)$" "$FAKE/jobs"; then
          set_state "$id" EXIT
          echo "Job <$id> is being terminated"
        else
          echo "Job <$id>: Job has already finished" >&2
          fail=255
        fi
      done
      exit "${fail:-0}"
      ;;
    lsid) printf '%s\n' 'IBM Spectrum LSF 10.1' 'My cluster name is srv' 'My master name is m1' ;;
  esac
}

condor_rows() { awk -F'|' -v over="$1" '($5 == 4) == over {print $1, $5, 1795340000, $4, $3, $2}' "$FAKE/jobs" | cut_if; }
of_htcondor() {
  local id name intent
  [ "$mode" = down ] && die 1 'ERROR: Failed to connect to local queue manager' 'CEDAR:6001:Failed to connect to <10.0.0.1:9618>'
  case $me in
    condor_submit)
      cat >"$FAKE/script"
      name=$(sed -n 's/^batch_name = //p' "$FAKE/script") intent=$(sed -n 's/^+TorcIntent = "\(.*\)"$/\1/p' "$FAKE/script")
      [ "$mode" = refuse ] && die 1 'ERROR: on Line 3 of submit file:' 'ERROR: Failed to parse command file (line 3).'
      [ "$mode" = limit ] && die 1 'ERROR: Number of submitted jobs would exceed MAX_JOBS_PER_OWNER'
      id=$(add "$name" "$intent" 1)
      [ "$mode" = late ] && die 1 'ERROR: Failed to commit job submission into the queue.'
      [ "$mode" = rubbish ] && { echo 'Welcome!'; exit; }
      echo "$id.0 - $id.0"
      ;;
    condor_q) condor_rows 0 ;;
    condor_history) condor_rows 1 ;;
    condor_rm)
      for id in "$@"; do
        if grep -q "^$id|.*|[12]$" "$FAKE/jobs"; then
          set_state "$id" 4
          echo "All jobs in cluster $id have been marked for removal"
        else
          echo "Couldn't find/remove all jobs in cluster $id" >&2
          fail=1
        fi
      done
      exit "${fail:-0}"
      ;;
    condor_config_val) echo srv ;;
  esac
}

case $system in
  pbs | torque) of_pbs "$@" ;;
  *) "of_$system" "$@" ;;
esac

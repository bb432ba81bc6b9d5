#!/bin/bash
# A Slurm that keeps a queue in files, under the name by which it is called: sbatch, squeue, sacct, scancel or scontrol.
# In $FAKE_SLURM: jobs, a line "ID|NAME|COMMENT|STATE" for each; log, a line for each call; and what the test wants:
# sbatch and squeue, each with one word of those below (none: it works).
cd "$FAKE_SLURM" || exit 1
program=${0##*/}
echo "$program $*" >>log
mode=$(cat "$program" 2>/dev/null)

take() { # NAME COMMENT: its id
  (
    flock 9
    id=$(($(cat last 2>/dev/null || echo 100) + 1))
    echo $id >last
    echo "$id|$1|$2|PENDING" >>jobs
    echo $id
  ) 9>lock
}
row() { # ID NAME COMMENT STATE
  printf '%-24s%-48s%-64s%-12s%-24s%-32s%-32s%-32s%-12s%-256s%-256s%-512s\n' \
    "$1" "$1" "${cluster:-alpha}" 1 "$4" N/A N/A 2026-11-01T00:00:00 "$(id -u)" "$2" Priority "$3"
}
list() {
  printf '%-24s%-48s%-64s%-12s%-24s%-32s%-32s%-32s%-12s%-256s%-256s%-512s\n' \
    JOBID ARRAY_JOB_ID CLUSTER NODES STATE START_TIME END_TIME SUBMIT_TIME USER NAME REASON COMMENT
  while IFS='|' read -r id name comment state; do row "$id" "$name" "$comment" "$state"; done < <(cat jobs 2>/dev/null)
}

case $program in
  sbatch)
    name= comment=
    for word; do
      case $word in
        --job-name=*) name=${word#*=} ;;
        --comment=*) comment=${word#*=} ;;
        --test-only) exit 0 ;;
      esac
    done
    case $mode in
      refuses) echo 'sbatch: error: Batch job submission failed: Invalid account or account/partition combination specified' >&2; exit 1 ;;
      later) echo 'sbatch: error: Batch job submission failed: Unable to contact slurm controller (connect failure)' >&2; exit 1 ;;
      not-here) echo 'sbatch: error: Batch job submission failed: Access/permission denied' >&2; exit 1 ;;
      rubbish) take "$name" "$comment" >/dev/null; echo 'welcome to the cluster!'; exit 0 ;;
      breaks) take "$name" "$comment" >/dev/null; echo 'sbatch: error: Batch job submission failed: Socket timed out on send/recv operation' >&2; exit 1 ;;
      dies) take "$name" "$comment" >/dev/null; kill -KILL $$ ;;
      hangs) take "$name" "$comment" >/dev/null; exec sleep 1000 ;;
      twice) take "$name" "$comment" >/dev/null; take "$name" "$comment" >/dev/null; echo 'sbatch: error: Batch job submission failed: Zero Bytes were transmitted or received' >&2; exit 1 ;;
      gate) echo begun >begun; read -r _ <gate; id=$(take "$name" "$comment"); echo acted >acted; echo $id ;;
      *) take "$name" "$comment" ;;
    esac
    ;;
  squeue)
    case $mode in
      fails) echo 'slurm_load_jobs error: Unable to contact slurm controller (connect failure)' >&2; exit 1 ;;
      nothing) ;;
      empty) list | head -n 1 | cut -c1-40 ;;
      half) all=$(list); printf %s "${all:0:${#all}/2}" ;;
      other) cluster=beta; list | head -n 1; row 101 other '' COMPLETED ;;
      hangs) exec sleep 1000 ;;
      *) list ;;
    esac
    ;;
  sacct) [ "$mode" != off ] || { echo 'Slurm accounting storage is disabled' >&2; exit 1; }
    echo 'JobIDRaw|JobID|Cluster|UID|State|Submit|Start|End|NNodes|JobName|Comment' ;;
  scancel)
    (
      flock 9
      for id; do sed -i "/^$id|/d" jobs; done
    ) 9>lock
    ;;
  scontrol) echo 'ClusterName             = alpha' ;;
esac

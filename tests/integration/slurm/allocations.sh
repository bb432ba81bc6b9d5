#!/bin/bash
# Workflows that `torc submit` takes from nothing to their end on a real Slurm (cluster.sh), with nobody near: each row
# with a cluster and a store of its own. Prints for each what its allocations were granted, how much of it jobs used and
# how much could not be used (CPUs that are free while the last job of an allocation runs), and the calls of Slurm.
# OUTAGE: for how many seconds the controller of the row of that name is away.
#   allocations.sh BUILD [ROW…]   BUILD: the build directory, with torc; ROW: one of those below (default: all)
# Exit code 1: a workflow did not end, or an allocation outlived its use by more than a minute; 77: this machine cannot
# do it. What belongs to a bad row is kept.
set -u
build=$(readlink -f "${1:?usage: allocations.sh BUILD [ROW…]}")
shift
here=$(dirname "$(readlink -f "$0")")
torc=$build/torc
work=$(mktemp -d /tmp/torc-allocations.XXXXXX)
rows=(sweep narrows gangs grows late chain outage staged ends recovers)
look=0.5
. "$here/../processes.sh"
cluster() { "$here/cluster.sh" "$round/c" "$@"; }

# The number in a job's name is how many CPUs it has.
jobs_of() { # ROW
  local terms='walltime: "00:05:00", extra: --exclusive --cpus-per-task=2 --ntasks-per-node=1, mem: 900m'
  [ "$1" != chain ] || terms+=', serialize_allocations: true'
  [ "$1" != chain ] || terms=${terms/00:05/00:02}
  local nodes=1
  [ "$1" != gangs ] || nodes=2
  cat <<YAML
name: $1
resource_requirements:
  - {name: short, num_cpus: 1, memory: 50m, runtime: PT5S}
  - {name: long, num_cpus: 2, memory: 50m, runtime: PT40S}
  - {name: gang, num_cpus: 2, num_nodes: 2, memory: 50m, runtime: PT10S}
  - {name: grows, num_cpus: 1, memory: 20m, runtime: PT5S}
failure_handlers:
  - name: more
    rules: [{exit_codes: [3], recovery_script: "true", max_retries: 2}]
slurm_schedulers:
  - {name: all, nodes: $nodes, $terms}
YAML
  [ "$1" != staged ] || staged "$terms"
  [ "$1" != ends ] || echo 'execution_config: {mode: slurm, srun_termination_signal: TERM@2}'
  [ "$1" != recovers ] || echo 'on_failure: recover'
  echo jobs:
  local short='resource_requirements: short, command: sleep 4.5'
  case $1 in
    sweep | outage) echo "  - {name: 'a1_{i}', parameters: {i: '1:200'}, $short}" ;;
    chain) echo "  - {name: 'a1_{i}', parameters: {i: '1:120'}, $short}" ;;
    late) echo "  - {name: 'a1_{i}', parameters: {i: '1:40'}, $short}" ;;
    narrows)
      echo "  - {name: 'a1_{i}', parameters: {i: '1:120'}, $short}"
      echo "  - {name: b2, depends_on_regexes: ['^a1_'], resource_requirements: long, command: sleep 38}"
      ;;
    gangs)
      echo "  - {name: 'a1_{i}', parameters: {i: '1:80'}, $short}"
      echo "  - {name: 'g4_{i}', parameters: {i: '1:6'}, resource_requirements: gang, command: sleep 9}"
      ;;
    staged)
      echo "  - {name: 'a1_{i}', parameters: {i: '1:4'}, scheduler: all, $short}"
      echo "  - {name: 'b1_{i}', parameters: {i: '1:40'}, scheduler: many, depends_on_regexes: ['^a1_'], $short}"
      echo "  - {name: c2, scheduler: last, depends_on_regexes: ['^b1_'], resource_requirements: long, command: sleep 20}"
      ;;
    ends)
      echo "  - {name: a1_fast, resource_requirements: short, command: sleep 2}"
      echo "  - {name: a1_slow, resource_requirements: short, command: sleep 1200}"
      echo "  - {name: a1_saves, resource_requirements: short, command: 'trap \"exit 0\" TERM; sleep 1200 & wait'}"
      ;;
    recovers)
      echo "  - {name: a1_modest, resource_requirements: short, command: sleep 4.5}"
      echo "  - name: a1_large"
      echo "    resource_requirements: short"
      echo "    command: python3 -c \"import time; x = b'a' * (55 << 20); time.sleep(5)\""
      ;;
    grows)
      echo "  - {name: 'a1_{i}', parameters: {i: '1:60'}, resource_requirements: grows, failure_handler: more,"
      echo "     command: 'sleep 2; [ \$TORC_ATTEMPT_ID -ge 2 ] || [ {i} -gt 20 ] || exit 3; sleep 2.5'}"
      ;;
  esac
}

# Each stage has allocations of its own, which actions ask for when its jobs are ready: of demand there are none.
staged() { # TERMS
  cat <<YAML
  - {name: many, nodes: 1, $1}
  - {name: last, nodes: 1, $1}
actions:
  - {trigger_type: on_workflow_start, action_type: schedule_nodes, scheduler: all, scheduler_type: slurm, num_allocations: 1}
  - {trigger_type: on_jobs_ready, job_name_regexes: ["^b1_"], action_type: schedule_nodes, scheduler: many, num_allocations: 2}
  - {trigger_type: on_jobs_ready, jobs: [c2], action_type: schedule_nodes, scheduler: last}
YAML
}

wrap_commands() {
  local program
  mkdir "$round/bin"
  for program in squeue sacct sbatch scancel; do
    printf '#!/bin/bash\necho "$EPOCHREALTIME %s $*" >>"%s/calls"\nexec %s "$@"\n' \
      $program "$round" "$(command -v $program)" >"$round/bin/$program"
    chmod 755 "$round/bin/$program"
  done
}
over() { "$torc" status "$store" --json 2>/dev/null | grep -q '"state": "'$verdict'"' && empty; }
empty() { [ -z "$(/usr/bin/squeue -h 2>/dev/null)" ]; }

row() {
  local begun verdict=completed
  [ "$1" != ends ] || verdict=failed
  round=$work/$1
  store=$round/wf.torc
  mkdir -p "$round"
  NODE_ADDRESS=$(hostname -I | cut -d' ' -f1) cluster start 4 $BASHPID || return
  export SLURM_CONF=$round/c/slurm.conf
  wrap_commands
  jobs_of "$1" >"$round/wf.yaml"
  begun=$SECONDS
  (cd "$round" && PATH=$round/bin:$PATH "$torc" submit wf.yaml --store "$store" --engine journal) >"$round/submit" 2>&1 ||
    { cat "$round/submit"; return 1; }
  case $1 in
    late)
      sleep 15
      printf 'jobs:\n  - {name: "c1_{i}", parameters: {i: "1:60"}, resource_requirements: short, command: sleep 4.5}\n' >"$round/more.yaml"
      (cd "$round" && PATH=$round/bin:$PATH "$torc" add "$store" more.yaml) >"$round/add" 2>&1 || cat "$round/add"
      ;;
    outage) sleep 5; cluster controller stop; sleep "${OUTAGE:-100}"; cluster controller start ;;
  esac
  await 500 over || { echo "$1: it did not end"; "$torc" status "$store"; "$torc" allocations "$store" --all; }
  echo "$((SECONDS - begun))" >"$round/seconds"
  # The ends of the last ones are noted by the next pass.
  sleep 31
  "$torc" allocations "$store" --all --json >"$round/allocations.json" 2>>"$round/err"
  "$torc" results "$store" --all-attempts --json >"$round/results.json" 2>>"$round/err"
  "$torc" verify "$store" >"$round/verify" 2>&1 || echo "$1: damaged"
  cluster stop
  "$here/allocations.py" "$1" "$round" && rm -rf "$round"
}

[ $# -gt 0 ] || set -- "${rows[@]}"
bad=0
for name; do row "$name" || bad=$?; [ "$bad" != 77 ] || exit 77; done
[ "$bad" != 0 ] || { rm -rf "$work"; exit 0; }
echo "kept: $work"
exit 1

#!/usr/bin/env python3
"""mixed.py workflow MODE JOB LOG: the workflow of mixed.sh.
mixed.py audit ROW DIR: what one of its rows came to. DIR/log has what jobs said: TIME start|end NAME ATTEMPT NODES CPUS.

bound   s: the node-seconds of all jobs over four nodes; those of one node share it as their CPUs allow
took    s: from the first start to the last end
over    moments in which a node had more than it has: a job of several nodes beside another one, or too many CPUs
"""
import collections
import json
import pathlib
import random
import sys

NODES, CPUS, JOBS = 4, 2, 200


def jobs():
    dice = random.Random(14)
    for number in range(JOBS):
        nodes = dice.choices((1, 2, 4), (80, 14, 6))[0]
        yield number, nodes, dice.choice((1, 1, 1, 2)) if nodes == 1 else CPUS, dice.randint(8, 30), dice.randint(0, 2)


def workflow(mode, job, log):
    print(f"name: mixed\nexecution_config: {{mode: {mode}}}\nslurm_schedulers:")
    print(f"  - {{name: all, nodes: {NODES}, walltime: '00:20:00', extra: --exclusive}}\njobs:")
    needs = set()
    for number, nodes, cpus, tenths, priority in jobs():
        needs.add((nodes, cpus, tenths // 10 + 2))  # starting and ending take their time, too
        print(f"  - name: j{number}_{nodes}\n    command: {job} {log} {tenths} 0.1\n    priority: {priority}")
        print(f"    resource_requirements: r{nodes}_{cpus}_{tenths // 10 + 2}")
    print("resource_requirements:")
    for nodes, cpus, seconds in sorted(needs):
        print(f"  - {{name: r{nodes}_{cpus}_{seconds}, num_nodes: {nodes}, num_cpus: {cpus}, memory: 20m, runtime: PT{seconds}S}}")


def hosts_in(words):
    return words.split(",")


def audit(row, directory):
    starts, ends = {}, {}
    for line in (directory / "log").read_text().splitlines():
        time, kind, *rest = line.split()
        if kind == "fault":
            continue
        name, attempt, nodes, cpus = rest
        (starts if kind == "start" else ends)[name, int(attempt)] = (float(time), hosts_in(nodes), int(cpus))
    done = collections.Counter(name for name, _ in ends)
    state = json.loads((directory / "status.json").read_text())["jobs_by_state"]
    lost = JOBS - min(len(done), state["completed"])
    doubled = sum(count > 1 for count in done.values())
    wrong = sum(len(set(nodes)) != int(name.split("_")[1]) for (name, _), (_, nodes, _) in starts.items())
    # Of an attempt that was cut off nobody knows until when it had its nodes.
    changes = []
    for key, (begin, nodes, cpus) in starts.items():
        if key not in ends:
            continue
        part = CPUS if len(nodes) > 1 else cpus
        for node in nodes:
            changes += [(begin, part, node), (ends[key][0], -part, node)]
    used, over = collections.Counter(), 0
    for _, part, node in sorted(changes):
        used[node] += part
        over += used[node] > CPUS
    bound = sum(nodes * (1 if nodes > 1 else cpus / CPUS) * tenths / 10 for _, nodes, cpus, tenths, _ in jobs()) / NODES
    took = max(t for t, _, _ in ends.values()) - min(t for t, _, _ in starts.values())
    print(f"{row} lost={lost} doubled={doubled} wrong={wrong} over={over} again={len(starts) - JOBS} "
          f"took={took:.1f} bound={bound:.1f} ratio={took / bound:.2f}")
    slow = "-" not in row and took > 1.1 * bound
    return 1 if lost or doubled or wrong or over or slow else 0


if __name__ == "__main__":
    if sys.argv[1] == "workflow":
        workflow(*sys.argv[2:5])
    else:
        sys.exit(audit(sys.argv[2], pathlib.Path(sys.argv[3])))

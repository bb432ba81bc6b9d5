#!/usr/bin/env python3
"""mixed.py workflow MODE JOB LOG: the workflow of mixed.sh.
mixed.py audit ROW DIR: what one of its rows came to. DIR/log has what jobs said: TIME start|end NAME ATTEMPT NODES CPUS,
and mixed.sh: TIME fault NAME, TIME nodes LIST: which nodes the allocation has from then on, as Slurm says (none: it does
not run).

bound   s: the node-seconds of all jobs over four nodes; those of one node share it as their CPUs allow
took    s: from the first start to the last end
fair    s: the same with jobs as long as they ran on this machine (longer), and with what a fault costs however well the
        rest is used: what is away and cut
away    node-seconds in which a node was not there: crashed, of no allocation that ran, suspended
cut     node-seconds of attempts that a fault cut off, up to the fault; after a crash also those in which another node
        has nothing before its next start: it may be held for a job that the lost node is part of (a lease, 30 s, at most)
over    moments in which a node had more than it has: a job of several nodes beside another one, or too many CPUs
longer  percent by which jobs took longer than their sleeps say, since the machine is busy; in node-seconds
Idle, in percent of the node-seconds between the first start and the last end:
gang    before a job of several nodes started there
next    before one of one node did
tail    after the last end on that node
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
        needs.add((nodes, cpus, tenths // 10 + 2))  # starting and ending take their time, too; what is expected ends nothing
        print(f"  - name: j{number}_{nodes}\n    command: {job} {log} {tenths} 0.1\n    priority: {priority}")
        print(f"    resource_requirements: r{nodes}_{cpus}_{tenths // 10 + 2}")
    print("resource_requirements:")
    for nodes, cpus, seconds in sorted(needs):
        print(f"  - {{name: r{nodes}_{cpus}_{seconds}, num_nodes: {nodes}, num_cpus: {cpus}, memory: 20m, "
              f"runtime: PT{seconds}S, time_limit: PT2M}}")


LEASE = 30  # seconds: --lease-ttl 20s, and until it is noticed


def hosts_in(words):
    return words.split(",")


def nodes_in(words):
    """Of Slurm's short list, without those that are named behind it: n2, n[1-2,4], n[1-4] n3, none."""
    short, *crashed = words
    numbers = set()
    for part in [] if short == "none" else short[1:].strip("[]").split(","):
        first, _, last = part.partition("-")
        numbers.update(range(int(first), int(last or first) + 1))
    return {f"n{n}" for n in numbers} - set(crashed)


def seconds_away(has, node, begin, end):
    """has: (time, nodes) of each change, in their order; before the first one all are there."""
    away, since, there = 0, begin, True
    for time, nodes in has + [(end, set())]:
        moment = min(max(time, begin), end)
        away += 0 if there else moment - since
        since, there = moment, node in nodes
    return away


def cut_off(starts, ends, has, fault, crashed):
    """Node-seconds of attempts that came to nothing, and of nodes that had nothing after a crash."""
    cut, free_at, next_at = 0, {}, {}
    for key, (begin, nodes, cpus) in starts.items():
        for node in nodes:
            if begin > fault:
                next_at[node] = min(begin if key in ends else float("inf"), next_at.get(node, float("inf")))
            elif key in ends:
                free_at[node] = max(ends[key][0], free_at.get(node, fault))
            else:
                part = 1 if len(nodes) > 1 else cpus / CPUS
                cut += part * (fault - begin - seconds_away(has, node, begin, fault))
    for node in next_at if crashed else ():
        begin = free_at.get(node, fault)
        end = max(begin, min(next_at[node], begin + LEASE))
        cut += end - begin - seconds_away(has, node, begin, end)
    return cut


def idle_before(starts, ends, first, last):
    """Idle node-seconds by what came next on the node: "gang", "next" or "tail" (nothing)."""
    changes = collections.defaultdict(list)
    for key, (begin, nodes, cpus) in starts.items():
        if key in ends:
            part = 1 if len(nodes) > 1 else cpus / CPUS
            for node in nodes:
                changes[node] += [(begin, part, "gang" if len(nodes) > 1 else "next"), (ends[key][0], -part, "")]
    idle = collections.Counter()
    for node in changes.values():
        waits, used, since = 0, 0, first
        for time, part, kind in sorted(node) + [(last, 0, "tail")]:
            waits += (1 - used) * (time - since)
            used, since = used + part, time
            if kind:
                idle[kind] += waits
                waits = 0
    idle["tail"] += (NODES - len(changes)) * (last - first)
    return idle


def audit(row, directory):
    starts, ends, parts, has, fault = {}, {}, collections.Counter(), [], float("inf")
    per_node = not row.startswith("direct")  # the command of a job of several nodes runs on each
    for line in (directory / "log").read_text().splitlines():
        time, kind, *rest = line.split()
        if kind == "fault":
            fault = float(time)
            continue
        if kind == "nodes":
            has.append((float(time), nodes_in(rest)))
            continue
        name, attempt, nodes, cpus = rest
        key, what = (name, int(attempt)), (float(time), hosts_in(nodes), int(cpus))
        if kind == "start":
            starts.setdefault(key, what)
            continue
        parts[key] += 1
        if parts[key] == (int(name.split("_")[1]) if per_node else 1):
            ends[key] = what
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
    first, last = min(t for t, _, _ in starts.values()), max(t for t, _, _ in ends.values())
    took = last - first
    busy = sum((ends[key][0] - begin - seconds_away(has, node, begin, ends[key][0])) * (1 if len(nodes) > 1 else cpus / CPUS)
               for key, (begin, nodes, cpus) in starts.items() if key in ends for node in nodes)
    idle = idle_before(starts, ends, first, last)
    away = sum(seconds_away(has, f"n{n}", first, last) for n in range(1, NODES + 1))
    cut = cut_off(starts, ends, has, fault, row.endswith("-crash"))
    fair = (busy + away + cut) / NODES
    print(f"{row} lost={lost} doubled={doubled} wrong={wrong} over={over} again={len(starts) - JOBS} "
          f"took={took:.1f} bound={bound:.1f} ratio={took / bound:.2f} longer={100 * (busy / bound / NODES - 1):.1f} "
          f"fair={fair:.1f} of_fair={took / fair:.2f} away={away:.1f} cut={cut:.1f} "
          + " ".join(f"{kind}={100 * idle[kind] / took / NODES:.1f}" for kind in ("gang", "next", "tail")))
    slow = "-" not in row and took > 1.1 * fair
    return 1 if lost or doubled or wrong or over or slow else 0


if __name__ == "__main__":
    if sys.argv[1] == "workflow":
        workflow(*sys.argv[2:5])
    else:
        sys.exit(audit(sys.argv[2], pathlib.Path(sys.argv[3])))

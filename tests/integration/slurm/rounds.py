#!/usr/bin/env python3
"""rounds.py audit ROW NUMBER DIR STORE [FIGURE=MOST…]: prints what one round of rounds.sh came to, as words FIGURE=VALUE.
rounds.py sum ROW LOG [FIGURE=MOST…]: the least, median and largest of each over all rounds in LOG.

DIR/log has what jobs said (TIME start|end NAME ATTEMPT HOST) and what was done to them (TIME fault …, TIME state ID
STATE, …); it and Slurm are the witnesses, torc's own history only tells whose lease was ended. Times are seconds.

again       from the fault until the last job that it cut off was started again
heard       from when Slurm dropped the node from the allocation until the same
end         from the end of the last job until the allocation was no longer RUNNING
others      from the end of the first stage until the last of the other nodes had started one of the second
idle        percent of the node-seconds granted, from the start of the allocation on, that were idle while a job was ready
stays_away  nodes struck by the fault that started nothing after it
restarted   attempts beyond the first
fenced      workers that lost their lease, or were expired by others, on nodes that were not struck
Exit code 1: something was lost, doubled, or is over MOST, or the round says nothing (broken).
"""
import collections
import json
import pathlib
import statistics
import sys

CPUS_OF_NODE = 2  # cluster.sh
ENDED = {"COMPLETED", "COMPLETING", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED"}


def stage_of(job):
    return int(job.split("_")[0][1:])


class Round:
    def __init__(self, directory, store):
        self.store = store
        self.lines = sorted(
            ((float(time), words) for time, *words in map(str.split, (directory / "log").read_text().splitlines())),
            key=lambda line: line[0],
        )
        self.starts = {}  # (job, attempt): (time, host)
        self.ends = {}
        for time, (kind, *rest) in self.lines:
            if kind in ("start", "end"):
                job, attempt, host, _ = rest
                (self.starts if kind == "start" else self.ends)[job, int(attempt)] = (time, host)
        self.history = json.loads((directory / "history.json").read_text())["events"]
        self.status = json.loads((directory / "status.json").read_text())

    def first(self, kind):
        return next(((time, words[1:]) for time, words in self.lines if words[0] == kind), None)

    def last_end(self):
        return max((time for time, _ in self.ends.values()), default=0)

    def lost(self):
        jobs = self.status["jobs_by_state"]
        ran = {job for job, _ in self.ends}
        never = sum(jobs.values()) - jobs["completed"]
        return max(never, sum(jobs.values()) - len(ran))

    def doubled(self):
        """Jobs that ran to their end twice, or of which an attempt went on beside a later one."""
        ends = collections.Counter(job for job, _ in self.ends)
        found = {job for job, count in ends.items() if count > 1}
        for (job, attempt), (time, _) in self.ends.items():
            if any(j == job and a > attempt and t < time for (j, a), (t, _) in self.starts.items()):
                found.add(job)
        return len(found)

    def again(self):
        fault, _ = self.first("fault")
        cut_off = [key for key, (time, _) in self.starts.items() if time < fault and key not in self.ends]
        found = []
        for job, attempt in cut_off:
            later = [t for (j, a), (t, _) in self.starts.items() if j == job and a > attempt]
            found.append(min(later, default=float("inf")) - fault)
        return max(found, default=None)

    def heard(self):
        dropped = [time for time, words in self.lines if words[0] == "nodes"][1:]
        again = self.again()
        return None if again is None or not dropped else max(0.0, again + self.first("fault")[0] - dropped[0])

    def end(self):
        over = {}  # of each allocation that did not end before
        for time, words in self.lines:
            if words[0] == "state" and words[2] in ENDED and time >= self.last_end():
                over.setdefault(words[1], time)
        return max(over.values()) - self.last_end() if over else float("inf")

    def others(self):
        first_end = max(t for (job, _), (t, _) in self.ends.items() if stage_of(job) == 1)
        here = next(host for (job, _), (_, host) in self.starts.items() if stage_of(job) == 1)
        began = {}
        for (job, _), (time, host) in self.starts.items():
            if stage_of(job) == 2 and host != here:
                began[host] = min(time, began.get(host, time))
        return max(began.values()) - first_end if len(began) == 3 else float("inf")

    def idle(self):
        """In a round without a fault whose jobs have one CPU each."""
        begin = next(t for t, words in self.lines if words[0] == "state" and words[2] == "RUNNING")
        over = self.last_end() + self.end()
        ready_at = {1: begin, 2: max(t for (job, _), (t, _) in self.ends.items() if stage_of(job) == 1)}
        changes = []  # time, ready, free
        for key, (time, _) in self.starts.items():
            changes += [(ready_at[stage_of(key[0])], 1, 0), (time, -1, -1), (self.ends[key][0], 0, 1)]
        ready, free, before, idle = 0, 4 * CPUS_OF_NODE, begin, 0.0
        for time, more_ready, more_free in sorted(changes):
            idle += min(ready, free) * (time - before)
            ready, free, before = ready + more_ready, free + more_free, time
        return 100 * idle / (4 * CPUS_OF_NODE * (over - begin))

    def stays_away(self):
        fault, (_, node) = self.first("fault")
        return 0 if any(time > fault and host == node for time, host in self.starts.values()) else 1

    def restarted(self):
        return sum(attempt > 1 for _, attempt in self.starts)

    def fenced(self):
        struck = self.first("fault")[1][1]
        expired = sum(e["event"] == "expired" and e["host"] != struck for e in self.history)
        logs = (self.store / "logs").glob("slurm-*.out")
        return expired + sum("lost its lease" in log.read_text() for log in logs if f".{struck}." not in log.name)


def wanted_in(words):
    return {name: float(most) for name, most in (word.split("=") for word in words)}


def shown(value):
    return "none" if value is None else f"{value:.2f}" if isinstance(value, float) else str(value)


def audit(row, number, directory, store, wanted):
    this = Round(pathlib.Path(directory), pathlib.Path(store))
    figures = {name: getattr(this, name)() for name in wanted}
    figures |= {"lost": this.lost(), "doubled": this.doubled()}
    trouble = [word for word in ("late", "hung", "damaged") if this.first(word)]
    fault = this.first("fault")
    words = [f"{name}={shown(value)}" for name, value in figures.items()] + [f"{word}=1" for word in trouble]
    if fault:
        words.append("# " + " ".join(fault[1]))
    print(row, number, *words, flush=True)
    bad = trouble or figures["lost"] or figures["doubled"]
    return bool(bad or any(figures[n] is None or figures[n] > most for n, most in wanted.items()))


def total(row, log, wanted):
    rounds, values, bad = 0, collections.defaultdict(list), 0
    for line in pathlib.Path(log).read_text().splitlines():
        words = line.split(" # ")[0].split()
        if len(words) < 3 or words[0] != row or not words[1].isdigit():
            continue
        rounds += 1
        for name, value in (word.split("=") for word in words[2:]):
            values[name].append(float("inf") if value == "none" else float(value))
    said = []
    for name, most in wanted.items():
        if values[name]:
            low, middle, high = min(values[name]), statistics.median(values[name]), max(values[name])
            said.append(f"{name} {low:g} {middle:g} {high:g} (at most {most:g})")
            bad += high > most
    for name in ("lost", "doubled"):
        said.append(f"{sum(values[name]):g} {name}")
    others = [f"{sum(v):g} {name}" for name, v in values.items() if name not in wanted and name not in ("lost", "doubled")]
    bad += rounds == 0 or len(others) > 0 or sum(values["lost"]) + sum(values["doubled"]) > 0
    print(f"{'BAD ' if bad else 'good'} {row:13} {rounds:3} rounds: " + ", ".join(said + others))
    return bool(bad)


if __name__ == "__main__":
    if sys.argv[1] == "audit":
        try:
            sys.exit(audit(*sys.argv[2:6], wanted_in(sys.argv[6:])))
        except (ValueError, LookupError, TypeError, OSError) as error:  # a log that is cut, no answer of torc's
            print(*sys.argv[2:4], "broken=1 #", repr(error), flush=True)
            sys.exit(1)
    sys.exit(total(*sys.argv[2:4], wanted_in(sys.argv[4:])))

#!/usr/bin/env python3
"""allocations.py ROW DIRECTORY: what the allocations of a workflow were granted, and what of it its jobs used.

In core-seconds: granted; used by jobs, also by attempts that failed; unavoidable: free CPUs of an allocation while its last job runs; unused: the
rest, in per cent of what was granted. tail: the longest that an allocation outlived its last job, in seconds.
"""
import collections
import json
import pathlib
import re
import sys

row, directory = sys.argv[1], pathlib.Path(sys.argv[2])
allocations = json.loads((directory / "allocations.json").read_text())["allocation_records"]
results = json.loads((directory / "results.json").read_text())
CPUS_OF_NODE = 2
ALLOCATIONS = {"staged": {"all": 1, "many": 2, "last": 1}}
ENDS = {
    "ends": {"a1_fast": ("completed", 0), "a1_slow": ("terminated", 152), "a1_saves": ("completed", 0)},
    "recovers": {"a1_modest": ("completed", 0), "a1_large": ("completed", 0)},
}

bad = []


def cpus_of(result):
    return int(re.match(r"[a-z]+(\d+)", result["job"])[1])


ran = [a for a in allocations if a["starts_at"] and a["granted_core_hours"] > 0]
granted = sum(a["granted_core_hours"] for a in ran) * 3600
used = sum(cpus_of(r) * r["elapsed_seconds"] for r in results)
last_start = max(r["started_at"] for r in results)
last_end = max(r["started_at"] + r["elapsed_seconds"] for r in results)
tail = unavoidable = 0
for a in ran:
    end = a["starts_at"] + a["granted_core_hours"] * 3600 / a["nodes"] / CPUS_OF_NODE
    tail = max(tail, end - last_end)
    # While the last job of all runs, nobody else can use what is free.
    unavoidable += max(0, min(end, last_end) - max(a["starts_at"], last_start)) * a["nodes"] * CPUS_OF_NODE
for r in results:
    unavoidable -= cpus_of(r) * max(0, r["started_at"] + r["elapsed_seconds"] - max(r["started_at"], last_start))
unavoidable = max(0, unavoidable)
unused = granted - used - unavoidable
calls = collections.Counter()
passes = []
for line in (directory / "calls").read_text().splitlines():
    words = line.split()
    calls[words[1]] += 1
    if words[1] == "squeue" and "Comment:" in line:
        passes.append(float(words[0]))
gaps = [b - a for a, b in zip(passes, passes[1:])]
seconds = int((directory / "seconds").read_text())
states = collections.Counter(r["state"] for r in results)
if tail > 60:
    bad.append(f"an allocation outlived its use by {tail:.0f} s")
asked = collections.Counter(a["scheduler"] for a in allocations)
if asked != ALLOCATIONS.get(row, asked):
    bad.append(f"allocations by scheduler: {dict(asked)}")
counted = sum(a["used_core_hours"] for a in allocations) * 3600
if abs(counted - used) > 0.01 * used + 1:
    bad.append(f"the ledger counts {counted:.0f} core-seconds as used")
# First it needs more memory, then more time.
if row == "recovers" and len(results) != 4:
    bad.append(f"{len(results)} attempts")
ends = {r["job"]: (r["state"], r["exit_code"]) for r in results}
if ends != ENDS.get(row, ends):
    bad.append(f"ends of jobs: {ends}")
print(
    f"{row:8} {seconds:4} s, {len(ran)} allocations ran of {len(allocations)}; core-seconds: granted {granted:.0f}, "
    f"used {used:.0f}, unavoidable {unavoidable:.0f}, unused {unused:.0f} ({100 * unused / max(1, granted):.1f} %); "
    f"tail {tail:.0f} s; calls: {dict(calls)}, squeue of passes {len(passes)}, "
    f"least gap {min(gaps, default=0):.0f} s; {dict(states)} {bad or ''}",
    flush=True,
)
sys.exit(1 if bad else 0)

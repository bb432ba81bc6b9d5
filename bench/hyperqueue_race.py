"""Runs `true` JOBS times on a HyperQueue worker with two CPUs and writes the seconds from submitting to the last end.

usage: hyperqueue_race.py JOBS FILE

Neither the start of its server nor the making of the list of tasks counts. Needs the Python package `hyperqueue`
(pip install hyperqueue). Exit code 1: that package is not there.
"""

import os
import sys
import tempfile
import time

try:
    from hyperqueue import Job
    from hyperqueue.cluster import LocalCluster, WorkerConfig
except ImportError:
    sys.exit(1)

jobs, answer = int(sys.argv[1]), sys.argv[2]
with tempfile.TemporaryDirectory() as directory, LocalCluster() as cluster:
    cluster.start_worker(WorkerConfig(cores=2))
    client = cluster.client()
    job = Job()
    for _ in range(jobs):
        job.program(["true"], stdout=None, stderr=None, cwd=directory)
    begin = time.monotonic()
    client.wait_for_jobs([client.submit(job)])
    seconds = time.monotonic() - begin
with open(answer, "w", encoding="ascii") as file:
    file.write(f"{seconds}\n")
os._exit(0)  # its threads do not end by themselves

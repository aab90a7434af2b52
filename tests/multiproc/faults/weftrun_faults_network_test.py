# SPDX-License-Identifier: BSD-3-Clause
"""The rows of weftrun_faults_table.py about networks: jobs over pretend hosts (scripts/hosts), one of which
is cut off.

All cells of a row's kind share one outage: their jobs are at their moments when it comes. Exit status 77:
skipped, hosts cannot be made here; the reason is printed.
"""
import os
import sys
import time

from weftrun_common import HOSTS_SCRIPT, hosts, left_on, on_hosts, wait_until
from weftrun_faults_cells import SAYING, bound_of, complaints, details, words_of
from weftrun_faults_driver import Job, Shape
from weftrun_faults_table import ROWS

SET = f"w{os.getpid()}f"
HOSTS = [f"{SET}{number}" for number in range(2)]
OUTAGE = 2  # seconds, which are the fault


def start(row, moment):
    """At its moment. The launcher's own node is the first, so that there is one agent."""
    shape = Shape(("--host", ",".join(f"{host}:2" for host in HOSTS)), row.env, HOSTS[1], f"{HOSTS_SCRIPT} run {{host}}")
    job = Job(shape, words_of(row, moment), row.options, prefix=(HOSTS_SCRIPT, "run", HOSTS[0]),
              holds=1 if moment == "launch" else -1)
    job.env.pop("WEFT_NET", None)
    return job, job.reach(moment, min(SAYING.get(moment, 1), 1 if moment == "launch" else 3))


def link(state):
    done = hosts("link", HOSTS[1], state)
    if done.returncode != 0:
        sys.exit(done.stderr)


def run(kind, comes_back):
    """Complaints, by cell."""
    cells = [(row, moment, *start(row, moment)) for row in ROWS if row.do == kind for moment in row.moments]
    link("down")
    if comes_back:
        time.sleep(OUTAGE)
        link("up")
    for row, moment, job, _ in cells:
        if row.succeeds or moment == "launch":
            job.release()
    found = {}
    for row, moment, job, ranks in cells:
        outcome = job.finish(bound_of(row))
        these = complaints(row, job, ranks, outcome) + [f"left behind: {what}" for what in job.left()]
        if these:
            found[f"{kind} | {moment}"] = these + details(job, outcome)
    link("up")
    for _, _, job, _ in cells:
        job.close()
    for host in HOSTS:
        wait_until(lambda: not left_on(host), f"nothing left on {host}: {left_on(host)}")
    print(f"{len(cells) - len(found)} of {len(cells)} cells of '{kind}' as promised")
    return found


def main():
    found = {**run("outage", True), **run("loss", False)}
    for cell, what in found.items():
        print(f"FAILED: {cell}\n  " + "\n  ".join(what))
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    on_hosts(SET, len(HOSTS), main)

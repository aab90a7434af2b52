# SPDX-License-Identifier: BSD-3-Clause
"""A row of weftrun_faults_table.py at a moment: how it is run, and what is not as promised."""
import re
import time

from weftrun_common import WATCHDOG
from weftrun_faults_driver import MOMENTS, VICTIM, EndedEarly, Job, describe_command
from weftrun_faults_faults import FAULTS, FROM_THE_START

SAYING = {"launch": 2, "end": 3}  # how many processes say that the moment is there


def bound_of(row):
    """Seconds; the rows that wait for a setting set it to 5 at most."""
    return row.bound if isinstance(row.bound, int) else 25


def words_of(row, moment):
    words = [word for word in MOMENTS[moment] if word != "try" or not row.leaves]
    if row.victim:
        at = words.index("hold")
        words[at:at + 1] = row.victim
    return words


def complaints(row, job, ranks, outcome, limit=0):
    """What is not as the row has it. limit: seconds of --timeout."""
    if outcome.status is None:
        return [f"has not ended within {bound_of(row)} s"]
    found = []
    if outcome.status not in (row.status if isinstance(row.status, tuple) else (row.status,)):
        found.append(f"status {outcome.status}, not {row.status}")
    names = {"node": re.escape(job.shape.node_of_victim), "pid": ranks.get(VICTIM, ""), "limit": limit}
    lines = outcome.lines()
    words = row.words if outcome.status != 0 else ()
    if len(lines) != len(words):
        found.append(f"{len(lines)} lines of weftrun, not {len(words)}")
    for line, word in zip(lines, words):
        if not re.search(re.sub(r"\{(node|pid|limit)\}", lambda match: str(names[match[1]]), word), line):
            found.append(f"no '{word}' in the line")
    # A server of a busy machine says that its loop was held up.
    said = [line for line in outcome.err.splitlines() if b"loop was held up" not in line]
    if row.succeeds and (said or b"ERR" in outcome.out):
        found.append("not every call succeeded, or there was a word about it")
    if row.aborted:
        told = sorted(line for line in outcome.out.decode().splitlines() if "ERR" in line)
        if told != [f"{rank} PMIX_ERR_PROC_ABORTED" for rank in row.aborted]:
            found.append(f"errors of ranks: {told}")
    return found


def run_cell(row, moment, shape):
    """Complaints, empty where all is as promised."""
    limit = row.limit
    while True:
        try:
            return run_with(limit, row, moment, shape)
        except (EndedEarly, OSError):  # OSError: of a fault for a process that has gone
            if not 0 < limit < WATCHDOG:
                raise
            limit *= 4


def run_with(limit, row, moment, shape):
    """As run_cell(), with --timeout `limit` (0: without). EndedEarly: the fault came too late for it."""
    options = (*row.options, "--timeout", str(limit)) if limit else row.options
    with Job(shape, words_of(row, moment), options, row.env, row.prefix, row.ranks, row.do != "read late") as job:
        # From the start on: there is no moment to wait for.
        ranks = job.reach(moment, SAYING.get(moment, 1)) if row.do not in FROM_THE_START else {}
        FAULTS[row.do](job, ranks, moment)
        if 0 < limit <= time.monotonic() - job.begin:
            raise EndedEarly(f"'{row.do}' has taken longer than --timeout {limit}")
        outcome = job.finish(bound_of(row) + limit - row.limit)
        found = complaints(row, job, ranks, outcome, limit)
        if job.thaw is not None:
            job.thaw()
        found += [f"left behind: {what}" for what in job.left()]
        return found + details(job, outcome) if found else []


def details(job, outcome):
    """What to show with complaints."""
    return [f"{outcome.seconds:.1f} s; out {outcome.out.decode(errors='replace')}", outcome.err.decode(errors="replace"),
            describe_command(job)]

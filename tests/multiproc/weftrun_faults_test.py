# SPDX-License-Identifier: BSD-3-Clause
"""The rows of one group of weftrun_faults_table.py, run: python3 weftrun_faults_test.py GROUP [PART-OF-A-NAME].

Each cell is a job that has reached a moment, a fault, and what is promised: status, line, end within the bound, and that
nothing is left. Several run at a time: most of a cell is waiting.
"""
import concurrent.futures
import re
import sys
import time

from weftrun_faults_driver import MOMENTS, VICTIM, Job, describe_command
from weftrun_faults_faults import FAULTS, why_not
from weftrun_faults_table import ROWS

AT_A_TIME = 6
WATCHDOG = 40  # seconds, more than any bound: what takes so long hangs
SAYING = {"launch": 2, "end": 3}  # how many processes say that the moment is there


def words_of(row, moment):
    words = list(MOMENTS[moment])
    if row.victim:
        at = words.index("hold")
        words[at:at + 1] = row.victim
    return words


def complaints(row, job, ranks, outcome):
    """What is not as the row has it."""
    if outcome.status is None:
        return [f"has not ended within {WATCHDOG} s"]
    found = []
    if outcome.status != row.status:
        found.append(f"status {outcome.status}, not {row.status}")
    names = {"node": re.escape(job.shape.node_of_victim), "pid": ranks.get(VICTIM, "")}
    lines = outcome.lines()
    if len(lines) != len(row.words):
        found.append(f"{len(lines)} lines of weftrun, not {len(row.words)}")
    for line, word in zip(lines, row.words):
        if not re.search(re.sub(r"\{(node|pid)\}", lambda match: str(names[match[1]]), word), line):
            found.append(f"no '{word}' in the line")
    if row.succeeds and (outcome.err or b"ERR" in outcome.out):
        found.append("not every call succeeded, or there was a word about it")
    if row.aborted:
        told = sorted(line for line in outcome.out.decode().splitlines() if "ERR" in line)
        if told != [f"{rank} PMIX_ERR_PROC_ABORTED" for rank in row.aborted]:
            found.append(f"errors of ranks: {told}")
    return found


def run_cell(row, moment, shape):
    """Complaints, empty where all is as promised."""
    with Job(shape, words_of(row, moment), row.options, row.env) as job:
        ranks = job.reach(moment, SAYING.get(moment, 1))
        FAULTS[row.do](job, ranks, moment)
        outcome = job.finish(WATCHDOG)
        found = complaints(row, job, ranks, outcome)
        if job.thaw is not None:
            job.thaw()
        left = job.left()
        if left:
            found.append(f"left behind: {left}")
        if found:
            found.append(f"{outcome.seconds:.1f} s; out {outcome.out.decode(errors='replace')}\n"
                         f"{outcome.err.decode(errors='replace')}\n{describe_command(job)}")
        return found


def attempt(cell):
    try:
        return run_cell(*cell)
    except Exception as error:  # pylint: disable=broad-except  # of one cell; the others go on
        return [repr(error)]


def main():
    group, part = sys.argv[1], "".join(sys.argv[2:])
    cells = []
    for row in ROWS:
        if row.group != group or part not in row.do:
            continue
        if reason := why_not(row.do):
            print(f"skipped: {row.fault}: {reason}")
            continue
        cells += [(row, moment, shape) for moment in row.moments for shape in row.shapes]
    failed, begin = 0, time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(AT_A_TIME) as pool:
        for (row, moment, shape), found in zip(cells, pool.map(attempt, cells)):
            if found:
                failed += 1
                print(f"FAILED: {row.do} | {moment} | {shape}\n  " + "\n  ".join(found), flush=True)
    print(f"{len(cells) - failed} of {len(cells)} cells of '{group}' as promised, {time.monotonic() - begin:.0f} s")
    sys.exit(1 if failed or not cells else 0)


if __name__ == "__main__":
    main()

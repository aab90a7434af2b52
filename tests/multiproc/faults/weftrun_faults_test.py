# SPDX-License-Identifier: BSD-3-Clause
"""The rows of one group of weftrun_faults_table.py, run.

  python3 weftrun_faults_test.py GROUP [PART-OF-A-NAME]

Each cell is a job that has reached a moment, a fault, and what is promised: status, line, end within the
bound, and that nothing is left. Several run at a time: most of a cell is waiting.
"""
import concurrent.futures
import os
import sys
import time

from weftrun_faults_cells import run_cell
from weftrun_faults_faults import why_not
from weftrun_faults_table import ROWS

AT_A_TIME = 6


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
        reason = "mounting a file system needs root" if "unshare" in row.prefix and os.geteuid() != 0 else why_not(row.do)
        if reason:
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

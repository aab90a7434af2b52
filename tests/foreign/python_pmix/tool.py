# SPDX-License-Identifier: BSD-3-Clause
"""A tool by Python's module pmix: tool.py PID FILE attaches to the weftrun of that process id, looks at its
job of two ranks, has a job of its own started and ended, and reads what the ranks print when the file is
there. Prints "ok tool".

The module keeps Python's lock while a call waits, which its handlers need: no output may come in a call, and
no handler may be under way when one begins.
"""
import pathlib
import sys
import time
import warnings

warnings.simplefilter("ignore")  # of the module itself
from pmix import *


def check(got, wanted, what):
    if got != wanted:
        sys.exit(f"tool.py: {what}: got {got}, wanted {wanted}")


def info(key, value, kind):
    return {"key": key, "flags": 0, "value": value, "val_type": kind}


def answer(tool, key, *qualifiers):
    status, results = tool.query([{"keys": [key], "qualifiers": list(qualifiers)}])
    check(status, 0, f"query of {key}")
    return results[0]["value"]


def main():
    sys.setswitchinterval(1e6)  # seconds: a handler that has Python's lock keeps it until it has returned
    tool = PMIxTool()
    status, _ = tool.init([info(PMIX_SERVER_PIDINFO, int(sys.argv[1]), PMIX_PID)])
    check(status, 0, "init")
    nspace = answer(tool, PMIX_QUERY_NAMESPACES)
    job = {"nspace": nspace, "rank": PMIX_RANK_WILDCARD}
    check(tool.get(job, PMIX_JOB_SIZE, []), (0, {"value": 2, "val_type": PMIX_UINT32}), "job size")
    table = answer(tool, PMIX_QUERY_PROC_TABLE, info(PMIX_NSPACE, nspace, PMIX_STRING))["array"]
    check([one["proc"]["rank"] for one in table], [0, 1], "process table")
    check(tool.get_servers()[0], 0, "get_servers")

    status, child = tool.spawn([], [{"cmd": "sleep", "argv": ["sleep", "600"], "maxprocs": 1, "env": [], "info": []}])
    check((status, child != nspace), (0, True), "spawn")
    children = {"nspace": child, "rank": PMIX_RANK_WILDCARD}
    check(tool.job_control([children], [info(PMIX_JOB_CTRL_TERMINATE, True, PMIX_BOOL)])[0], 0, "job_control")

    came = []
    check(tool.iof_pull([job], PMIX_FWD_STDOUT_CHANNEL, [], lambda *words: came.append(words))[0], 0, "iof_pull")
    pathlib.Path(sys.argv[2]).touch()
    while len(came) < 2:  # a line of each rank; the test has a limit
        time.sleep(0.01)
    check(tool.finalize(), 0, "finalize")
    print("ok tool", flush=True)


main()

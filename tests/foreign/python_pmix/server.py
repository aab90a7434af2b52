# SPDX-License-Identifier: BSD-3-Clause
"""A host by Python's module pmix: server.py PYTHON CLIENT RANKS starts clients and serves them. Prints "ok
server RANKS"."""
import os
import subprocess
import sys
import warnings

warnings.simplefilter("ignore")  # of the module itself
from pmix import *

PYTHON, CLIENT, RANKS = sys.argv[1], sys.argv[2], int(sys.argv[3])
DONE = (0, PMIX_OPERATION_SUCCEEDED)
NSPACE = "job-of-python"


def check(got, wanted, what):
    if got != wanted:
        sys.exit(f"server.py: {what}: got {got}, wanted {wanted}")


def number(key, value):
    return {"key": key, "flags": 0, "value": value, "val_type": PMIX_UINT32}


def job_info(server):
    nodes, procs = server.generate_regex(["localhost"]), server.generate_ppn([",".join(map(str, range(RANKS)))])
    check((nodes[0], procs[0]), (0, 0), "maps")
    return [{"key": PMIX_NODE_MAP, "flags": 0, "value": nodes[1], "val_type": PMIX_REGEX},
            {"key": PMIX_PROC_MAP, "flags": 0, "value": procs[1], "val_type": PMIX_REGEX},
            *(number(key, RANKS) for key in (PMIX_UNIV_SIZE, PMIX_JOB_SIZE, PMIX_LOCAL_SIZE, PMIX_MAX_PROCS))]


def start(server, rank):
    proc = {"nspace": NSPACE, "rank": rank}
    environment = dict(os.environ)
    check(server.register_client(proc, os.getuid(), os.getgid()) in DONE, True, "register_client")
    check(server.setup_fork(proc, environment), 0, "setup_fork")
    return subprocess.Popen([PYTHON, CLIENT, str(RANKS)], env=environment)


def main():
    seen = {"connected": set(), "finalized": set()}

    def upcall(what):
        def of_proc(proc, *_):
            seen[what].add(proc["rank"])
            return PMIX_OPERATION_SUCCEEDED
        return of_proc

    server = PMIxServer()
    named = [{"key": PMIX_SERVER_NSPACE, "flags": 0, "value": "host-in-python", "val_type": PMIX_STRING},
             {"key": PMIX_SERVER_RANK, "flags": 0, "value": 0, "val_type": PMIX_PROC_RANK}]
    check(server.init(named, {"clientconnected": upcall("connected"), "clientfinalized": upcall("finalized")}), 0, "init")
    check(server.register_nspace(NSPACE, RANKS, job_info(server)) in DONE, True, "register_nspace")
    clients = [start(server, rank) for rank in range(RANKS)]
    check([client.wait() for client in clients], [0] * RANKS, "statuses of the clients")
    everyone = set(range(RANKS))
    check(seen, {"connected": everyone, "finalized": everyone}, "upcalls")
    server.deregister_nspace(NSPACE)
    check(server.finalize(), 0, "finalize")
    print(f"ok server {RANKS}", flush=True)


main()

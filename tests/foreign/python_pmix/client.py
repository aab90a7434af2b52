# SPDX-License-Identifier: BSD-3-Clause
"""A client by Python's module pmix: client.py RANKS [calls of a host...]. With the word "host" it makes the
calls that a host has to serve, too. Rank 0 prints "ok client RANKS"."""
import sys
import threading
import warnings

warnings.simplefilter("ignore")  # of the module itself
from pmix import *

RANKS, WITH_HOST = int(sys.argv[1]), "host" in sys.argv[2:]
EVENT = PMIX_EXTERNAL_ERR_BASE - 7


def check(got, wanted, what):
    if got != wanted:
        sys.exit(f"client.py: {what}: got {got}, wanted {wanted}")


def info(key, value, kind):
    return {"key": key, "flags": 0, "value": value, "val_type": kind}


def puts_are_read(client, me, job):
    check(client.put(PMIX_GLOBAL, "number", {"value": 10 * me["rank"], "val_type": PMIX_UINT32}), 0, "put")
    check(client.put(PMIX_GLOBAL, "text", {"value": f"of {me['rank']}", "val_type": PMIX_STRING}), 0, "put")
    check(client.commit(), 0, "commit")
    check(client.fence([job], [info(PMIX_COLLECT_DATA, True, PMIX_BOOL)]), 0, "fence")
    for rank in range(RANKS):
        peer = {"nspace": me["nspace"], "rank": rank}
        check(client.get(peer, "number", []), (0, {"value": 10 * rank, "val_type": PMIX_UINT32}), "get")
        check(client.get(peer, "text", []), (0, {"value": f"of {rank}", "val_type": PMIX_STRING}), "get")
    check(client.get(job, "missing", [info(PMIX_OPTIONAL, True, PMIX_BOOL)])[0], PMIX_ERR_NOT_FOUND, "get of no key")


def names_are_found(client, me, job):
    own = f"name.{me['rank']}"
    check(client.publish([info(own, f"port.{me['rank']}", PMIX_STRING)]), 0, "publish")
    check(client.fence([job], []), 0, "fence")
    for rank in range(RANKS):
        status, found = client.lookup([{"key": f"name.{rank}", "proc": me}], [])
        check(status, 0, "lookup")
        check([(one["value"], one["proc"]["rank"]) for one in found if "value" in one], [(f"port.{rank}", rank)], "lookup")
    check(client.fence([job], []), 0, "fence")
    check(client.unpublish([own], []), 0, "unpublish")
    check(client.lookup([{"key": own, "proc": me}], [])[0], PMIX_ERR_NOT_FOUND, "lookup after unpublish")


def groups_are_made(client, me, job):
    status, results = client.group_construct("all", [job], [info(PMIX_GROUP_ASSIGN_CONTEXT_ID, True, PMIX_BOOL)])
    check(status, 0, "group_construct")
    check(PMIX_GROUP_CONTEXT_ID.decode() in [one["key"] for one in results], True, "context id")
    check(client.group_destruct("all", []), 0, "group_destruct")


def a_job_is_known(client, me, job):
    status, results = client.query([{"keys": [PMIX_QUERY_NAMESPACES], "qualifiers": []}])
    check((status, [one["value"] for one in results]), (0, [me["nspace"]]), "query")
    check(client.resolve_nodes(me["nspace"])[0], 0, "resolve_nodes")
    check(client.get_credential([])[0], 0, "get_credential")
    line = f"logged by {me['rank']}\n"
    check(client.log([info(PMIX_LOG_STDOUT, line, PMIX_STRING)], []), 0, "log")


def events_arrive(client, me, job):
    """Its own alone: the module keeps Python's lock while a call waits, which a handler needs."""
    came = threading.Event()

    def handler(*words):
        if EVENT in words:
            came.set()
        return PMIX_EVENT_ACTION_COMPLETE, []

    check(client.register_event_handler([EVENT], [], handler)[0], 0, "register_event_handler")
    check(client.notify_event(EVENT, me, PMIX_RANGE_PROC_LOCAL, []) in (0, PMIX_OPERATION_SUCCEEDED), True, "notify_event")
    came.wait()  # the test has a limit


def main():
    sys.setswitchinterval(1e6)  # seconds: a handler that has Python's lock keeps it until it has returned
    client = PMIxClient()
    status, me = client.init([info(PMIX_PROGRAMMING_MODEL, "test", PMIX_STRING)])
    check(status, 0, "init")
    job = {"nspace": me["nspace"], "rank": PMIX_RANK_WILDCARD}
    check(client.get(job, PMIX_JOB_SIZE, []), (0, {"value": RANKS, "val_type": PMIX_UINT32}), "job size")
    puts_are_read(client, me, job)
    if WITH_HOST:
        for part in (names_are_found, groups_are_made, a_job_is_known, events_arrive):
            part(client, me, job)
    check(client.finalize([]), 0, "finalize")
    if me["rank"] == 0:
        print(f"ok client {RANKS}", flush=True)


main()

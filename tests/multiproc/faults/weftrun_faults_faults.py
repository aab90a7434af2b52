# SPDX-License-Identifier: BSD-3-Clause
"""What can happen to a job: each fault is a function of a job that has reached a moment."""
import contextlib
import os
import resource
import signal

from weftrun_common import name_of, wait_until
from weftrun_faults_driver import AFTER_INIT, VICTIM, process_state

FREEZER = "/sys/fs/cgroup/freezer"
MEMORY = "/sys/fs/cgroup/memory"
# Faults that weftrun is started with.
FROM_THE_START = ("from the start", "few descriptors")


def server_of_victim(job, ranks, moment):
    """The process that serves the victim; while daemons start, the daemon that is there."""
    if moment != "launch":
        return job.server_of(ranks[VICTIM])
    daemon = job.daemons(1)[0]
    job.guard_of(daemon)
    return daemon


def the_rank(_, ranks, __):
    return ranks[VICTIM]


def the_launcher(job, _, __):
    return job.process.pid


def the_guard(job, ranks, moment):
    return job.guard_of(server_of_victim(job, ranks, moment))


def killed(target):
    return lambda job, ranks, moment: os.kill(target(job, ranks, moment), signal.SIGKILL)


def stop(pid):
    os.kill(pid, signal.SIGSTOP)
    wait_until(lambda: process_state(pid) in "TXZ", f"the stop of {pid}")


def stopped(target):
    return lambda job, ranks, moment: stop(target(job, ranks, moment))


def stopped_for_a_while(target):
    """The others get on meanwhile, as far as they can."""
    def fault(job, ranks, moment):
        pid = target(job, ranks, moment)
        stop(pid)
        job.release()
        others = [other for rank, other in ranks.items() if rank >= 0 and other != pid]
        wait_until(lambda: all(process_state(other) in "SXZTD" for other in others), "the others at rest")
        os.kill(pid, signal.SIGCONT)
    return fault


def stopped_until_the_others_are_gone(job, ranks, moment):
    """The launcher; what its daemons have started ends without it. Agents that wait are its own."""
    stop(job.process.pid)
    names = ("sh",) if moment == "launch" else ()
    wait_until(lambda: all(pid == job.process.pid or name_of(pid) in names for pid in job.marked()),
               "the end of all but the launcher")
    os.kill(job.process.pid, signal.SIGCONT)


def make_cgroup(job, root):
    path = os.path.join(root, "weft-fault-" + str(job.process.pid))
    os.mkdir(path)

    def remove():
        with contextlib.suppress(OSError), open(os.path.join(path, "tasks"), encoding="ascii") as tasks:
            for pid in tasks.read().split():
                with contextlib.suppress(OSError):
                    os.kill(int(pid), signal.SIGKILL)
        wait_until(lambda: try_rmdir(path), f"the end of {path}")
    job.cleanups.append(remove)
    return path


def try_rmdir(path):
    with contextlib.suppress(OSError):
        os.rmdir(path)
        return True
    return False


def write_to(path, text):
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


def freeze(job, ranks, _):
    """By the cgroup freezer: unlike a stopped process, a frozen one is ended by no signal."""
    path = make_cgroup(job, FREEZER)
    job.thaw = lambda: write_to(os.path.join(path, "freezer.state"), "THAWED")
    job.cleanups.append(job.thaw)
    write_to(os.path.join(path, "tasks"), str(ranks[VICTIM]))
    write_to(os.path.join(path, "freezer.state"), "FROZEN")

    def is_frozen():
        with open(os.path.join(path, "freezer.state"), encoding="ascii") as state:
            return state.read().strip() == "FROZEN"
    wait_until(is_frozen, "a frozen rank")


def limit_memory(job, ranks, _):
    """Of the victim, which then takes more."""
    path = make_cgroup(job, MEMORY)
    write_to(os.path.join(path, "memory.limit_in_bytes"), str(64 << 20))
    write_to(os.path.join(path, "tasks"), str(ranks[VICTIM]))
    job.release()


def no_more_descriptors(target):
    """What the process has open stays so."""
    def fault(job, ranks, moment):
        if moment in AFTER_INIT:
            job.reach("let_in", 4)
        pid = target(job, ranks, moment)
        first_unused = max(map(int, os.listdir(f"/proc/{pid}/fd"))) + 1
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (first_unused, first_unused))
        job.release()
    return fault


def read_late(job, ranks, _):
    """The victim has written more than pipes hold."""
    wait_until(lambda: process_state(ranks[VICTIM]) == "S", "a rank that waits for a reader")
    job.release()
    job.read()


def then_go_on(fault):
    def both(job, ranks, moment):
        fault(job, ranks, moment)
        job.release()
    return both


FAULTS = {
    "kill rank": killed(the_rank),
    "kill rank and go on": then_go_on(killed(the_rank)),
    "kill daemon": killed(server_of_victim),
    "kill daemon and go on": then_go_on(killed(server_of_victim)),
    "kill guard": then_go_on(killed(the_guard)),
    "kill launcher": killed(the_launcher),
    "stop rank": stopped(the_rank),
    "stop rank for a while": stopped_for_a_while(the_rank),
    "stop daemon": stopped(server_of_victim),
    "stop daemon and go on": then_go_on(stopped(server_of_victim)),
    "stop daemon for a while": stopped_for_a_while(server_of_victim),
    "stop launcher for a while": stopped_for_a_while(the_launcher),
    "stop launcher until the others are gone": stopped_until_the_others_are_gone,
    "freeze rank": freeze,
    "limit memory": limit_memory,
    "let go": lambda job, *_: job.release(),
    **{name: lambda *_: None for name in FROM_THE_START},
    "no more descriptors": no_more_descriptors(server_of_victim),
    "read late": read_late,
}


def why_not(name):
    """Why the fault cannot be had here; empty if it can."""
    if name in ("no more descriptors", "few descriptors") and os.environ.get("WEFT_TEST_SANITIZE"):
        return "UBSan reads objects through a pipe, and takes one for wrong when it cannot open it"
    for fault, root, what in (("freeze rank", FREEZER, "a cgroup v1 freezer (one of v2 lets SIGKILL through)"),
                              ("limit memory", MEMORY, "cgroup v1 limits of memory")):
        if name == fault and not os.access(os.path.join(root, "tasks"), os.W_OK):
            return f"there is no {what}, or it is not root's test"
    return ""

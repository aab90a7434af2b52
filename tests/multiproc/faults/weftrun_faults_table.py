# SPDX-License-Identifier: BSD-3-Clause
"""What each fault at each moment comes to: the rows of docs/faults.md, most of which weftrun_faults_test.py
runs.

  weftrun_faults_table.py            prints the table
  weftrun_faults_table.py --check    compares it with docs/faults.md
"""
import dataclasses
import pathlib
import sys

PAGE = pathlib.Path(__file__).resolve().parents[3] / "docs" / "faults.md"
BEGIN = "<!-- table: made by tests/multiproc/faults/weftrun_faults_table.py -->\n"
END = "<!-- end -->\n"

RUNNING = ("before Init", "in Init", "put and commit", "fence", "direct modex", "finalize")
GROUPS = ("construct", "connect")  # of the whole job
ALL = (*RUNNING, "launch", "end")
VIRTUAL = ("virtual", "tcp")
EVERYWHERE = ("one node", *VIRTUAL)
SHORT = (("WEFT_LOST_AFTER", "2"),)
SHORT_LAUNCH = (*SHORT, ("WEFT_LAUNCH_TIMEOUT", "3"))


@dataclasses.dataclass(frozen=True)
class Row:
    """A promise for one fault at some moments."""
    fault: str            # as the page calls it
    moments: tuple
    status: object        # weftrun's, or some; negative: the signal that ends it; "" where there is no job
    line: str             # what weftrun's one line names, for the page
    others: str           # what the other ranks get, for the page
    bound: object         # seconds until nothing is left: of a hang, no claim of speed
    test: str = ""        # another test that has it
    # For a row that weftrun_faults_test.py runs:
    group: str = ""
    do: str = ""          # a name of weftrun_faults_faults.FAULTS
    shapes: tuple = ()
    # Regular expressions of the lines of weftrun, one each; (), and where the status is 0: it says nothing.
    words: tuple = ()
    options: tuple = ()
    # Seconds of --timeout; the test gives more to a machine on which the job is not there by then.
    limit: int = 0
    env: tuple = ()
    prefix: tuple = ()    # words before weftrun
    ranks: int = 4
    victim: tuple = ()    # words of the client in the place of the victim's "hold"
    succeeds: bool = False  # every call of every rank does
    leaves: bool = False  # a rank exits when a call of it fails
    # Ranks that are told PMIX_ERR_PROC_ABORTED, once each; no rank is told another error.
    aborted: tuple = ()

    def tests(self):
        return f"`multiproc.weftrun.faults.{self.group}`" if self.group else self.test


LATE = r"rank 0 on .* exited with status 3"  # before the fault at the moment "end"
DIED = r"rank 3 on {node} \(pid {pid}, .*was killed by signal 9 \(SIGKILL\); the job was ended"
LOST = r"node {node} is lost: .*; the job was ended"
TERM = "SIGTERM, and SIGKILL 2 s later"
ERRORS = "calls that need what is gone fail; " + TERM
RANK_GOES = {"options": ("--on-failure", "continue"),
             "words": (r"rank 3 on {node} .*signal 9 .*the others go on", "exit status 137 is that of rank 3")}
NODE_GOES = {"options": ("--on-failure", "continue"),
             "words": (r"node {node} is lost: .*ranks 2-3 ended with it, the others go on", "exit status 125 is that of node {node}")}
# A daemon of which weftrun has not heard yet can be slow as well as lost.
BEFORE_IT_REPORTS = "`WEFT_LAUNCH_TIMEOUT` + 15; once the daemon has reported, `WEFT_LOST_AFTER` + 15 if that is shorter"
STAYS = "the rank that had failed before"


def ends_late(fault, do, group, bound=15, **more):
    """At the end of a job that ends with status 3 anyway, a fault changes nothing."""
    return Row(fault, ("end",), 3, STAYS, "have got SIGTERM before", bound, group=group, do=do,
               shapes=more.pop("shapes", EVERYWHERE), words=(LATE,), **more)


KILLED = [
    Row("rank killed", RUNNING, 137, "rank, host, pid, signal", ERRORS, 15, group="killed", do="kill rank", shapes=EVERYWHERE,
        words=(DIED,)),
    Row("rank killed; ranks leave when a call fails", ("fence", "direct modex", *GROUPS), 137, "the same, and not a rank that has left",
        "leave with a status of their own", 15, group="killed", do="kill rank", shapes=EVERYWHERE, words=(DIED,), leaves=True),
    Row("rank killed, `--on-failure continue`", (*RUNNING[:3], "direct modex"), 137, "the same; a last line: whose status it is",
        "the fence with it is `PMIX_ERR_PROC_ABORTED`; all else succeeds", 15, group="killed", do="kill rank and go on", shapes=VIRTUAL,
        aborted=(0, 1, 2), **RANK_GOES),
    Row("rank killed, `--on-failure continue`", ("fence", "finalize"), 137, "the same; a last line: whose status it is",
        "all succeeds: it had arrived", 15, group="killed", do="kill rank and go on", shapes=VIRTUAL, **RANK_GOES),
    Row("rank killed", ("launch",), "", "there are no ranks before all daemons have reported", "", ""),
    ends_late("rank killed", "kill rank", "killed"),
    Row("daemon killed", RUNNING, 125, "node; signal of the daemon, or what another node says of the loss",
        ERRORS + "; on its own node SIGKILL", 15, group="killed", do="kill daemon", shapes=VIRTUAL, words=(LOST,)),
    Row("daemon killed; ranks leave when a call fails", (*RUNNING, *GROUPS), 125, "the same, and not a rank", "leave with a status of their own", 15,
        group="killed", do="kill daemon", shapes=VIRTUAL, words=(LOST,), leaves=True),
    Row("daemon killed, `--on-failure continue`", (*RUNNING[:3], "direct modex"), 125, "node, its ranks; a last line: whose status it is",
        "the fence with them is `PMIX_ERR_PROC_ABORTED`; all else succeeds", 15, group="killed", do="kill daemon and go on",
        shapes=VIRTUAL, aborted=(0, 1), **NODE_GOES),
    Row("daemon killed, `--on-failure continue`", ("fence", "finalize"), 125, "node, its ranks; a last line: whose status it is",
        "the call succeeds, or is `PMIX_ERR_PROC_ABORTED`: all had arrived there", 15, group="killed", do="kill daemon and go on",
        shapes=VIRTUAL, **NODE_GOES),
    Row("daemon killed", ("launch",), 125, "node; signal of the daemon, or that its connection is gone", "were not started", 15, group="killed", do="kill daemon",
        shapes=("agents",), words=("no-such-host-0.*(killed by signal 9|its connection is gone)",)),
    ends_late("daemon killed", "kill daemon", "killed", shapes=VIRTUAL),
    Row("guard killed", RUNNING, 0, "-", "notice nothing", 15, group="killed", do="kill guard", shapes=EVERYWHERE, succeeds=True),
    Row("guard killed", ("launch",), 0, "-", "notice nothing", 15, group="killed", do="kill guard", shapes=("agents",), succeeds=True),
    ends_late("guard killed", "kill guard", "killed"),
    Row("launcher killed", RUNNING, -9, "-", "SIGKILL", 15, group="killed", do="kill launcher", shapes=EVERYWHERE),
    Row("launcher killed", ("launch",), -9, "-", "were not started", 15, group="killed", do="kill launcher", shapes=("agents",)),
    Row("launcher killed", ("end",), -9, STAYS, "SIGKILL", 15, group="killed", do="kill launcher", shapes=EVERYWHERE, words=(LATE,)),
]

STOPPED = [
    Row("SIGSTOP of a rank, then SIGCONT", RUNNING, 0, "-", "wait for it", 15, group="stopped", do="stop rank for a while",
        shapes=EVERYWHERE, succeeds=True),
    Row("SIGSTOP of a rank", RUNNING, 124, "`--timeout`: where ranks are, and how many still ran. Without a limit the job waits; `WEFT_STUCK_AFTER` names it",
        "wait for it; " + TERM, 15, group="stopped", do="stop rank", shapes=("one node", "virtual"), limit=3,
        words=("did not end within --timeout {limit} seconds: 4 of 4 ranks still ran",)),
    Row("SIGSTOP of a rank", ("launch",), "", "there are no ranks", "", ""),
    ends_late("SIGSTOP of a rank", "stop rank", "stopped"),
    Row("SIGSTOP of a daemon, shorter than `WEFT_LOST_AFTER`", RUNNING, 0, "-", "wait for it", 15, group="stopped",
        do="stop daemon for a while", shapes=VIRTUAL, succeeds=True),
    Row("SIGSTOP of a daemon, shorter than `WEFT_LOST_AFTER`", ("launch",), 0, "-", "are started later", 15, group="stopped",
        do="stop daemon for a while", shapes=("agents",), succeeds=True),
    Row("SIGSTOP of a daemon", RUNNING, 125, "node", ERRORS + ", on its own node with the daemon", "`WEFT_LOST_AFTER` + 15", group="stopped",
        do="stop daemon", shapes=VIRTUAL, env=SHORT, words=(LOST,)),
    Row("SIGSTOP of a daemon", ("launch",), 125, "node; that it is lost, or has not reported in time", "were not started", BEFORE_IT_REPORTS,
        group="stopped", do="stop daemon and go on", shapes=("agents",), env=SHORT_LAUNCH, words=("node no-such-host-0( is lost|: its daemon has not reported within)",)),
    Row("SIGSTOP of a daemon; ranks leave when a call fails", RUNNING, 125, "the same, and not a rank", "leave with a status of their own",
        "`WEFT_LOST_AFTER` + 15", group="stopped", do="stop daemon", shapes=VIRTUAL, env=SHORT, words=(LOST,), leaves=True),
    ends_late("SIGSTOP of a daemon", "stop daemon", "stopped", shapes=VIRTUAL, env=SHORT),
    Row("SIGSTOP of the launcher, shorter than `WEFT_LOST_AFTER`", RUNNING, 0, "-", "get on; on several nodes some calls wait", 15,
        group="stopped", do="stop launcher for a while", shapes=EVERYWHERE, succeeds=True),
    Row("SIGSTOP of the launcher, shorter than `WEFT_LOST_AFTER`", ("launch",), 0, "-", "are started later", 15, group="stopped",
        do="stop launcher for a while", shapes=("agents",), succeeds=True),
    Row("SIGSTOP of the launcher of several nodes", RUNNING, 125, "after SIGCONT: a node. Its daemons have ended what ran there meanwhile",
        "SIGKILL", "`WEFT_LOST_AFTER` + 15", group="stopped", do="stop launcher until the others are gone", shapes=VIRTUAL, env=SHORT,
        words=("node .* is lost",)),
    Row("SIGSTOP of the launcher of several nodes", ("launch",), 125, "after SIGCONT: a node. Agents that wait end with the launcher",
        "were not started", "`WEFT_LOST_AFTER` + 15", group="stopped", do="stop launcher until the others are gone", shapes=("agents",),
        env=SHORT_LAUNCH, words=("no-such-host-",)),
    Row("SIGSTOP of the launcher of several nodes", ("end",), 3, STAYS, "SIGKILL", "`WEFT_LOST_AFTER` + 15", group="stopped",
        do="stop launcher until the others are gone", shapes=VIRTUAL, env=SHORT, words=(LATE,)),
    Row("SIGSTOP of the launcher of one node", ALL, "", "its ranks run on; a server of its own thread stands still with it until SIGCONT", "", ""),
    Row("frozen rank (cgroup v1)", RUNNING, 125, "`--timeout` or the signal; then rank, pid: it is left behind, and ends when it is thawed",
        TERM, 30, group="stopped", do="freeze rank", shapes=("one node", "virtual"), limit=2,
        words=("did not end within --timeout {limit} seconds", r"left behind, because SIGKILL has not ended it: rank 3 \(pid {pid}\)")),
    Row("frozen rank (cgroup v1)", ("launch",), "", "there are no ranks", "", ""),
    Row("frozen rank (cgroup v1)", ("end",), 125, STAYS + "; then rank, pid: it is left behind", TERM, 30, group="stopped",
        do="freeze rank", shapes=("one node", "virtual"), words=(LATE, r"left behind, because SIGKILL has not ended it: rank 3 \(pid {pid}\)")),
]

NETWORK = [
    Row("network of a node gone for 2 s", RUNNING, 0, "-", "wait for it", 30, group="network", do="outage", succeeds=True),
    Row("network of a node gone for 2 s", ("launch",), 0, "-", "are started later", 30, group="network", do="outage", succeeds=True),
    Row("network of a node gone for 2 s", ("end",), 3, STAYS, "have got SIGTERM before", 30, group="network", do="outage", words=(LATE,)),
    Row("network of a node gone for ever", RUNNING, 125, "node", ERRORS + "; on the lost node SIGKILL, by its daemon",
        "`WEFT_LOST_AFTER` + 15", "", "network", "loss", words=(LOST,), env=(("WEFT_LOST_AFTER", "2"),)),
    Row("network of a node gone for ever", ("launch",), 125, "node, agent, that its daemon has lost weftrun; or that it has not reported in time",
        "were not started", BEFORE_IT_REPORTS, "", "network", "loss",
        words=(r"node '{node}': agent .*weftd: \[{node}\] weftrun on .* is lost: nothing was heard",), env=(("WEFT_LOST_AFTER", "2"),)),
    Row("network of a node gone for ever", ("end",), 3, STAYS, "SIGKILL, by the daemon of the lost node", "`WEFT_LOST_AFTER` + 15", "",
        "network", "loss", words=(LATE,), env=(("WEFT_LOST_AFTER", "2"),)),
]

OUTPUT_TESTS = "`multiproc.weftrun.output`"
FULL_SHM = ("unshare", "-m", "--propagation", "private", "sh", "-c",
            'mount -t tmpfs -o size=4k,nr_inodes=1 none /dev/shm && exec "$@"', "sh")
LIMITS = [
    Row("full card (`WEFT_CARD_BYTES`)", ("put and commit",), 0, "-", "`PMIx_Put` says `PMIX_ERR_OUT_OF_RESOURCE`; all else succeeds", 15,
        group="limits", do="let go", shapes=EVERYWHERE, victim=("put:0",), env=(("WEFT_CARD_BYTES", "3000000"),), succeeds=True),
    Row("full segment (`WEFT_SEGMENT_BYTES`)", ("launch",), 125, "the call of the library that failed", "were not started", 15, group="limits",
        do="from the start", shapes=("one node",), env=(("WEFT_SEGMENT_BYTES", "1048576"),), words=("PMIX_ERR_OUT_OF_RESOURCE; nothing was started",)),
    Row("full segment, full card", tuple(m for m in ALL if m not in ("put and commit", "launch")), "",
        "places are given out when the job starts, and only `PMIx_Put` takes of them", "", ""),
    Row("descriptor limit of the launcher", ("launch",), 125, "pipes, `ulimit -n`", "are ended", 15, group="limits", do="few descriptors",
        shapes=("one node", "virtual"), prefix=("prlimit", "--nofile=24:24"), ranks=16, words=("cannot make the pipes for the ranks.*ulimit -n",)),
    Row("descriptor limit of a rank", RUNNING, "the rank's", "", "`PMIx_Init` fails, with a line", "", "`multiproc.LimitTest.a_client_without_descriptors`"),
    Row("descriptor limit of a server", ("before Init", "in Init"), (0, 99, 124),
        "the rank that the server refused after 2 s, and what that rank did; or `--timeout`", "`PMIx_Init` waits for a free descriptor or fails, with a line; "
        "those that are connected get on, or are ended", 15, group="limits", do="no more descriptors", shapes=EVERYWHERE, limit=5,
        words=("exited with status 99|did not end within --timeout {limit} seconds",)),
    Row("descriptor limit of a server", tuple(m for m in RUNNING if m not in ("before Init", "in Init")), (0, 124), "`--timeout`, where the job does not get on; a server without a descriptor for a client says so",
        "on one node those that are connected notice nothing, one that connects waits for a free descriptor or is refused; between nodes what is "
        "open goes on, and a call that needs a new connection waits for a descriptor; after `WEFT_LOST_AFTER` that node is lost", 15, group="limits", do="no more descriptors", shapes=EVERYWHERE,
        limit=5, words=("did not end within --timeout {limit} seconds",)),
    Row("descriptor limit of a server", ("launch",), (0, 125), "node; what the server says", "were not started, or get on", "`WEFT_LAUNCH_TIMEOUT` + 15",
        group="limits", do="no more descriptors", shapes=("agents",), env=(("WEFT_LAUNCH_TIMEOUT", "5"),), words=("no-such-host-",)),
    ends_late("descriptor limit of a server", "no more descriptors", "limits", shapes=("one node", "virtual")),
    Row("memory limit of a rank (cgroup)", ("before Init", "put and commit"), 137, "as a killed rank, and what to do about memory", ERRORS, 30,
        group="limits", do="limit memory", shapes=EVERYWHERE, victim=("hold", "eat"), words=(DIED + ".*ran out of memory",)),
    Row("memory limit of a rank (cgroup)", ("in Init", "fence", "direct modex", "finalize", "launch", "end"), 137,
        "as a killed rank: when memory is taken is the kernel's matter", "as there", "as there", "rank killed: `multiproc.weftrun.faults.killed`"),
    Row("little address space of a server", ALL, 0, "-", "notice nothing", "", "`multiproc.LimitTest.a_server_with_little_address_space`"),
    Row("full disk under `--output-dir` or standard output", ALL, 125, "what cannot be written", TERM, 15, OUTPUT_TESTS),
    Row("full /dev/shm", ("launch",), 125, "the folder, /dev/shm", "were not started", 15, group="limits", do="from the start", shapes=("virtual",),
        prefix=FULL_SHM, words=("cannot make .* for the shared memory of a virtual node.*/dev/shm",)),
    Row("full /dev/shm", RUNNING, 0, "-", "notice nothing: a job of one node has no file", 15, group="limits", do="let go", shapes=("one node",),
        prefix=FULL_SHM, succeeds=True),
    Row("no folder for temporary files (`TMPDIR`)", ("launch",), 0, "node, the folder", "do without `PMIX_TMPDIR` and its like: `PMIX_ERR_NOT_FOUND`", "",
        "`multiproc.weftrun.folders`"),
    Row("full or lost folder for temporary files", RUNNING, 0, "-", "a Get of `PMIX_TMPDIR` or its like is `PMIX_ERR_OUT_OF_RESOURCE`; all else succeeds", "",
        "`multiproc.weftrun.folders`"),
    Row("unread output", ("before Init", "put and commit"), 0, "-", "wait in their calls for the rank that writes, until the output is read", 30, group="limits",
        do="read late", shapes=EVERYWHERE, victim=("write:4000000",)),
    Row("unread output", ("in Init", "fence", "direct modex", "finalize", "launch"), "", "calls of the library write nothing", "", ""),
    Row("unread output", ("end",), 124, "`--timeout`; without a limit weftrun waits for the reader, a signal ends that", "have ended", 15,
        "`multiproc.weftrun.ends`"),
    Row("an agent that hangs", ("launch",), 124, "`--timeout`: that the job was still being started; without a limit the node, after `WEFT_LAUNCH_TIMEOUT`",
        "were not started", 15, group="limits", do="from the start", shapes=("agents",), limit=2,
        words=("did not end within --timeout {limit} seconds: it was still being started",)),
    Row("a file system that hangs", ALL, "", "held up is only what is done there", "", "", "`multiproc.SlowFilesTest`"),
]

ROWS = [*KILLED, *NETWORK, *LIMITS, *STOPPED]


def markdown():
    lines = ["| fault | moment | exit status | the line names | the other ranks | seconds | test |", "|---|---|---|---|---|---|---|"]
    for row in ROWS:
        moments = "all" if row.moments == ALL else "while ranks run" if row.moments == RUNNING else ", ".join(row.moments)
        statuses = row.status if isinstance(row.status, tuple) else (row.status,)
        status = " or ".join(f"signal {-one}" if isinstance(one, int) and one < 0 else str(one) for one in statuses)
        lines.append(f"| {row.fault} | {moments} | {status} | {row.line} | {row.others} | {row.bound} | {row.tests()} |")
    return "\n".join(lines) + "\n"


def main():
    if sys.argv[1:] != ["--check"]:
        print(markdown(), end="")
        return
    page = PAGE.read_text(encoding="utf-8")
    if page.split(BEGIN)[1].split(END)[0].strip() != markdown().strip():
        sys.exit(f"the table of {PAGE.name} is another than that of {pathlib.Path(__file__).name}, which prints it")


if __name__ == "__main__":
    main()

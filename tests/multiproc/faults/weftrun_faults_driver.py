# SPDX-License-Identifier: BSD-3-Clause
"""Jobs that a fault meets at a moment: shapes, moments, faults, and what a job leaves behind.

A moment is reached without a clock: ranks say on a FIFO that they are there, and hold until the driver lets
them go on (weftrun_client.c). A fault is a function of a running job.
"""
import contextlib
import dataclasses
import os
import re
import select
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import uuid

from weftrun_common import (CLIENT, WATCHDOG, WEFTRUN, lives, name_of, own_lines, parent, shared_memory,
                            shared_memory_of, wait_until, with_variable)

VICTIM = 3  # the rank, on the last node, that faults of a rank meet
TWO_NODES = ("--virtual-nodes", "2")


@dataclasses.dataclass(frozen=True)
class Shape:
    """Where a job of four ranks runs."""
    options: tuple
    env: tuple = ()
    node_of_victim: str = ""  # as lines name it
    way: str = ""  # a command that runs its words on {host}, for agents


HOST = os.uname().nodename
SHAPES = {
    "one node": Shape((), (), HOST),
    "virtual": Shape(TWO_NODES, (), HOST + "-v1"),
    "tcp": Shape(TWO_NODES, (("WEFT_TRANSPORT", "tcp"), ("WEFT_NET", "lo")), HOST + "-v1"),
    # A stand-in for ssh; see Job.agent().
    "agents": Shape(("--host", "no-such-host-0:2,no-such-host-1:2"), (("WEFT_NET", "lo"),), "no-such-host-1"),
}

# The words of the client, and which ranks say that the moment is there. Rank 0 holds the others up where a
# call has to last. Every rank says, too, that its PMIx_Init is over: a fault that would meet another rank's
# waits for that.
_INIT = ["init", "reach:let_in"]
_DATA = ["put:1000", "commit"]
_REST = ["try", "collect", "try", "get:0", "try", "finalize"]
_HELD = ["only:0", "hold", "all", f"only:{VICTIM}"]
MOMENTS = {
    "before Init": [f"only:{VICTIM}", "reach:before_Init", "hold", "all", "init", *_DATA, *_REST],
    "in Init": [f"only:{VICTIM}", "hold_connect", "all", "init", *_DATA, *_REST],
    "put and commit": [*_INIT, "put:1000", f"only:{VICTIM}", "reach:put", "hold", "all", "commit", *_REST],
    "fence": [*_INIT, *_DATA, *_HELD, "reach:fence", "all", *_REST],
    "direct modex": [*_INIT, *_HELD, "reach:modex", "all", *_DATA, "try", "get:0", "try", "collect", "try", "finalize"],
    "construct": [*_INIT, *_DATA, *_HELD, "reach:construct", "all", "try", "construct:g", "try", "finalize"],
    "connect": [*_INIT, *_DATA, *_HELD, "reach:connect", "all", "try", "connect", "try", "finalize"],
    "finalize": [*_INIT, *_DATA, "collect", "get:0", "reach:fenced", *_HELD, "reach:finalize", "all", "try", "finalize_barrier"],
    # While daemons start there are no ranks: an agent says it.
    "launch": ["init", *_DATA, *_REST],
    # Rank 0 fails, the others have got SIGTERM and stay; SIGKILL comes after 2 seconds.
    "end": ["init", "stubborn", "fence", "only:0", "exit:3", "all", "wait"],
}
IN_A_CALL = ("fence", "direct modex", "construct", "connect", "finalize")
AFTER_INIT = ("put and commit", *IN_A_CALL)


def process_state(pid):
    """The letter of ps; X if it has ended."""
    with contextlib.suppress(OSError), open(f"/proc/{pid}/stat", "rb") as stat:
        return stat.read().rsplit(b")", 1)[1].split()[0].decode()
    return "X"


def thread_states(pid):
    """A letter of ps for each; empty if the process has ended."""
    with contextlib.suppress(OSError):
        return "".join(process_state(f"{pid}/task/{thread}") for thread in os.listdir(f"/proc/{pid}/task"))
    return ""


def sockets():
    """Names of the sockets of servers: "@weft-PID-..."."""
    with open("/proc/net/unix", encoding="utf-8", errors="replace") as lines:
        return set(re.findall(r" (@weft-\d+-\S*)", lines.read()))


@dataclasses.dataclass
class Outcome:
    """How weftrun ended. status None: not within the bound; then `out` has what was still there."""
    status: int
    out: bytes
    err: bytes
    seconds: float

    def lines(self):
        """The lines about what has happened. Where ranks are, which --timeout says first, depends on the
        moment (multiproc.weftrun.stuck)."""
        return [line for line in own_lines(self.err) if "where ranks are" not in line]


class EndedEarly(AssertionError):
    """The job was over before the moment of its fault."""


class Reader(threading.Thread):
    """Reads a pipe to its end, so that no process waits for room in it."""

    def __init__(self, pipe):
        super().__init__(daemon=True)
        self.pipe, self.bytes = pipe, b""

    def run(self):
        while chunk := os.read(self.pipe.fileno(), 65536):
            self.bytes += chunk


class Job:
    """weftrun with four ranks, or as many as `options` say, of `words`; everything of it has a mark in its
    environment."""

    def __init__(self, shape, words, options=(), env=(), prefix=(), ranks=4, reads=True, holds=1):
        self.shape = SHAPES[shape] if isinstance(shape, str) else shape
        self.folder = tempfile.mkdtemp(prefix="weftrun-fault-")
        self.files = os.path.join(self.folder, "tmp")
        os.mkdir(self.files)
        for name in ("said", "go"):
            os.mkfifo(os.path.join(self.folder, name))
        self.said = os.open(os.path.join(self.folder, "said"), os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        self.heard = b""
        self.ranks = ranks
        self.holds = holds  # the node whose agent holds; -1: none
        self.mark = "WEFT_TEST_MARK=" + uuid.uuid4().hex
        self.env = {**os.environ, "TMPDIR": self.files, "WEFT_TEST_MOMENTS": self.folder,
                    "WEFT_TEST_MARK": self.mark.split("=")[1], "WEFT_STUCK_AFTER": "600", **dict(self.shape.env), **dict(env)}
        self.go = None
        self.thaw = None
        self.cleanups = []  # what a fault did to the machine, the last first
        self.pids = set()  # of all processes of the job that were seen
        agent = ["--agent", self.agent()] if "--host" in self.shape.options and "--agent" not in options else []
        self.words = [*prefix, WEFTRUN, *self.shape.options, *agent, *options, "-n", str(ranks), CLIENT, *words]
        self.memory_before, self.sockets_before = shared_memory(), sockets()
        self.begin = time.monotonic()
        self.process = subprocess.Popen(self.words, env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE)
        self.readers = []
        if reads:
            self.read()

    def read(self):
        """From here on the output of weftrun is read."""
        self.readers = [Reader(self.process.stdout), Reader(self.process.stderr)]
        for reader in self.readers:
            reader.start()

    def agent(self):
        """A stand-in for ssh that says when it is there, and starts the daemon of the last node when it is
        let go."""
        path = os.path.join(self.folder, "agent")
        with open(path, "w", encoding="ascii") as script:
            script.write(f"echo launch $1 $$ >{self.folder}/said\n"
                         f"test $1 != {self.holds} || : <{self.folder}/go\nshift\nexec \"$@\"\n")
        return f"sh {shlex.quote(path)} {{node}} {self.shape.way} {{command}}"

    # ---- moments

    def reach(self, moment, count=1, seconds=WATCHDOG):
        """Waits until so many processes have said so; returns {rank: pid}. AssertionError: not within that
        time; EndedEarly: weftrun has ended."""
        word = {"before Init": "before_Init", "in Init": "init", "put and commit": "put",
                "direct modex": "modex"}.get(moment, moment)
        end = time.monotonic() + seconds
        while True:
            found = {int(rank): int(pid) for name, rank, pid in (line.split() for line in self.heard.decode().splitlines())
                     if name == word}
            if len(found) >= count:
                break
            has_ended = self.process.poll() is not None
            if select.select([self.said], [], [], 0.02)[0]:
                self.heard += os.read(self.said, 65536)
            elif has_ended:
                raise EndedEarly(f"ended before '{moment}': {self.finish(1)}")
            elif time.monotonic() > end:
                raise AssertionError(f"has not come to '{moment}': {self.describe()}")
        self.pids.update(found.values(), [self.process.pid])
        if moment == "finalize":
            self.reach("fenced", self.ranks)  # a fault before that may meet the fence of another rank
        if moment in IN_A_CALL:
            wait_until(lambda: process_state(found[VICTIM]) in "SXZ", f"rank {VICTIM} asleep in a call")
        return found

    def release(self):
        """Lets all go on that hold, now or later."""
        if self.go is None:
            self.go = os.open(os.path.join(self.folder, "go"), os.O_RDWR | os.O_CLOEXEC)

    # ---- processes

    def marked(self):
        found = with_variable(self.mark)
        self.pids.update(found)
        return found

    def daemons(self, count):
        """Pids, once so many run and have their guard; in the order of their start."""
        found = []

        def are_there():
            all_of_them = [pid for pid in self.marked() if name_of(pid) == "weftd"]
            found[:] = sorted(pid for pid in all_of_them if parent(pid) not in all_of_them)
            return len(found) == count
        wait_until(are_there, f"{count} daemons")
        return found

    def server_of(self, rank_pid):
        """weftd, or weftrun where it serves the rank."""
        return parent(rank_pid)

    def guard_of(self, server):
        def found():
            return [pid for pid in self.marked() if parent(pid) == server and name_of(pid) == "weftrun-guard"]
        wait_until(found, f"the guard of {server}")
        return found()[0]

    def describe(self):
        """What still runs, for a complaint."""
        with contextlib.suppress(OSError):
            listed = subprocess.run(["ps", "-o", "pid,ppid,stat,wchan:20,args", "-p",
                                     ",".join(map(str, self.marked() or [1]))], text=True, capture_output=True, check=False)
            return listed.stdout + b"".join(reader.bytes for reader in self.readers).decode(errors="replace")
        return ""

    # ---- the end

    def finish(self, bound):
        """Waits for weftrun's end. `bound` counts the seconds in which the job was at rest: a hang is, and a
        job that gets on is not, however slow the machine. One that works on and on has the watchdog's time
        beside."""
        begin = seen = time.monotonic()
        rest = 0.0
        while True:
            try:
                status = self.process.wait(0.25)
                break
            except subprocess.TimeoutExpired:
                now = time.monotonic()
                rest += now - seen if self.is_at_rest() else 0.0
                seen = now
                if rest > bound or now - begin > bound + WATCHDOG:
                    return Outcome(None, self.describe().encode(), b"", now - begin)
        taken = time.monotonic() - begin
        for reader in self.readers:
            reader.join(max(1.0, bound - rest))
        out, err = (reader.bytes for reader in self.readers)
        return Outcome(status, out, err, taken)

    def is_at_rest(self):
        """Whether no thread of the job runs, waits for a processor, or for a disk."""
        return not any(state in "RD" for pid in self.marked() for state in thread_states(pid))

    def left(self, seconds=10):
        """What the job has left behind, when so many seconds have passed or nothing is: descriptions."""
        end = time.monotonic() + seconds
        while True:
            found = [f"{pid} {name_of(pid)} {process_state(pid)}" for pid in self.marked() if lives(pid)]
            found += ["/dev/shm/" + name for name in shared_memory_of(self.process.pid, self.memory_before)]
            new = sockets() - self.sockets_before
            found += [name for name in new if int(name.split("-")[1]) in self.pids]
            found += [os.path.join(self.files, name) for name in os.listdir(self.files)]
            if not found or time.monotonic() > end:
                return found
            time.sleep(0.02)

    def send(self, number, spared=""):
        """To all processes of the job but those that are called so."""
        for pid in self.marked():
            if name_of(pid) != spared:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, number)

    def close(self):
        """Ends whatever is still there."""
        while self.cleanups:
            self.cleanups.pop()()
        self.send(signal.SIGCONT)
        # Guards remove what the others leave.
        self.send(signal.SIGKILL, spared="weftrun-guard")
        self.process.wait()
        with contextlib.suppress(AssertionError):
            wait_until(lambda: not self.marked(), "the end of all processes", 5)
        self.send(signal.SIGKILL)
        wait_until(lambda: not self.marked(), "the end of all processes")
        for name in shared_memory_of(self.process.pid, self.memory_before):  # of a guard that was killed, too
            shutil.rmtree("/dev/shm/" + name)
        for reader in self.readers:
            reader.join()
        self.process.stdout.close()
        self.process.stderr.close()
        for descriptor in (self.said, self.go):
            if descriptor is not None:
                os.close(descriptor)
        shutil.rmtree(self.folder)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def describe_command(job):
    """For a shell."""
    names = {name for name, _ in job.shape.env}
    settings = [f"{name}={shlex.quote(value)}" for name, value in job.env.items()
                if name in names or os.environ.get(name) != value]
    return " ".join([*settings, shlex.join(job.words)])

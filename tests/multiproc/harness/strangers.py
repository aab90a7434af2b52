# SPDX-License-Identifier: BSD-3-Clause
"""What the tests of strangers share: where a process listens, and work that runs as another user or beside
the test."""
import contextlib
import encodings.idna  # noqa: F401  pylint: disable=unused-import  # another user may not be able to read it
import os
import pathlib
import re
import signal
import socket
import struct
import traceback

from weftrun_common import WATCHDOG, lives, name_of, wait_until

FRAME = struct.Struct("<IHHQ")  # core/link/frame.hpp: length of the payload, type, 0, tag
HELLO, WELCOME, REFUSED, HELLO_TOOL, RESULTS = 1, 2, 3, 18, 20
_FRAME_HEADER = pathlib.Path(__file__).resolve().parents[3] / "core" / "link" / "frame.hpp"
WIRE_VERSION = int(re.search(r"wire_version = (\d+);", _FRAME_HEADER.read_text(encoding="utf-8"))[1])


def text(value):
    """A text as messages have it."""
    return struct.pack("<I", len(value)) + value


def frame(kind, payload, tag=1):
    return FRAME.pack(len(payload), kind, 0, tag) + payload


def hello(nspace, rank, token):
    """The first message of a rank that has mapped the segment."""
    layout = 0
    return frame(HELLO, struct.pack("<HIB", WIRE_VERSION, layout, 0) + text(nspace.encode()) + struct.pack("<I", rank) +
                 bytes.fromhex(token))


def sockets_of(pid):
    """The inodes of the sockets that a process holds."""
    found = set()
    for fd in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(FileNotFoundError):
            match = re.fullmatch(r"socket:\[(\d+)\]", os.readlink(f"/proc/{pid}/fd/{fd}"))
            if match:
                found.add(match[1])
    return found


def local_names(pid):
    """The abstract names at which a process listens, without the leading NUL."""
    inodes, names = sockets_of(pid), []
    with open(f"/proc/{pid}/net/unix", encoding="utf-8", errors="replace") as table:
        for words in map(str.split, table):
            if len(words) == 8 and words[3] == "00010000" and words[6] in inodes and words[7].startswith("@"):
                names.append(words[7][1:])
    return names


def tcp_ports(pid):
    """The ports at which a process listens, with an address that reaches each."""
    inodes, found = sockets_of(pid), []
    for version in ("tcp", "tcp6"):
        with open(f"/proc/{pid}/net/{version}", encoding="ascii") as table:
            for words in map(str.split, table):
                if words[3] != "0A" or words[9] not in inodes:
                    continue
                raw, port = words[1].split(":")
                swapped = b"".join(bytes.fromhex(raw[i:i + 8])[::-1] for i in range(0, len(raw), 8))
                address = socket.inet_ntop(socket.AF_INET if version == "tcp" else socket.AF_INET6, swapped)
                found.append(({"0.0.0.0": "127.0.0.1", "::": "::1"}.get(address, address), int(port, 16)))
    return found


def connect_local(name):
    with contextlib.ExitStack() as undo:
        connection = undo.enter_context(socket.socket(socket.AF_UNIX))
        connection.connect("\0" + name)  # waits for room where too many wait already
        connection.settimeout(WATCHDOG)
        undo.pop_all()
        return connection


def read_to_end(connection):
    """What comes until the other end hangs up."""
    came = b""
    with contextlib.suppress(ConnectionResetError, BrokenPipeError):
        while more := connection.recv(4096):
            came += more
    return came


def _become(uid):
    if uid is not None:
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)


class Beside:
    """A function in a process of its own, as another user where one is named. The function gets `ready`,
    which it calls when what the test waits for is the case. The process ends with the block."""

    def __init__(self, work, *words, uid=None):
        self.work, self.words, self.uid = work, words, uid
        self.pid, self.said = 0, None

    def __enter__(self):
        ours, theirs = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            status = 1
            try:
                signal.signal(signal.SIGTERM, signal.SIG_DFL)
                os.close(ours)
                _become(self.uid)
                self.work(lambda: os.write(theirs, b"r"), *self.words)
                status = 0
            except BaseException:  # pylint: disable=broad-except
                traceback.print_exc()
            finally:
                os._exit(status)
        os.close(theirs)
        self.said = ours
        return self

    def is_ready(self):
        """Waits for the next call of ready(): False if the process ended first."""
        return os.read(self.said, 1) == b"r"

    def lives(self):
        return lives(self.pid)

    def end(self):
        """Waits for its end; returns its status."""
        pid, self.pid = self.pid, 0
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

    def __exit__(self, *_):
        if self.pid:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
            self.end()
        os.close(self.said)


def run_as(uid, work, *words):
    """Runs a function as another user, to its end; what it raises is printed and fails the caller."""
    with Beside(lambda _ready: work(*words), uid=uid) as process:
        status = process.end()
    if status != 0:
        raise AssertionError(f"{work.__name__} as another user failed (its error is above)")


def free_users(count):
    """Numbers of users that have no account and no process."""
    with open("/etc/passwd", encoding="utf-8") as table:
        taken = {int(line.split(":")[2]) for line in table if line.count(":") >= 6}
    for entry in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(FileNotFoundError):
            taken.add(os.stat(f"/proc/{entry}").st_uid)
    return [uid for uid in range(61000, 64000) if uid not in taken][:count]


def children(pid):
    """The processes that a process has started and that are there."""
    found = []
    for task in os.listdir(f"/proc/{pid}/task"):
        with contextlib.suppress(FileNotFoundError), open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as list_:
            found += map(int, list_.read().split())
    return found


def descendants(pid):
    """Its children, and theirs."""
    found = children(pid)
    for child in found:
        with contextlib.suppress(FileNotFoundError):
            found += children(child)
    return found


def daemons_of(pid, count):
    """The daemons of a weftrun, once all listen."""
    def ready():
        return [child for child in children(pid) if name_of(child) == "weftd" and local_names(child)]
    wait_until(lambda: len(ready()) == count, f"{count} daemons that listen")
    return ready()


def memory_of(pid, which="VmRSS"):
    """Resident KiB."""
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(which + ":"))


def most_memory_of(pid):
    """Resident KiB, at the moment at which they were most."""
    return memory_of(pid, "VmHWM")


def count_descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))

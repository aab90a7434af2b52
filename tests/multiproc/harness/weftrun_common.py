# SPDX-License-Identifier: BSD-3-Clause
"""What the tests of weftrun share. They need WEFTRUN and WEFTRUN_CLIENT (paths); ctest sets both."""
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

WEFTRUN = os.environ["WEFTRUN"]
CLIENT = os.environ.get("WEFTRUN_CLIENT", "")
PYTHON = sys.executable
# A shell's job in the background ignores SIGINT, one of nohup SIGHUP, and weftrun keeps to what it inherits.
for ignorable in (signal.SIGINT, signal.SIGHUP):
    if signal.getsignal(ignorable) == signal.SIG_IGN:
        signal.signal(ignorable, signal.SIG_DFL)
WATCHDOG = 180 if os.environ.get("WEFT_TEST_SANITIZE") else 120  # seconds; only a hang takes so long
HOSTS_SCRIPT = str(pathlib.Path(__file__).resolve().parents[3] / "scripts" / "hosts")


def run(*args, data=b"", env=None, cwd=None, stdin=None, pass_fds=(), before=()):
    """Runs weftrun to its end; returns CompletedProcess with bytes. before: words of a program that is to run
    it: prlimit."""
    given = {"stdin": stdin} if stdin is not None else {"input": data}
    return subprocess.run([*before, WEFTRUN, *args], capture_output=True, timeout=WATCHDOG, env=env, cwd=cwd,
                          pass_fds=pass_fds, **given)


def start(*args, **options):
    """weftrun with pipes, left running. Without buffers: communicate() loses what readline() has read
    ahead."""
    defaults = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "bufsize": 0}
    return subprocess.Popen([WEFTRUN, *args], **{**defaults, **options})


def repeated(count):
    """So often; a fifth of it under a sanitizer, where a launch takes a second and the release's run has
    all."""
    return range(count // 5 if os.environ.get("WEFT_TEST_SANITIZE") else count)


def with_time_limits(try_limit):
    """Longer and longer time limits, until try_limit(seconds) says that its ranks had got as far as they were
    to by then."""
    limit = 0.5
    while not try_limit(limit):
        limit *= 4
        if limit > WATCHDOG:
            raise AssertionError("no time limit is long enough")


def python(code):
    """The words that run `code` as a rank."""
    return [PYTHON, "-E", "-S", "-c", code]  # -E: no unbuffered output, which tears lines


def wait_until(condition, what, seconds=WATCHDOG):
    """Waits for a condition under the watchdog."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"did not come about: {what}")
        time.sleep(0.005)


def lives(pid):
    """True for a process that runs; a zombie has ended."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as stat:
            return stat.read().rsplit(b")", 1)[1].split()[0] not in (b"Z", b"X")
    except (FileNotFoundError, ProcessLookupError):
        return False


def parent(pid):
    """0 for a process that has gone."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as stat:
            return int(stat.read().rsplit(b")", 1)[1].split()[1])
    except (FileNotFoundError, ProcessLookupError):
        return 0


def name_of(pid):
    """What the process calls itself; empty for one that has gone."""
    try:
        with open(f"/proc/{pid}/comm", encoding="utf-8") as comm:
            return comm.read().strip()
    except (FileNotFoundError, ProcessLookupError):
        return ""


def server_of_ranks(job):
    """The pid of a daemon of this weftrun, or, where it has none, weftrun's own: of a server with ranks."""
    daemons = [int(pid) for pid in filter(str.isdigit, os.listdir("/proc")) if name_of(pid) == "weftd" and parent(int(pid)) == job.pid]
    return min(daemons, default=job.pid)


def with_variable(assignment):
    """The processes that have "NAME=VALUE" in their environment."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as environ:
                if assignment.encode() in environ.read().split(b"\0"):
                    found.append(int(pid))
        except OSError:
            continue
    return found


def shared_memory():
    """Names of what jobs of several virtual nodes have in /dev/shm, of jobs that run and of those that could
    not remove it."""
    return {name for name in os.listdir("/dev/shm") if re.match(r"weft-.*-\d+-weftrun\.", name)}


def shared_memory_of(launcher, before):
    """What this weftrun has there. before: shared_memory() as it was when it started; pids come again."""
    new = shared_memory() - before
    return sorted(name for name in new if re.match(rf"weft-.*-{launcher}-weftrun\.", name))


def hosts(*words):
    """scripts/hosts, to its end."""
    return subprocess.run([HOSTS_SCRIPT, *map(str, words)], text=True, capture_output=True, check=False,
                          timeout=WATCHDOG, stdin=subprocess.DEVNULL)


def on_hosts(name, count, run):
    """Calls run() with that many pretend hosts up; skips (status 77) where there can be none."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(1))
    made = hosts("up", "--set", name, count)
    if made.returncode == 3:
        print(f"skipped: {made.stderr}", end="")
        sys.exit(77)
    if made.returncode != 0:
        sys.exit(made.stderr)
    try:
        run()
    finally:
        hosts("down", "--set", name)


def left_on(host):
    """What a job could have left on a pretend host beside processes: segments, names of sockets,
    connections."""
    found = hosts("run", host, "sh", "-c",
                  "ls /dev/shm; grep -c @weft /proc/net/unix || true; ss -Htn state established")
    if found.returncode != 0:
        raise AssertionError(found.stderr)
    return [line for line in found.stdout.splitlines() if line != "0"]


def finish(process):
    """Waits for the end of a started weftrun; returns (status, out, err)."""
    try:
        out, err = process.communicate(timeout=WATCHDOG)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        raise
    return process.returncode, out, err


def own_lines(err):
    """The lines of weftrun itself."""
    return [line for line in err.decode().splitlines() if line.startswith("weftrun: ")]


def read_lines(stream, count):
    """The next `count` lines of a pipe, as text without newlines."""
    return [stream.readline().decode().rstrip("\n") for _ in range(count)]


def kill_quietly(process):
    if process.poll() is None:
        process.send_signal(signal.SIGKILL)
    process.communicate()

# SPDX-License-Identifier: BSD-3-Clause
"""Runs programs within a time."""
import os
import signal
import subprocess
import sys
import time
from collections import Counter


class OutOfTime(Exception):
    pass


def out_of_time(*_):
    raise OutOfTime


class Runner:
    """Starts programs in sessions of their own and ends what outstays its time: politely, then by group."""

    def __init__(self, limit_s, verbose):
        self.limit_s = limit_s
        self.verbose = verbose
        self.failures = Counter()  # (side, command and reason): how often
        # Each launcher decides for itself which library its children load.
        self.environment = {k: v for k, v in os.environ.items() if k != "LD_LIBRARY_PATH"}

    def run(self, side, command, environment=None):
        """Standard output, or None after a failure, which is remembered."""
        command = [str(word) for word in command]
        if self.verbose:
            print("+", " ".join(command), file=sys.stderr)
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, text=True, start_new_session=True,
                                 env=environment or self.environment)
        try:
            out, err = child.communicate(timeout=self.limit_s)
        except subprocess.TimeoutExpired:
            self.end(child)
            return self.failed(side, command, f"not done within {self.limit_s} s")
        except BaseException:  # this script is being ended: nothing may stay behind
            self.end(child)
            raise
        if child.returncode != 0:
            last = err.strip().splitlines()[-1:] or ["nothing on standard error"]
            return self.failed(side, command, f"exit status {child.returncode}: {last[0]}")
        return out

    def outcome(self, command, limit_s):
        """Standard output and exit status, or None if it was not done within the limit. Nothing counts as a
        failure."""
        command = [str(word) for word in command]
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                 text=True, start_new_session=True, env=self.environment)
        try:
            return child.communicate(timeout=limit_s)[0], child.returncode
        except subprocess.TimeoutExpired:
            self.end(child)
            return None
        except BaseException:
            self.end(child)
            raise

    def run_together(self, side, commands):
        """Runs all of them at once; the standard output of the first, or None after a failure, which is
        remembered."""
        commands = [[str(word) for word in command] for command in commands]
        if self.verbose:
            print(*("+ " + " ".join(command) for command in commands), sep="\n", file=sys.stderr)
        children = []
        deadline = time.monotonic() + self.limit_s
        try:
            for command in commands:
                children.append(subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                                 stderr=subprocess.PIPE, text=True, start_new_session=True,
                                                 env=self.environment))
            for command, child in zip(commands, children):
                child.seen = child.communicate(timeout=max(0.1, deadline - time.monotonic()))
                if child.returncode != 0:
                    last = child.seen[1].strip().splitlines()[-1:] or ["nothing on standard error"]
                    return self.failed(side, command, f"exit status {child.returncode}: {last[0]}")
        except subprocess.TimeoutExpired:
            return self.failed(side, commands[0], f"not done within {self.limit_s} s")
        finally:
            for child in children:
                if child.poll() is None:
                    self.end(child)
        return children[0].seen[0]

    def failed(self, side, command, why):
        self.failures[side, f"{' '.join(command)}: {why}"] += 1
        print(f"failed: {' '.join(command)}: {why}", file=sys.stderr)
        return None

    def failed_sides(self):
        return {side for side, _ in self.failures}

    def wall(self, side, command, limit_s):
        """Wall ns from start to exit, without pipes and without this interpreter's fork; None: it failed."""
        command = [str(word) for word in command]
        if self.verbose:
            print("+", " ".join(command), file=sys.stderr)
        nowhere = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in (0, 1, 2)]
        signal.signal(signal.SIGALRM, out_of_time)
        begin = time.monotonic_ns()
        pid = os.posix_spawn(command[0], command, self.environment, file_actions=nowhere, setsid=True)
        try:
            signal.setitimer(signal.ITIMER_REAL, limit_s)
            status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
            wall = time.monotonic_ns() - begin
            signal.setitimer(signal.ITIMER_REAL, 0)
        except BaseException as error:
            os.killpg(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            if isinstance(error, OutOfTime):
                return self.failed(side, command, f"not done within {limit_s} s")
            raise
        return wall if status == 0 else self.failed(side, command, f"exit status {status}")

    @staticmethod
    def end(child):
        child.terminate()  # a launcher ends its ranks when it is asked to
        try:
            child.communicate(timeout=5)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            child.communicate()

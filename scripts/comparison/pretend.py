# SPDX-License-Identifier: BSD-3-Clause
"""The pretend hosts that a comparison runs on: made, entered, swept, ended."""
import ctypes
import os
import signal
import subprocess
import time
from pathlib import Path

from comparison.results import ROOT

HOSTS = ROOT / "scripts" / "hosts"
HOLDER = "weft-host:"  # scripts/hosts: a host lives as long as the process of this name
DAEMONS = {"weftd", "orted"}
PR_SET_CHILD_SUBREAPER = 36


def up(name, count):
    """Makes NAME0 .. ; ends this program with the reason if that is not possible."""
    if subprocess.run([HOSTS, "up", "--set", name, str(count)], check=False, stdin=subprocess.DEVNULL).returncode:
        raise SystemExit(3)


def down(name):
    subprocess.run([HOSTS, "down", "--set", name], check=False, stdin=subprocess.DEVNULL)


def address(number):
    return f"10.77.0.{number + 1}"


def holder(host):
    """Pid of the process that keeps the host."""
    name = f"{HOLDER}{host}".encode()
    for folder in Path("/proc").iterdir():
        try:
            if folder.name.isdigit() and (folder / "cmdline").read_bytes().split(b"\0")[0] == name:
                return int(folder.name)
        except OSError:  # it has just ended
            continue
    raise SystemExit(f"no host {host}")


class Inside:
    """Seen from host 0 of the set, where everything is started from."""

    def __init__(self, name, count, folder):
        self.names = [f"{name}{i}" for i in range(count)]
        self.holders = [holder(host) for host in self.names]
        self.networks = {os.stat(f"/proc/{pid}/ns/net").st_ino for pid in self.holders}
        self.agent = folder / "agent"
        self.write_agent()
        # Daemons that leave their parents become children of this process: it can end and count them.
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)

    def on(self, number, *command):
        """The command line that runs a command on a host."""
        return ["nsenter", "-t", str(self.holders[number]), "-m", "-u", "-i", "-n", f"--wdns={os.getcwd()}", "--",
                *map(str, command)]

    def write_agent(self):
        """What ssh is between machines, as cheap as it can be: AGENT HOST COMMAND..."""
        cases = [f"{host}) pid={pid} ;;" for host, pid in zip(self.names, self.holders)]
        lines = ["#!/bin/sh", "host=$1", "shift", "case $host in", *cases,
                 '*) echo "agent: no host $host" >&2; exit 255 ;;', "esac",
                 'exec nsenter -t $pid -m -u -i -n -- sh -c "$*"']
        self.agent.write_text("\n".join(lines) + "\n", encoding="utf-8")
        self.agent.chmod(0o755)

    def left_behind(self, names):
        """Pids of processes in the hosts whose program has one of the names."""
        found = []
        for folder in Path("/proc").iterdir():
            try:
                if (folder.name.isdigit() and os.stat(folder / "ns" / "net").st_ino in self.networks
                        and Path(os.readlink(folder / "exe")).name in names):
                    found.append(int(folder.name))
            except OSError:  # it has just ended, or is a zombie
                continue
        return found

    def sweep(self, names, patience_s=2.0):
        """Ends what a launch has left although its launcher is gone. Returns how many had to be ended."""
        deadline = time.monotonic() + patience_s
        while (left := self.left_behind(names)) and time.monotonic() < deadline:
            time.sleep(0.02)
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        self.reap()
        return len(left)

    def end(self, patience_s=5.0):
        """Sees off what became ours; whatever stays longer is ended with the hosts."""
        deadline = time.monotonic() + patience_s
        while self.reap() and time.monotonic() < deadline:
            time.sleep(0.02)

    @staticmethod
    def reap():
        """Of what became ours when its parent ended. Only while no child of our own is waited for. False:
        none is left."""
        try:
            while os.waitpid(-1, os.WNOHANG)[0] > 0:
                pass
            return True
        except ChildProcessError:
            return False

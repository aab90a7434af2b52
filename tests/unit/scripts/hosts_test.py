#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""scripts/hosts, for real: hosts that meet, a cable that is pulled, and that nothing of them is left.

Exit status 77: skipped, hosts cannot be made here; the reason is printed.
"""
import os
import pathlib
import signal
import subprocess
import sys
import time
import unittest

SCRIPT = str(pathlib.Path(__file__).resolve().parents[3] / "scripts" / "hosts")
SETS = [f"t{os.getpid()}{letter}" for letter in "ab"]  # so that two runs of this test do not meet
PATIENCE_S = 30
MARK = f"WEFT_TEST_HOSTS={os.getpid()}"

LISTEN = """
import socket, sys
with socket.create_server(("::", 7000), family=socket.AF_INET6, dualstack_ipv6=True) as server:
    server.settimeout(30)
    print("listening", flush=True)
    for _ in range(int(sys.argv[1])):
        with server.accept()[0] as client:
            client.sendall(socket.gethostname().encode())
"""
CONNECT = """
import socket, sys
family = {"4": socket.AF_INET, "6": socket.AF_INET6}[sys.argv[2]]
address = socket.getaddrinfo(sys.argv[1], 7000, family, socket.SOCK_STREAM)[0][4]
with socket.socket(family) as s:
    s.settimeout(float(sys.argv[3]))
    s.connect(address)
    print(s.recv(64).decode())
"""


def hosts(*words, **more):
    return subprocess.run([SCRIPT, *map(str, words)], text=True, capture_output=True, check=False, timeout=PATIENCE_S,
                          stdin=subprocess.DEVNULL, **more)


def of_the_machine():
    """What `up` must leave as it is: the cards of the machine's own network, and what it mounts over in a
    host."""
    over = ("/sys", "/dev/shm", "/etc/hosts", "/proc/sys/kernel/random/boot_id")
    with open("/proc/self/mountinfo", encoding="utf-8") as mounts:
        return sorted(os.listdir("/sys/class/net")), [m for m in mounts if m.split()[4] in over]


def left():
    """Processes that a call of the script here began, and that still live. Without one, no namespace is
    left."""
    found = []
    for process in filter(str.isdigit, os.listdir("/proc")):
        try:
            environment = pathlib.Path(f"/proc/{process}/environ").read_bytes()
        except OSError:  # it ended meanwhile
            continue
        if MARK.encode() in environment and int(process) != os.getpid():
            found.append(int(process))
    return found


class Hosts(unittest.TestCase):
    def tearDown(self):
        for name in SETS:
            done = hosts("down", "--set", name)
            self.assertEqual(done.returncode, 0, done.stderr)
        self.doCleanups()
        self.assertEqual(left(), [])

    def up(self, count, name=SETS[0]):
        done = hosts("up", "--set", name, count)
        self.assertEqual(done.returncode, 0, done.stderr)

    def listen(self, host, count):
        server = subprocess.Popen([SCRIPT, "run", host, sys.executable, "-c", LISTEN, str(count)], text=True,
                                  stdout=subprocess.PIPE)
        self.addCleanup(server.stdout.close)
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)
        self.assertEqual(server.stdout.readline(), "listening\n")

    def connect(self, host, to, family, timeout_s=PATIENCE_S):
        return hosts("run", host, sys.executable, "-c", CONNECT, to, family, timeout_s)

    def test_hosts_meet_by_name_over_ipv4_and_ipv6(self):
        before = of_the_machine()
        self.up(3)
        name = SETS[0]
        self.listen(f"{name}2", 2)
        for family in "46":
            done = self.connect(f"{name}0", f"{name}2", family)
            self.assertEqual((done.returncode, done.stdout), (0, f"{name}2\n"), done.stderr)
        self.assertEqual(of_the_machine(), before)

    def test_a_pulled_cable_stops_them_and_its_return_lets_them_meet(self):
        self.up(2)
        a, b = (f"{SETS[0]}{i}" for i in range(2))
        self.listen(b, 1)
        self.assertEqual(hosts("link", b, "down").returncode, 0)
        for family in "46":
            self.assertNotEqual(self.connect(a, b, family, 0.3).returncode, 0)
        self.assertEqual(hosts("link", b, "up").returncode, 0)
        done = self.connect(a, b, "6")
        self.assertEqual((done.returncode, done.stdout), (0, f"{b}\n"), done.stderr)

    def test_what_a_host_has_of_its_own_and_what_is_common(self):
        self.up(2)
        show = ["sh", "-c", "hostname; cat /proc/sys/kernel/random/boot_id; stat -L -c %i /proc/self/ns/ipc /dev/shm; "
                "ls /sys/class/net; touch /dev/shm/$0; ls /dev/shm"]
        outputs = [hosts("run", f"{SETS[0]}{i}", *show, f"of_{i}").stdout.split() for i in range(2)]
        self.assertEqual([o[0] for o in outputs], [f"{SETS[0]}0", f"{SETS[0]}1"])
        self.assertNotEqual(outputs[0][1], outputs[1][1], "one boot id")
        self.assertNotEqual(outputs[0][2], outputs[1][2], "one IPC namespace")
        for i, o in enumerate(outputs):
            self.assertEqual(o[4:], ["eth0", "lo", f"of_{i}"])
        done = hosts("run", f"{SETS[0]}1", "sh", "-c", 'pwd; echo "$WORD"; exit 7', cwd="/usr",
                     env={**os.environ, "WORD": "a  b"})
        self.assertEqual((done.returncode, done.stdout), (7, "/usr\na  b\n"))

    def test_two_sets_do_not_see_each_other(self):
        self.up(1, SETS[0])
        self.up(2, SETS[1])
        listed = [line.split()[0] for line in hosts("list").stdout.splitlines()]
        self.assertEqual([n for n in listed if n[:-1] in SETS], [f"{SETS[0]}0", f"{SETS[1]}0", f"{SETS[1]}1"])
        self.listen(f"{SETS[1]}1", 1)
        self.assertNotEqual(self.connect(f"{SETS[0]}0", "10.77.0.2", "4", 0.3).returncode, 0)
        self.assertEqual(hosts("down", "--set", SETS[0]).returncode, 0)
        self.assertEqual(self.connect(f"{SETS[1]}0", f"{SETS[1]}1", "4").returncode, 0)

    def test_down_ends_what_runs_there(self):
        self.up(2)
        with subprocess.Popen([SCRIPT, "run", f"{SETS[0]}1", "sh", "-c", "echo here; read word"],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as running:
            self.addCleanup(running.kill)
            self.assertEqual(running.stdout.readline(), "here\n")
            self.assertEqual(len(left()), 4)
            self.assertEqual(hosts("down", "--set", SETS[0]).returncode, 0)
            self.assertEqual(running.wait(PATIENCE_S), -signal.SIGKILL)
        self.assertEqual(left(), [])

    def test_killed_in_the_middle(self):
        """Whatever stood by then, `down` takes away."""
        before = of_the_machine()
        for wait_ms in (5, 20, 60, 150, 400):
            making = subprocess.Popen([SCRIPT, "up", "--set", SETS[0], "8"], stderr=subprocess.DEVNULL)
            try:
                making.wait(wait_ms / 1000)
            except subprocess.TimeoutExpired:
                making.kill()
                making.wait()
            # A namespace that was on its way when its maker was killed ends by itself, or becomes a holder.
            deadline = time.monotonic() + PATIENCE_S
            while True:
                self.assertEqual(hosts("down", "--set", SETS[0]).returncode, 0)
                if not left():
                    break
                self.assertLess(time.monotonic(), deadline, "something is left")
        self.assertEqual(of_the_machine(), before)

    def test_ended_in_the_middle(self):
        """Half a set is none: it takes away what it made."""
        for wait_ms in (20, 100, 300):
            making = subprocess.Popen([SCRIPT, "up", "--set", SETS[0], "30"], stderr=subprocess.DEVNULL)
            time.sleep(wait_ms / 1000)
            making.terminate()
            self.assertNotEqual(making.wait(PATIENCE_S), 0)
            deadline = time.monotonic() + PATIENCE_S
            while left():
                self.assertLess(time.monotonic(), deadline, "something is left")

    def test_a_set_is_made_once(self):
        self.up(1)
        done = hosts("up", "--set", SETS[0], 1)
        self.assertEqual(done.returncode, 1)
        self.assertIn("is up already", done.stderr)
        self.assertEqual(hosts("run", f"{SETS[0]}0", "true").returncode, 0, "the refusal took the first set away")


def main():
    os.environ.update([MARK.split("=")])  # all that begins here inherits it
    probe = hosts("up", "--set", SETS[0], 1)
    if probe.returncode == 3:
        print("skipped:", probe.stderr.strip())
        return 77
    hosts("down", "--set", SETS[0])
    unittest.main()
    return 0


if __name__ == "__main__":
    sys.exit(main())

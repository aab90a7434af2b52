#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Daemons on nodes that others cannot connect to: WEFT_PORTS=none there. Over pretend hosts (scripts/hosts).

Exit status 77: skipped, hosts cannot be made here; the reason is printed.
"""
import os
import subprocess
import tempfile
import unittest

from weftrun_common import CLIENT, HOSTS_SCRIPT, WATCHDOG, WEFTRUN, left_on, on_hosts, own_lines

SET = f"w{os.getpid()}o"
HOSTS = [f"{SET}{number}" for number in range(3)]
# What listens there, as the ranks see it; the socket of the system's own is none of them.
LISTENING = "ss -Hltn | wc -l"


class Outbound(unittest.TestCase):
    def setUp(self):
        files = tempfile.TemporaryDirectory()
        self.addCleanup(files.cleanup)
        self.env = {key: text for key, text in os.environ.items() if not key.startswith("WEFT_")}
        self.env["TMPDIR"] = files.name

    def tearDown(self):
        for host in HOSTS:
            self.assertEqual(left_on(host), [], host)

    def run_on(self, names, silent, *words, **variables):
        """A rank on each of these hosts, weftrun on the first. silent: the hosts whose daemons have
        WEFT_PORTS=none."""
        wrapper = os.path.join(self.env["TMPDIR"], "agent")
        with open(wrapper, "w", encoding="utf-8") as script:
            script.write(f"""#!/bin/sh
host=$1; shift
case " {' '.join(silent)} " in *" $host "*) export WEFT_PORTS=none ;; esac
exec {HOSTS_SCRIPT} run "$host" sh -c "$*"
""")
        os.chmod(wrapper, 0o755)
        return subprocess.run(
            [HOSTS_SCRIPT, "run", HOSTS[0], WEFTRUN, "--host", ",".join(f"{name}:1" for name in names), "--agent", wrapper,
             "-n", str(len(names)), *words], env={**self.env, **variables}, stdin=subprocess.DEVNULL, capture_output=True,
            timeout=WATCHDOG, check=False)

    def test_a_daemon_that_only_connects(self):
        ended = self.run_on(HOSTS[:2], HOSTS[1:2], CLIENT, "init", "fence", "fence", "say:in", "finalize")
        self.assertEqual((ended.returncode, ended.stdout, ended.stderr), (0, b"in\n" * 2, b""))

    def test_it_listens_nowhere(self):
        """Also where weftrun keeps to ports: what may be opened is the node's own matter."""
        for variables in ({}, {"WEFT_PORTS": "20100-20199"}):
            ended = self.run_on(HOSTS[:2], HOSTS[1:2], "/bin/sh", "-c", f"echo $PMIX_RANK $({LISTENING})", **variables)
            self.assertEqual((ended.returncode, ended.stderr), (0, b""))
            counts = dict(map(int, line.split()) for line in ended.stdout.decode().splitlines())
            self.assertEqual(counts[1], 0)
            self.assertGreater(counts[0], 0, "weftrun listens")

    def test_one_of_three(self):
        """The other daemon listens: each pair has one that does."""
        ended = self.run_on(HOSTS, HOSTS[1:2], CLIENT, "init", "fence", "fence", "say:in", "finalize")
        self.assertEqual((ended.returncode, ended.stdout, ended.stderr), (0, b"in\n" * 3, b""))

    def test_two_that_only_connect(self):
        ended = self.run_on(HOSTS, HOSTS[1:], CLIENT, "init", "fence", "say:in", "finalize")
        self.assertEqual((ended.returncode, ended.stdout), (125, b""), ended.stderr)
        self.assertIn(b"neither that node nor this one listens (WEFT_PORTS=none)", ended.stderr)
        self.assertIn("this node cannot reach all the others", own_lines(ended.stderr)[0])

    def test_a_launcher_that_only_connects(self):
        ended = self.run_on(HOSTS[:2], [], CLIENT, "init", "finalize", WEFT_PORTS="none")
        self.assertEqual((ended.returncode, ended.stdout), (2, b""), ended.stderr)
        self.assertEqual(len(own_lines(ended.stderr)), 1)
        self.assertIn("WEFT_PORTS=none holds for weftrun", own_lines(ended.stderr)[0])


if __name__ == "__main__":
    on_hosts(SET, len(HOSTS), unittest.main)

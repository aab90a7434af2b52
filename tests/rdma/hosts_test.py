# SPDX-License-Identifier: BSD-3-Clause
"""Two hosts, each with a card of its own: lab0, where this runs, and lab1, where `ssh` starts weftd
(scripts/rdma_lab hosts)."""
import os
import signal
import subprocess
import unittest

from rdma_common import AGENT, CARD, FABRICS, HOSTS, LONGEST, Job, Shape, good_end, has_card, on_lab1
from weftrun_common import CLIENT, WEFTRUN, own_lines

CALLS = ["init", "put:300", "commit", "fence", "get:0", "get:1", "collect", "fence_of:0,1", "construct:g", "group_fence:g", "destruct:g", "connect", "disconnect", "finalize"]


def weftrun(*words, env=()):
    return subprocess.run([WEFTRUN, *HOSTS, *AGENT, "-n", "2", *words], capture_output=True, stdin=subprocess.DEVNULL, timeout=LONGEST, check=False,
                          env={**os.environ, **dict(env)})


class Hosts(unittest.TestCase):
    def check(self, fabric):
        ended = weftrun(CLIENT, *CALLS, env={"WEFT_TRANSPORT": FABRICS[fabric]})
        self.assertEqual(ended.returncode, 0, ended)

    def test_over_ofi(self):
        self.check("ofi")

    def test_over_ucx(self):
        self.check("ucx")

    def test_without_a_variable_the_card_is_used(self):
        ended = weftrun("--verbose", CLIENT, *CALLS)
        self.assertEqual(ended.returncode, 0, ended)
        said = [line for line in own_lines(ended.stderr) if "other nodes are reached by" in line]
        self.assertEqual(len(said), 1, ended)
        self.assertRegex(said[0], f"^weftrun: other nodes are reached by ofi:verbs;ofi_rxm over .*{CARD}")


class OwnersDaemonAsleep(unittest.TestCase):
    """The daemon of the other host is stopped while its rank's card is read."""

    def touch(self, fabric):
        words = ["init", "put:200", "commit", "fence", "only:0", "reach:ready", "hold", "get:1", "reach:got", "all", "fence", "finalize"]
        with Job(Shape(HOSTS, (("WEFT_TRANSPORT", FABRICS[fabric]), ("WEFT_LOST_AFTER", "1000"))), words, options=AGENT, ranks=2) as run:
            run.reach("ready")
            # The guard kills a daemon that hangs; the daemon ends its guard, stopped or not.
            on_lab1("pkill", "-STOP", "-x", "weftrun-guard")
            on_lab1("pkill", "-STOP", "-x", "weftd")
            run.release()
            run.reach("got")
            on_lab1("pkill", "-CONT", "-x", "weftd")
            good_end(self, run)

    def test_over_ofi(self):
        self.touch("ofi")

    def test_over_ucx(self):
        self.touch("ucx")


class OneCardOnly(unittest.TestCase):
    """lab1 has lost its card."""

    def setUp(self):
        on_lab1("rdma", "link", "delete", CARD)
        self.addCleanup(on_lab1, "rdma", "link", "add", CARD, "type", "rxe", "netdev", "eth0")

    def test_all_go_on_over_tcp(self):
        ended = weftrun(CLIENT, *CALLS)
        self.assertEqual(ended.returncode, 0, ended)
        lines = own_lines(ended.stderr)
        self.assertEqual(len(lines), 1, ended)
        self.assertIn("lab1", lines[0])
        self.assertIn("over tcp", lines[0])

    def test_a_transport_that_was_asked_for_is_not_replaced(self):
        ended = weftrun(CLIENT, *CALLS, env={"WEFT_TRANSPORT": "ucx:^tcp"})
        self.assertEqual(ended.returncode, 125, ended)
        self.assertIn("weft: [lab1] transport ucx:^tcp does not open here: UCX finds no network device", ended.stderr.decode())
        self.assertIn("weftrun: node 'lab1'", ended.stderr.decode())


class PeerGone(unittest.TestCase):
    """The machine of the other host stops at once, in the middle of a fence. It does not come back."""

    def test_is_a_lost_node(self):
        words = ["init", "fence", "only:0", "reach:ready", "hold", "all", "only:1", "wait", "all", "fence", "finalize"]
        with Job(Shape(HOSTS, (("WEFT_TRANSPORT", FABRICS["ucx"]), ("WEFT_LOST_AFTER", "10"))), words, options=AGENT, ranks=2) as run:
            run.reach("ready")
            run.release()
            subprocess.run(["ssh", "-o", "ServerAliveInterval=1", "lab1", "echo b >/proc/sysrq-trigger"], check=False, stdin=subprocess.DEVNULL,
                           timeout=LONGEST)
            outcome = run.finish(LONGEST)
            self.assertEqual(outcome.status, 125, outcome)
            self.assertTrue(any("lab1" in line for line in outcome.lines()), outcome)
            self.assertEqual(run.left(), [])


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: os._exit(1))
    if not has_card():
        raise SystemExit(f"there is no {CARD} here: scripts/rdma_lab hosts ...")
    unittest.main(verbosity=2)

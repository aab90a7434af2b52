# SPDX-License-Identifier: BSD-3-Clause
"""Cards that fail: two hosts (scripts/rdma_lab hosts) in an open fence while the link of one goes down, for a
moment or for ever, a device is removed, or the path between them takes short packets only.
Each ends as docs/faults.md says of a network that is gone, or goes on."""
import subprocess
import time
import unittest

from rdma_common import AGENT, CARD, FABRICS, HOSTS, LONGEST, Job, Shape, good_end, has_card, on_lab1, process_state, wait_until

LOST_AFTER = 10
# Rank 1 comes to the second fence when its host says so, so that rank 0 waits in it before.
WORDS = ["init", "put:300", "commit", "fence", "get:0", "get:1", "only:1", "until:/run/go", "all", "only:0", "reach:ready", "all", "collect", "get:0", "get:1",
         "finalize"]
# Nothing that lab1 sends gets through: what a pulled cable is to a card, which goes on trying.
CABLE_IS_OUT, CABLE_IS_BACK = "tc qdisc add dev eth0 root netem loss 100%", "tc qdisc del dev eth0 root"
LINK_IS_BACK = "ip link set eth0 up; for try in $(seq 100); do ip -6 addr show dev eth0 scope link -tentative | grep -q fe80 && break; sleep 0.1; done"
# Packets of the cards' own size do not get through: what a switch with a smaller MTU does. (A packet over the
# burst is dropped.) The connection of ssh fits.
PATH_IS_NARROW, PATH_IS_WIDE = "tc qdisc add dev eth0 root tbf rate 1gbit burst 1600 limit 1mb", "tc qdisc del dev eth0 root"
TCP_IS_NARROW, TCP_IS_WIDE = "ip route change 10.99.0.0/24 dev eth0 advmss 1200", "ip route change 10.99.0.0/24 dev eth0"
CARD_IS_BACK = f"rdma link add {CARD} type rxe netdev eth0"


def later_on_lab1(script):
    """Begins a second from now, without the connection by which it is asked for."""
    on_lab1(f"rm -f /run/done; setsid sh -c 'sleep 1; {script}; touch /run/done' </dev/null >/dev/null 2>&1 &")


def lab1_is_done():
    for _ in range(LONGEST):
        with_answer = subprocess.run(["ssh", "-o", "ConnectTimeout=5", "lab1", "test -e /run/done"], check=False, stdin=subprocess.DEVNULL, timeout=LONGEST)
        if with_answer.returncode == 0:
            return
        time.sleep(1)
    raise AssertionError("lab1 does not come back")


class Fault(unittest.TestCase):
    def setUp(self):
        on_lab1("rm -f /run/go")

    def job(self, fabric, words=tuple(WORDS)):
        return Job(Shape(HOSTS, (("WEFT_TRANSPORT", FABRICS[fabric]), ("WEFT_LOST_AFTER", str(LOST_AFTER)))), list(words), options=AGENT, ranks=2)

    def check_is_lost(self, run, lab1_has_done=True):
        """The job has ended by the loss of a node, which a line names, and nothing of it is left on either
        host."""
        outcome = run.finish(LONGEST)
        print(f"{self.id().split('.')[-1]}: {outcome.seconds:.0f} s, {outcome.lines()}", flush=True)
        self.assertEqual(outcome.status, 125, outcome)
        self.assertTrue(any("lab1" in line for line in outcome.lines()), outcome)
        self.assertEqual(run.left(), [])
        if lab1_has_done:
            lab1_is_done()
        self.check_lab1_is_clean()
        return outcome

    def check_lab1_is_clean(self):
        ended = None
        for _ in range(LONGEST):
            ended = subprocess.run(["ssh", "lab1", "pgrep -l weft; ls /dev/shm"], check=False, stdin=subprocess.DEVNULL, timeout=LONGEST, capture_output=True)
            if not ended.stdout:
                return
            time.sleep(0.2)
        raise AssertionError(f"left on lab1: {ended.stdout.decode()}")


class CableOut(Fault):
    def a_moment(self, fabric):
        with self.job(fabric) as run:
            run.reach("ready")
            later_on_lab1(f"{CABLE_IS_OUT}; sleep 3; {CABLE_IS_BACK}; touch /run/go")
            good_end(self, run)
        lab1_is_done()

    def test_for_a_moment_over_ofi(self):
        self.a_moment("ofi")

    def test_for_a_moment_over_ucx(self):
        self.a_moment("ucx")

    def for_ever(self, fabric):
        with self.job(fabric) as run:
            run.reach("ready")
            # Long enough for either host to give the other up.
            later_on_lab1(f"{CABLE_IS_OUT}; sleep {3 * LOST_AFTER}; {CABLE_IS_BACK}")
            self.check_is_lost(run)

    def test_for_ever_over_ofi(self):
        self.for_ever("ofi")

    def test_for_ever_over_ucx(self):
        self.for_ever("ucx")


class PathOfShortPackets(Fault):
    """The hosts have met, and then a long message does not arrive, either way."""

    def on_both(self, do, undo):
        """A command for both hosts, until the test is over."""
        for host in (lambda words: subprocess.run(words.split(), check=True), on_lab1):
            host(do)
            self.addCleanup(host, undo)

    def check(self, fabric):
        self.on_both(TCP_IS_NARROW, TCP_IS_WIDE)
        words = ["init", "fence", "only:0", "reach:ready", "all", "until:/run/go", "put:20000", "commit", "collect", "get:0", "get:1", "finalize"]
        with self.job(fabric, words) as run:
            run.reach("ready")
            self.on_both(PATH_IS_NARROW, PATH_IS_WIDE)
            self.on_both("touch /run/go", "rm /run/go")
            # rdma_rxe offers what was refused again and again, and holds its process until that gets through.
            # What has said its line is a zombie.
            wait_until(lambda: process_state(run.process.pid) in "ZX", "the end of the job", LONGEST)
            self.doCleanups()
            return self.check_is_lost(run, lab1_has_done=False)

    def test_over_ofi(self):
        self.assertIn("compare the MTUs", self.check("ofi").lines()[0])

    def test_over_ucx(self):
        self.check("ucx")


class LinkDown(Fault):
    """`ip link set down` on lab1. A connection over rdma_rxe fails at once then, where a card would go on
    trying."""

    def is_lost(self, fabric):
        with self.job(fabric) as run:
            run.reach("ready")
            later_on_lab1(f"ip link set eth0 down; sleep 3; {LINK_IS_BACK}; touch /run/go")
            self.check_is_lost(run)

    def test_over_ofi(self):
        self.is_lost("ofi")

    def test_over_ucx(self):
        self.is_lost("ucx")


class CardRemoved(Fault):
    """`rdma link delete`, on either host. rdma_cm ends its connections at once, which are those of ofi. All
    else lives, as rdma_rxe has it, and the device goes when the last process that uses it has ended."""

    def remove(self, here):
        if here:
            removing = subprocess.Popen(["rdma", "link", "delete", CARD])
            self.addCleanup(subprocess.run, CARD_IS_BACK.split(), check=True)
            self.addCleanup(removing.wait, LONGEST)
        else:
            later_on_lab1(f"rdma link delete {CARD}")
            self.addCleanup(on_lab1, CARD_IS_BACK)
            self.addCleanup(lab1_is_done)

    def is_lost(self, here):
        with self.job("ofi") as run:
            run.reach("ready")
            self.remove(here)
            self.check_is_lost(run, lab1_has_done=not here)

    def goes_on(self, here):
        with self.job("ucx") as run:
            run.reach("ready")
            self.remove(here)
            on_lab1("sleep 3; touch /run/go")
            good_end(self, run)

    def test_of_lab0_over_ofi(self):
        self.is_lost(True)

    def test_of_lab1_over_ofi(self):
        self.is_lost(False)

    def test_of_lab0_over_ucx(self):
        self.goes_on(True)

    def test_of_lab1_over_ucx(self):
        self.goes_on(False)


if __name__ == "__main__":
    if not has_card():
        raise SystemExit(f"there is no {CARD} here: scripts/rdma_lab hosts ...")
    unittest.main(verbosity=2)

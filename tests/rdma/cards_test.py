# SPDX-License-Identifier: BSD-3-Clause
"""Jobs over a real card: what a program sees is the same as over any network, and cards are read while their
owner's daemon sleeps."""
import os
import pathlib
import signal
import subprocess
import sys
import time
import unittest

from rdma_common import CARD, LONGEST, good_end, has_card, job


class Calls(unittest.TestCase):
    """Barriers, full fences, groups, connections and first touches of three nodes."""

    def check(self, fabric):
        words = ["init", "put:300", "commit", "fence", "get:0", "get:2", "collect", "get:1", "fence_of:0,1,2", "construct:g", "group_fence:g",
                 "destruct:g", "connect", "disconnect", "finalize"]
        with job(fabric, 3, words) as run:
            good_end(self, run)

    def test_over_ofi(self):
        self.check("ofi")

    def test_over_ucx(self):
        self.check("ucx")


class OwnersDaemonAsleep(unittest.TestCase):
    """The first touch of a card, while the daemon of its node is stopped."""

    # Rank 0 reads the card of rank 2; ranks of three nodes have met in a fence that carried nothing.
    WORDS = ["init", "put:{}", "commit", "fence", "reach:here", "only:0", "hold", "get:2", "reach:got", "all", "until:{}", "finalize"]

    def touch(self, fabric, size, is_direct):
        """is_direct: the value comes while the daemon is stopped. Otherwise it comes once the daemon goes on,
        and not before."""
        flag = pathlib.Path(os.environ.get("TMPDIR", "/tmp")) / f"weftrun-go-{os.getpid()}"
        self.addCleanup(lambda: flag.unlink(missing_ok=True))
        words = [word.format(size) if word.startswith("put") else word.format(flag) for word in self.WORDS]
        with job(fabric, 3, words, env={"WEFT_LOST_AFTER": "1000"}) as run:
            owner = run.server_of(run.reach("here", 3)[2])
            os.kill(owner, signal.SIGSTOP)
            begin = time.monotonic()
            run.release()
            if is_direct:
                run.reach("got")
                print(f"{fabric}, {size} bytes: {1000 * (time.monotonic() - begin):.0f} ms, the daemon stopped all the while", flush=True)
            else:
                with self.assertRaises(AssertionError):
                    run.reach("got", seconds=5)
            os.kill(owner, signal.SIGCONT)
            run.reach("got")
            flag.touch()
            good_end(self, run)

    def test_ofi(self):
        self.touch("ofi", 200, True)

    def test_ofi_of_a_longer_card(self):
        """Beyond its first page a card is not registered, so that it is not pinned."""
        self.touch("ofi", 20000, False)

    def test_ucx(self):
        self.touch("ucx", 200, True)

    def test_ucx_of_a_longer_card(self):
        self.touch("ucx", 20000, False)

    def test_tcp_waits_for_the_daemon(self):
        """So that the tests above could fail."""
        self.touch("tcp", 200, False)


class Losses(unittest.TestCase):
    """A rank or a daemon that is killed while others wait for it, or while its card is read."""

    def kill(self, fabric, victim, is_read=False):
        with job(fabric, 3, ["init", "put:200", "commit", "fence", "reach:here", "only:0", "hold", "try", "get:2", "all", "try", "collect", "try", "finalize"]) as run:
            rank = run.reach("here", 3)[2]
            daemon = run.server_of(rank)
            if is_read:
                run.release()
            os.kill(rank if victim == "rank" else daemon, signal.SIGKILL)
            outcome = run.finish(LONGEST)
            self.assertEqual(outcome.status, 137 if victim == "rank" else 125, outcome)
            named = "rank 2" if victim == "rank" else f"{os.uname().nodename}-v2"
            self.assertTrue(any(named in line for line in outcome.lines()), outcome)
            self.assertEqual(run.left(), [])

    def test_a_rank_over_ofi(self):
        self.kill("ofi", "rank")

    def test_a_daemon_over_ofi(self):
        self.kill("ofi", "daemon")

    def test_a_rank_over_ucx(self):
        self.kill("ucx", "rank")

    def test_a_daemon_over_ucx(self):
        self.kill("ucx", "daemon")

    def test_a_rank_whose_card_is_read_over_ofi(self):
        self.kill("ofi", "rank", is_read=True)

    def test_a_daemon_of_a_card_that_is_read_over_ofi(self):
        self.kill("ofi", "daemon", is_read=True)

    def test_a_rank_whose_card_is_read_over_ucx(self):
        self.kill("ucx", "rank", is_read=True)

    def test_a_daemon_of_a_card_that_is_read_over_ucx(self):
        self.kill("ucx", "daemon", is_read=True)


class Idle(unittest.TestCase):
    """A job that has nothing to do sleeps on the card's event channel."""

    SECONDS = 10
    # A part of the time: a daemon that polls takes one of the guest's two processors, or most of it.
    MOST = 0.25

    @staticmethod
    def processor_seconds(pid):
        """What the process has used, itself and in the kernel."""
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def parts(self, pids):
        """Of a processor, each of them, while so many seconds pass."""
        begin, before = time.monotonic(), [self.processor_seconds(pid) for pid in pids]
        time.sleep(self.SECONDS)
        taken = time.monotonic() - begin
        return [(self.processor_seconds(pid) - used) / taken for pid, used in zip(pids, before)]

    def check(self, fabric):
        words = ["init", "put:200", "commit", "fence", "get:0", "get:1", "collect", "reach:here", "only:0", "hold", "all", "fence", "finalize"]
        with job(fabric, 2, words) as run:
            ranks = run.reach("here", 2)
            # After traffic a daemon looks for more, for some milliseconds; connections may still be made.
            time.sleep(2)
            parts = self.parts([run.server_of(ranks[rank]) for rank in (0, 1)])
            print(f"{fabric}: the daemons of an idle job take {', '.join(f'{100 * part:.1f} %' for part in parts)} of a processor", flush=True)
            self.assertLess(max(parts), self.MOST)
            run.release()
            good_end(self, run)

    def test_ofi(self):
        self.check("ofi")

    def test_ucx(self):
        self.check("ucx")

    def test_what_spins_is_seen(self):
        """So that the tests above could fail."""
        with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as spinning:
            self.addCleanup(spinning.kill)
            part, = self.parts([spinning.pid])
            spinning.kill()
        self.assertGreater(part, self.MOST)


if __name__ == "__main__":
    if not has_card():
        raise SystemExit(f"there is no {CARD} here: scripts/rdma_lab run ...")
    unittest.main(verbosity=2)

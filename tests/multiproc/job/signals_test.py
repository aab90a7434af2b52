# SPDX-License-Identifier: BSD-3-Clause
"""Signals that weftrun gets, and what the ranks see of them."""
import ctypes
import os
import signal
import subprocess
import time
import unittest

from weftrun_common import (finish, kill_quietly, lives, name_of, own_lines, parent, python, read_lines, start,
                            wait_until)

PTRACE_SEIZE = 0x4206


class Signals(unittest.TestCase):
    def setUp(self):
        self.jobs = []

    def tearDown(self):
        for job in self.jobs:
            kill_quietly(job)

    def job(self, *args, **options):
        self.jobs.append(start(*args, **options))
        return self.jobs[-1]

    def test_end_signals_reach_the_ranks(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            job = self.job("-n", "3", *python(
                "import signal,sys,os\n"
                "signal.signal(signal.SIGTERM, lambda *_: (os.write(1, b'ended\\n'), sys.exit(0)))\n"
                "os.write(1, b'ready\\n')\nwhile True: signal.pause()"))
            self.assertEqual(read_lines(job.stdout, 3), ["ready"] * 3)
            job.send_signal(number)
            status, out, err = finish(job)
            self.assertEqual(status, 128 + number, err)
            self.assertEqual(out, b"ended\n" * 3)
            self.assertEqual(len(own_lines(err)), 1, err)
            self.assertIn(signal.Signals(number).name, err.decode())

    def hold(self, pid):
        """A tracer that never waits: the process can be killed, but its parent does not get to see that it
        has ended."""
        libc = ctypes.CDLL(None, use_errno=True)
        libc.ptrace.argtypes = [ctypes.c_long] * 4
        if libc.ptrace(PTRACE_SEIZE, pid, 0, 0) != 0:
            self.skipTest(f"no process may be traced here: {os.strerror(ctypes.get_errno())}")
        self.addCleanup(os.waitpid, pid, 0)

    def held_job(self, *args):
        """A job whose rank 0 cannot be reaped by its parent."""
        job = self.job(*args, *python(
            "import ctypes,os,signal\n"
            "ctypes.CDLL(None).prctl(0x59616d61, -1, 0, 0, 0)\n"  # PR_SET_PTRACER_ANY
            "os.write(1, b'%d %d\\n' % (int(os.environ['PMIX_RANK']), os.getpid()))\nsignal.pause()"))
        ranks = dict(line.split() for line in read_lines(job.stdout, 2))
        self.hold(int(ranks["0"]))
        return job, ranks

    def test_a_rank_that_does_not_end_is_named_and_left(self):
        for nodes in ([], ["--virtual-nodes", "2"]):
            with self.subTest(nodes=nodes):
                job, ranks = self.held_job(*nodes, "-n", "2")
                job.terminate()
                status, _, err = finish(job)
                self.assertEqual(status, 125, err)
                self.assertIn(f"left behind, because SIGKILL has not ended it: rank 0 (pid {ranks['0']})".encode(), err)
                self.assertNotIn(b"rank 1 (pid", err)

    def test_a_third_signal_ends_weftrun_at_once(self):
        job, _ = self.held_job("-n", "2", "--verbose")
        for state in (b"-> stopping", b"-> killing", b"-> done"):
            job.terminate()
            while line := job.stderr.readline():
                if state in line:
                    break
            self.assertTrue(line, state)
        self.assertEqual(finish(job)[0], 125)

    def test_a_stopped_guard_keeps_nothing_from_ending(self):
        job = self.job("-n", "1", "sh", "-c", "echo ready; read x", stdin=subprocess.PIPE)
        self.assertEqual(read_lines(job.stdout, 1), ["ready"])
        guards = []

        def has_guard():  # it takes its name by itself, perhaps after the rank has spoken
            guards[:] = [int(pid) for pid in filter(str.isdigit, os.listdir("/proc"))
                         if parent(int(pid)) == job.pid and name_of(pid) == "weftrun-guard"]
            return len(guards) == 1
        wait_until(has_guard, "weftrun's guard")
        os.kill(guards[0], signal.SIGSTOP)
        job.stdin.write(b"go\n")
        job.stdin.flush()
        self.assertEqual(finish(job)[0], 0)
        self.assertFalse(lives(guards[0]))

    @unittest.skipUnless("ofi" in os.environ.get("TRANSPORTS", ""), "built without libfabric")
    def test_a_signal_while_the_fabric_is_loaded(self):
        """Libraries that libfabric loads take the end signals over, and their handlers hang."""
        env = {**os.environ, "WEFT_TRANSPORT": "ofi"}
        for after in range(12):
            job = self.job("--virtual-nodes", "2", "-n", "2", "sleep", "1000", env=env)
            try:
                job.wait(after * 0.03)
            except subprocess.TimeoutExpired:
                pass
            job.terminate()
            status, _, err = finish(job)
            self.assertIn(status, (128 + signal.SIGTERM, -signal.SIGTERM), err)

    def test_second_signal_kills_at_once(self):
        job = self.job("-n", "2", "sh", "-c",
                       "trap 'echo asked' TERM; echo $$; while :; do sleep 1000 & wait; done")
        pids = [int(line) for line in read_lines(job.stdout, 2)]
        job.send_signal(signal.SIGINT)
        self.assertEqual(read_lines(job.stdout, 2), ["asked"] * 2)
        self.assertTrue(all(lives(pid) for pid in pids))
        begin = time.monotonic()
        job.send_signal(signal.SIGINT)
        status, _, _ = finish(job)
        self.assertEqual(status, 130)
        self.assertLess(time.monotonic() - begin, 1.9)  # the time of grace is 2 seconds
        self.assertFalse(any(lives(pid) for pid in pids))

    def test_stubborn_ranks_are_killed_after_the_grace(self):
        job = self.job("-n", "2", "sh", "-c", "trap '' TERM; echo $$; while :; do sleep 1000; done")
        pids = [int(line) for line in read_lines(job.stdout, 2)]
        begin = time.monotonic()
        job.send_signal(signal.SIGTERM)
        status, _, _ = finish(job)
        self.assertEqual(status, 143)
        self.assertGreaterEqual(time.monotonic() - begin, 2)
        self.assertFalse(any(lives(pid) for pid in pids))

    def test_user_signals_are_relayed(self):
        job = self.job("-n", "2", *python(
            "import signal,os\n"
            "def see(n, f): os.write(1, b'%d\\n' % n)\n"
            "signal.signal(signal.SIGUSR1, see)\n"
            "signal.signal(signal.SIGURG, see)\n"
            "def last(n, f): see(n, f); os._exit(0)\n"
            "signal.signal(signal.SIGUSR2, last)\n"
            "os.write(1, b'ready\\n')\nwhile True: signal.pause()"))
        self.assertEqual(read_lines(job.stdout, 2), ["ready"] * 2)
        for number in (signal.SIGUSR1, signal.SIGURG):
            job.send_signal(number)
            self.assertEqual(read_lines(job.stdout, 2), [str(int(number))] * 2)
        job.send_signal(signal.SIGUSR2)
        status, out, err = finish(job)
        self.assertEqual(out.decode().split(), [str(int(signal.SIGUSR2))] * 2)
        self.assertEqual((status, err), (0, b""))

    def test_stop_and_continue(self):
        job = self.job("-n", "2", "sh", "-c", "echo $$; exec sleep 1000")
        pids = [int(line) for line in read_lines(job.stdout, 2)]
        job.send_signal(signal.SIGTSTP)
        for pid in pids + [job.pid]:
            wait_until(lambda: self.state(pid) == "T", f"the stop of {pid}")
        job.send_signal(signal.SIGCONT)
        for pid in pids + [job.pid]:
            wait_until(lambda: self.state(pid) != "T", f"the continuation of {pid}")
        job.terminate()
        self.assertEqual(finish(job)[0], 143)

    def test_a_stopped_rank_is_ended_too(self):
        job = self.job("-n", "1", "sh", "-c", "echo $$; exec sleep 1000")
        pid = int(read_lines(job.stdout, 1)[0])
        os.kill(pid, signal.SIGSTOP)
        wait_until(lambda: self.state(pid) == "T", "the stop")
        job.send_signal(signal.SIGTERM)
        self.assertEqual(finish(job)[0], 143)
        self.assertFalse(lives(pid))

    def test_nohup_stays_in_force(self):
        job = self.job("-n", "1", "sh", "-c", "echo ready; sleep 0.3; echo late",
                       preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        self.assertEqual(read_lines(job.stdout, 1), ["ready"])
        job.send_signal(signal.SIGHUP)
        status, out, err = finish(job)
        self.assertEqual((status, out), (0, b"late\n"), err)

    def test_ranks_start_with_the_usual_signals(self):
        job = self.job("-n", "1", "sh", "-c", "grep -E '^Sig(Blk|Ign|Cgt)' /proc/self/status")
        _, out, _ = finish(job)
        masks = dict(line.split(":\t") for line in out.decode().splitlines())
        self.assertEqual(int(masks["SigBlk"], 16), 0)
        self.assertFalse(int(masks["SigIgn"], 16) >> (signal.SIGPIPE - 1) & 1)
        self.assertFalse(int(masks["SigIgn"], 16) >> (signal.SIGTERM - 1) & 1)

    @staticmethod
    def state(pid):
        try:
            with open(f"/proc/{pid}/stat", "rb") as stat:
                return stat.read().rsplit(b")", 1)[1].split()[0].decode()
        except FileNotFoundError:
            return "gone"


if __name__ == "__main__":
    unittest.main()

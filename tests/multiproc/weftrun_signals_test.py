# SPDX-License-Identifier: BSD-3-Clause
"""Signals that weftrun gets, and what the ranks see of them."""
import os
import signal
import time
import unittest

from weftrun_common import finish, kill_quietly, lives, own_lines, python, read_lines, start, wait_until


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
            "def last(n, f): see(n, f); os._exit(0)\n"
            "signal.signal(signal.SIGUSR2, last)\n"
            "os.write(1, b'ready\\n')\nwhile True: signal.pause()"))
        self.assertEqual(read_lines(job.stdout, 2), ["ready"] * 2)
        job.send_signal(signal.SIGUSR1)
        self.assertEqual(read_lines(job.stdout, 2), [str(int(signal.SIGUSR1))] * 2)
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

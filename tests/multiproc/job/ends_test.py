# SPDX-License-Identifier: BSD-3-Clause
"""How jobs end: statuses, the one line, the time limit, and that nothing is left."""
import os
import subprocess
import tempfile
import time
import unittest

from weftrun_common import (CLIENT, PYTHON, WATCHDOG, WEFTRUN, finish, kill_quietly, lives, own_lines,
                            parent, python,
                            read_lines, repeated, run, start, wait_until, with_time_limits, with_variable)

HOST = os.uname().nodename


class Ends(unittest.TestCase):
    def failed(self, status, text, *args):
        """One line that names rank, host and pid, and no process left."""
        result = run(*args)
        self.assertEqual(result.returncode, status, result.stderr)
        lines = own_lines(result.stderr)
        self.assertEqual(len(lines), 1, result.stderr)
        self.assertRegex(lines[0], rf"weftrun: rank \d+ on {HOST} \(pid \d+, .*\) ")
        self.assertIn(text, lines[0])
        self.assertIn("What to do: ", lines[0])
        return lines[0]

    def test_success_is_silent(self):
        result = run("-n", "4", "true")
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, b"", b""))

    def test_status_of_the_first_that_fails(self):
        line = self.failed(3, "exited with status 3", "-n", "4", "sh", "-c",
                           'test $PMIX_RANK != 2 || exit 3; sleep 1000')
        self.assertIn("rank 2 on", line)
        self.failed(255, "exited with status 255", "-n", "1", "sh", "-c", "exit 255")

    def test_death_by_signal(self):
        line = self.failed(139, "signal 11 (SIGSEGV)", "-n", "3", "sh", "-c",
                           'test $PMIX_RANK != 1 || kill -SEGV $$; sleep 1000')
        self.assertIn("rank 1 on", line)
        self.failed(137, "signal 9 (SIGKILL)", "-n", "1", "sh", "-c", "kill -9 $$")

    def test_srun_that_fails_after_the_line_about_the_key(self):
        with tempfile.TemporaryDirectory() as folder:
            srun = os.path.join(folder, "srun")
            with open(srun, "w", encoding="utf-8") as file:
                file.write("#!/bin/sh\necho no such partition >&2\nexit 7\n")
            os.chmod(srun, 0o755)
            result = run("-n", "2", "true", env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "SLURM_JOB_ID": "7",
                                                 "SLURM_JOB_NODELIST": "n[1-2]", "SLURM_TASKS_PER_NODE": "1(x2)"})
        self.assertEqual(result.returncode, 125, result.stderr)
        text = result.stderr.decode()
        self.assertIn("the key of this job goes to its nodes through srun, in clear", text)
        self.assertRegex(text, "exited with status 7.*no such partition")

    def test_many_failures_are_one_line(self):
        self.failed(1, "exited with status 1", "-n", "16", "false")

    def test_quiet(self):
        result = run("--quiet", "-n", "2", "sh", "-c", "exit 4")
        self.assertEqual((result.returncode, result.stderr), (4, b""))

    def test_left_without_finalize(self):
        self.failed(1, "without PMIx_Finalize", "-n", "2", CLIENT, "init", "only:1", "exit:0", "all", "wait")

    def test_left_at_once_after_init(self):
        # PMIx_Init does not wait for the server, which has to hear of one that has ended by then, too.
        for _ in repeated(20):
            self.failed(1, "without PMIx_Finalize", "-n", "1", CLIENT, "init", "exit:0")
            line = self.failed(1, "without PMIx_Finalize",
                               "-n", "4", CLIENT, "init", "only:2", "exit:0", "all", "finalize")
            self.assertIn("rank 2 on", line)

    def test_failed_between_init_and_finalize(self):
        # PMIx_Init does not wait for the server, so weftrun need not know yet that it was called.
        self.failed(5, "exited with status 5",
                    "-n", "2", CLIENT, "init", "only:1", "exit:5", "all", "wait")

    def test_failed_after_finalize(self):
        line = self.failed(6, "exited with status 6", "-n", "1", CLIENT, "init", "finalize", "exit:6")
        self.assertNotIn("PMIx_Init", line)

    def test_killed_between_init_and_finalize(self):
        self.failed(137, "SIGKILL", "-n", "2", CLIENT, "init", "only:0", "signal:9", "all", "wait")

    def test_abort(self):
        line = self.failed(42, "called PMIx_Abort", "-n", "3", CLIENT, "init", "only:1", "abort:42", "all",
                           "wait")
        self.assertIn("rank 1 on", line)
        self.assertIn("so it was told", line)

    def test_abort_status_keeps_the_job_failed(self):
        self.failed(1, "with status 256", "-n", "2", CLIENT, "init", "only:0", "abort:256", "all", "wait")

    def test_abort_of_another_rank(self):
        line = self.failed(7, "for ranks 1", "-n", "2", CLIENT, "init", "only:0", "abort:7:1", "finalize",
                           "exit:0",
                           "all", "wait")
        self.assertIn("these ranks were ended", line)

    def test_time_limit(self):
        def try_limit(seconds):
            begin = time.monotonic()
            result = run("--timeout", str(seconds), "-n", "3", "sh", "-c", "test $PMIX_RANK = 1 || exec sleep 1000")
            self.assertEqual(result.returncode, 124)
            self.assertGreaterEqual(time.monotonic() - begin, seconds)
            lines = own_lines(result.stderr)
            self.assertIn(len(lines), (1, 2))  # before it, where ranks are that run
            self.assertIn(f"--timeout {seconds:g} seconds: ", lines[-1])
            return "2 of 3 ranks still ran (rank 0,2)" in lines[-1] and lines[0].startswith("weftrun: where ranks are; 2 run:")
        with_time_limits(try_limit)

    def test_time_limit_of_a_job_that_ends_in_time(self):
        self.assertEqual(run("--timeout", "1000", "-n", "2", "true").returncode, 0)

    def test_time_limit_holds_for_a_slow_reader(self):
        job = start("--timeout", "0.2", "-n", "1", "sh", "-c", "head -c 1000000 /dev/zero")
        try:
            wait_until(lambda: job.poll() is not None, "the end of a job whose output no process reads")
            self.assertEqual(job.returncode, 124)
        finally:
            kill_quietly(job)

    def test_time_limit_holds_when_only_the_reader_is_late(self):
        # Every rank can write into its pipe and leave, but the pipe to us does not hold it all.
        def try_limit(seconds):
            job = start("--timeout", str(seconds), "-n", "3", "sh", "-c", "head -c 40000 /dev/zero")
            try:
                wait_until(lambda: job.poll() is not None, "the end of a job whose last output no process reads")
                self.assertEqual(job.returncode, 124)
                return "not being read" in job.stderr.read().decode()
            finally:
                kill_quietly(job)
        with_time_limits(try_limit)

    def test_ranks_that_refuse_to_end_are_killed(self):
        job = start("-n", "2", "sh", "-c",
                    "trap '' TERM; echo $$; test $PMIX_RANK = 1 && sleep 0.1 && exit 8; "
                    "while :; do sleep 1000; done")
        pids = [int(line) for line in read_lines(job.stdout, 2)]
        status, _, _ = finish(job)
        self.assertEqual(status, 8)
        self.assertFalse(any(lives(pid) for pid in pids))

    def test_nothing_is_left_of_what_ranks_started(self):
        # One in the rank's process group, one in a session of its own, both holding the output open.
        job = start("-n", "2", "sh", "-c",
                    "sleep 1000 & echo $!; setsid sh -c 'echo $$; exec sleep 1000' & sleep 0.3")
        pids = [int(line) for line in read_lines(job.stdout, 4)]
        status, _, _ = finish(job)
        self.assertEqual(status, 0)
        self.assertEqual([pid for pid in pids if lives(pid)], [])

    def test_nothing_is_left_after_a_kill_of_weftrun(self):
        job = start("-n", "3", "sh", "-c", "sleep 1000 & setsid sleep 1000 & echo $$ $!; wait")
        pids = [int(pid) for line in read_lines(job.stdout, 3) for pid in line.split()]
        self.assertEqual([pid for pid in pids if not lives(pid)], [])
        guards = [int(pid) for pid in os.listdir("/proc") if pid.isdigit() and parent(pid) == job.pid]
        job.kill()
        job.wait()
        wait_until(lambda: not any(lives(pid) for pid in pids + guards), f"the end of {pids} and {guards}")
        kill_quietly(job)

    def test_nothing_is_left_after_a_kill_of_weftrun_during_the_start(self):
        with tempfile.TemporaryDirectory() as directory:
            for delay in (0.001, 0.003, 0.006, 0.01, 0.02, 0.04):
                mark = os.path.join(directory, str(delay))
                job = start("-n", "16", "-x", "WEFT_TEST_MARK=" + mark, "sleep", "1000",
                            stdout=subprocess.DEVNULL,
                            stderr=subprocess.DEVNULL)
                time.sleep(delay)  # a moment to hit, not something to wait for
                job.kill()
                job.wait()
                wait_until(lambda: not with_variable("WEFT_TEST_MARK=" + mark), "the end of all ranks")

    def test_a_rank_sees_the_end_of_weftrun_at_any_time(self):
        # The guard gone as well: the ranks themselves still die with weftrun.
        job = start("-n", "2", "sh", "-c", "echo $$; exec sleep 1000")
        pids = [int(line) for line in read_lines(job.stdout, 2)]
        for pid in os.listdir("/proc"):
            if pid.isdigit() and parent(pid) == job.pid and int(pid) not in pids:
                os.kill(int(pid), 9)
        job.kill()
        job.wait()
        wait_until(lambda: not any(lives(pid) for pid in pids), f"the end of {pids}")
        kill_quietly(job)

    def test_children_that_weftrun_had_before_are_spared(self):
        code = ("import os,subprocess,sys\nold = subprocess.Popen(['sleep', '1000'], stdout=subprocess.DEVNULL)\n"
                "print(old.pid, flush=True)\n"
                "os.execv(sys.argv[1], sys.argv[1:])")
        result = subprocess.run([PYTHON, "-c", code, WEFTRUN, "-n", "2", "sh", "-c",
                                 "setsid sleep 1000 & echo $!"],
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, timeout=WATCHDOG)
        old, *left = [int(line) for line in result.stdout.split()]
        try:
            self.assertEqual(result.returncode, 0)
            self.assertTrue(lives(old))
            self.assertEqual([pid for pid in left if lives(pid)], [])
        finally:
            os.kill(old, 9)

    def test_last_words_come_before_the_line(self):
        for _ in range(20):
            result = run("-n", "2", "sh", "-c",
                         "test $PMIX_RANK = 0 || exec sleep 1000; echo last words >&2; exit 9")
            self.assertEqual(result.returncode, 9)
            self.assertTrue(result.stderr.startswith(b"last words\nweftrun: rank 0 "), result.stderr)

    def test_early_leavers_do_not_end_the_job(self):
        result = run("-n", "3", "sh", "-c", "test $PMIX_RANK != 2 || { sleep 0.2; echo last; }")
        self.assertEqual((result.returncode, result.stdout), (0, b"last\n"), result.stderr)


if __name__ == "__main__":
    unittest.main()

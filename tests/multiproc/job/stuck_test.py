# SPDX-License-Identifier: BSD-3-Clause
"""Where ranks are: --report-stuck, --timeout and SIGQUIT; a program of the test takes eu-stack's place."""
import contextlib
import os
import pathlib
import re
import signal
import socket
import stat
import subprocess
import tempfile
import time
import unittest

from weftrun_common import CLIENT, finish, kill_quietly, lives, name_of, own_lines, parent, run, start, wait_until, with_time_limits

SHAPES = {"one node": (), "two nodes": ("--virtual-nodes", "2:2")}
# Ranks 0 to 2 wait for rank 3.
STUCK = (CLIENT, "init", "only:3", "wait", "all", "fence", "finalize")
SHOWS = """#!/bin/sh
echo "PID $5 - process"
echo "#0  0x00007f00$5 poll"
echo "#1  0x000055$5 main"
"""


@contextlib.contextmanager
def folder():
    with tempfile.TemporaryDirectory(prefix="stuck_") as name:
        yield pathlib.Path(name)


def environment(path, **more):
    return {**os.environ, "PATH": str(path), **more}


def make_tool(where, text):
    """A program of that folder that is taken for eu-stack: its words are -1 -n 64 -p PID."""
    tool = where / "eu-stack"
    tool.write_text(text)
    tool.chmod(tool.stat().st_mode | stat.S_IXUSR)


def ranks_of(text):
    """The numbers of "0-2,7"."""
    for each in text.split(","):
        first, _, last = each.partition("-")
        yield from range(int(first), int(last or first) + 1)


def in_places(said):
    """The ranks whose place and stack are told whole. Those that the kernel has in one place stand together;
    each is in its own where it runs."""
    places = re.findall(r"    ranks? ([0-9,-]+): (?:sleeps in \S+|runs)\n      #0 poll\n      #1 main\n", said)
    return {rank for each in places for rank in ranks_of(each)}


def reports_of(job):
    """Asks again and again where ranks are; the answers, each of which the head of the next ends."""
    text = ""
    while True:
        job.send_signal(signal.SIGQUIT)
        while not (line := job.stderr.readline().decode()).startswith("weftrun: where ranks are"):
            if not line:
                raise AssertionError(f"the job has ended; it has said: {text}")
            text += line
        if text:
            yield text
        text = line


class Stuck(unittest.TestCase):
    def timed_out(self, *args, is_whole, **options):
        """What a job has said that its limit has ended, once its ranks had come as far as the test wants."""
        said = []

        def try_limit(seconds):
            done = run("--timeout", str(seconds), *args, **options)
            self.assertEqual(done.returncode, 124, done.stderr.decode())
            said[:] = [done.stderr.decode()]
            return is_whole(said[0])
        with_time_limits(try_limit)
        return said[0]

    def test_a_time_limit_says_where_each_rank_is(self):
        for shape, options in SHAPES.items():
            with self.subTest(shape=shape), folder() as where:
                make_tool(where, SHOWS)
                said = self.timed_out(*options, "-n", "4", *STUCK, env=environment(where),
                                      is_whole=lambda text: "ranks 0-2 of" in text and in_places(text) == {0, 1, 2, 3})
                self.assertRegex(said, r"weftrun: where ranks are; 4 run:\n")
                self.assertRegex(said, r"  ranks 0-2 of \S*weftrun_client: PMIx_Fence of all ranks")
                self.assertRegex(said, r"    rank 0 \(pid \d+ on \S+\), rank 1 \(pid")
                self.assertRegex(said, r"  rank 3 of \S*weftrun_client: in no call of PMIx that its server knows of")
                self.assertEqual(len(own_lines(said.encode())), 2)

    def test_a_get_is_named_with_its_key_and_rank(self):
        for shape, options in SHAPES.items():
            with self.subTest(shape=shape), folder() as where:
                said = self.timed_out(*options, "-n", "4", CLIENT, "init", "only:0", "get:3", "all", "wait", env=environment(where),
                                      is_whole=lambda text: "rank 0 of" in text and "ranks 1-3 of" in text)
                self.assertRegex(said, r"  rank 0 of \S*: PMIx_Get of (key of rank 3|what rank 3 has committed)")

    def test_without_a_program_for_stacks_a_line_says_so(self):
        with folder() as where:
            said = self.timed_out("-n", "1", CLIENT, "init", "wait", env=environment(where), is_whole=lambda text: "rank 0 of" in text)
            self.assertIn("no stacks: neither eu-stack nor gdb is in PATH", said)

    def test_what_the_program_says_in_the_place_of_a_stack_is_told(self):
        with folder() as where:
            make_tool(where, "#!/bin/sh\necho 'eu-stack: not permitted' >&2\nexit 1\n")
            said = self.timed_out("-n", "2", CLIENT, "init", "wait", env=environment(where), is_whole=lambda text: "ranks 0-1 of" in text)
            self.assertIn("eu-stack: eu-stack: not permitted", said)

    def test_the_program_gets_no_variable_of_the_launcher(self):
        with folder() as where:
            make_tool(where, f"#!/bin/sh\n/usr/bin/env > {where}/seen\n")
            self.timed_out("-n", "1", CLIENT, "init", "wait", env=environment(where, LD_PRELOAD="", DEBUGINFOD_URLS="http://x", WEFT_LOG="warn"),
                           is_whole=lambda text: (where / "seen").exists())
            names = {line.split("=")[0] for line in (where / "seen").read_text().splitlines()}
            self.assertLessEqual(names, {"PATH", "LC_ALL", "HOME", "TERM", "PWD", "OLDPWD", "SHLVL", "_"})

    def test_a_program_that_hangs_is_not_waited_for(self):
        for shape, options in SHAPES.items():
            with self.subTest(shape=shape), folder() as where:
                make_tool(where, f"#!/bin/sh\necho $$ >> {where}/pids\nwhile :; do :; done\n")
                said = self.timed_out(*options, "-n", "2", CLIENT, "init", "wait", env=environment(where),
                                      is_whole=lambda text: "ranks 0-1 of" in text)
                self.assertIn("the time for stacks was over before", said)
                # A daemon may be at its end still when weftrun has ended.
                pids = (where / "pids").read_text().split()
                wait_until(lambda: not any(lives(pid) for pid in pids), "the end of what hangs")

    def test_a_user_asks_and_the_job_goes_on(self):
        for shape, options in SHAPES.items():
            with self.subTest(shape=shape), folder() as where:
                make_tool(where, SHOWS)
                go = where / "go"
                job = start(*options, "-n", "4", CLIENT, "init", "only:3", "say:there", f"until:{go}", "all", "fence", "finalize",
                            env=environment(where))
                try:
                    self.assertEqual(job.stdout.readline(), b"there\n")
                    # Those may not be in their fence yet, and a machine may be too busy for stacks.
                    text = next(each for each in reports_of(job) if "ranks 0-2 of" in each and in_places(each) == {0, 1, 2, 3})
                    self.assertIn("PMIx_Fence of all ranks", text)
                    go.touch()
                    finish(job)
                    self.assertEqual(job.returncode, 0)
                finally:
                    kill_quietly(job)

    def test_a_user_of_a_service_asks_about_the_own_job(self):
        for nodes in (("-H", f"{socket.gethostname()}:8"), ("--virtual-nodes", "2:4")):
            with self.subTest(nodes=nodes), folder() as where:
                make_tool(where, SHOWS)
                name = f"stuck-{os.getpid()}"
                service = start(f"--dvm={name}", *nodes, env=environment(where))
                jobs = []
                try:
                    self.assertTrue(service.stderr.readline(), "it is ready")
                    for ranks in ("1", "2"):
                        jobs.append(start(f"--attach={name}", "-n", ranks, CLIENT, "init", "wait"))
                        self.assertEqual(jobs[-1].stdout.readline(), b"waiting\n")
                    jobs[1].send_signal(signal.SIGQUIT)
                    self.assertEqual(jobs[1].stderr.readline(), b"weftrun: where ranks are; 2 run:\n")
                    service.send_signal(signal.SIGQUIT)  # of all jobs; each user hears of the own one
                    self.assertEqual(jobs[0].stderr.readline(), b"weftrun: where ranks are; 1 runs:\n")
                finally:
                    run(f"--stop-dvm={name}")
                    for process in (service, *jobs):
                        finish(process)

    def test_a_stuck_job_is_reported_once_and_goes_on(self):
        for shape, options in SHAPES.items():
            with self.subTest(shape=shape), folder() as where:
                go = where / "go"
                job = start("--report-stuck=0.5", *options, "-n", "4", CLIENT, "init", "only:3", f"until:{go}", "all", "fence", "finalize",
                            env=environment(where))
                try:
                    text = b""
                    while b"no stacks" not in text:
                        line = job.stderr.readline()
                        self.assertTrue(line, text)
                        text += line
                    # One of them may be late.
                    self.assertRegex(text.decode(), r"  ranks? [0-2,-]+ of \S*: PMIx_Fence of all ranks")
                    go.touch()
                    _, _, rest = finish(job)
                    self.assertEqual(job.returncode, 0)
                    self.assertNotIn(b"where ranks are", rest)
                finally:
                    kill_quietly(job)

    def test_a_job_that_does_not_wait_is_not_reported(self):
        with folder() as where:
            go = where / "go"
            job = start("--report-stuck=0.1", "-n", "1", CLIENT, "init", "fence", "say:there", f"until:{go}", "finalize",
                        env=environment("/none"))
            try:
                self.assertEqual(job.stdout.readline(), b"there\n")
                time.sleep(1)  # ten times as long as a rank may wait: nothing is to come
                go.touch()
                _, _, said = finish(job)
                self.assertEqual((job.returncode, said), (0, b""))
            finally:
                kill_quietly(job)
        quiet = run("--report-stuck=0.1", "-q", "--timeout", "1", "-n", "2", *STUCK[:2], "only:1", "wait", "all", "fence")
        self.assertEqual((quiet.returncode, quiet.stderr), (124, b""))

    def test_a_node_that_does_not_answer_is_named(self):
        with folder() as where:
            job = start("--virtual-nodes", "2:2", "-n", "4", CLIENT, "init", "only:3", "say:there", "wait", "all", "fence",
                        env=environment(where, WEFT_LOST_AFTER="100"))
            daemons = []
            try:
                self.assertEqual(job.stdout.readline(), b"there\n")
                daemons = [int(pid) for pid in filter(str.isdigit, os.listdir("/proc")) if name_of(pid) == "weftd" and parent(int(pid)) == job.pid]
                self.assertEqual(len(daemons), 2)
                os.kill(daemons[1], signal.SIGSTOP)
                job.send_signal(signal.SIGQUIT)
                text = b""
                while b"has not answered" not in text:
                    line = job.stderr.readline()
                    self.assertTrue(line, text)
                    text += line
                self.assertRegex(text.decode(), r"  \S+-v[01] has not answered: nothing is known of ranks \d-\d\n")
            finally:
                for pid in daemons:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGCONT)
                job.send_signal(signal.SIGTERM)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    job.communicate(timeout=30)
                kill_quietly(job)

    def test_the_option_takes_seconds(self):
        refused = run("--report-stuck=never", "-n", "1", "true")
        self.assertEqual(refused.returncode, 2)
        self.assertIn(b"--report-stuck 'never' is not a time", refused.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)

# SPDX-License-Identifier: BSD-3-Clause
"""weftrun and its daemons on virtual nodes: standard IO, ends, signals, losses, and that nothing is left."""
import contextlib
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest
import uuid

from weftrun_common import (CLIENT, WATCHDOG, WEFTRUN, finish, kill_quietly, lives, name_of, own_lines, parent, python,
                            read_lines, repeated, run, shared_memory, shared_memory_of, wait_until,
                            with_time_limits, with_variable)

HOST = os.uname().nodename
TWO = ["--virtual-nodes", "2"]


class Nodes(unittest.TestCase):
    """Every job of a test has a mark in its environment; when the test is over nothing may have it any
    more."""

    def setUp(self):
        self.mark = "WEFT_TEST_MARK=" + uuid.uuid4().hex
        self.files = tempfile.mkdtemp()
        name, value = self.mark.split("=")
        self.env = dict(os.environ, TMPDIR=self.files, **{name: value})
        self.jobs = []
        self.memory_before = shared_memory()

    def tearDown(self):
        for job in self.jobs:
            kill_quietly(job)
        wait_until(lambda: not with_variable(self.mark), "the end of all processes")
        left = os.listdir(self.files)
        shutil.rmtree(self.files)
        self.assertEqual(left, [])
        for job in self.jobs:
            self.assertEqual(shared_memory_of(job.pid, self.memory_before), [])

    def run(self, *args, **options):
        # unittest's own run() has a result, not words
        if args and isinstance(args[0], unittest.TestResult):
            return super().run(*args, **options)
        return run(*args, env=self.env, **options)

    def start(self, *args, **options):
        defaults = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "bufsize": 0,
                    "env": self.env}
        self.jobs.append(subprocess.Popen([WEFTRUN, *args], **{**defaults, **options}))
        return self.jobs[-1]

    def daemons(self, count):
        """Their pids, by the number of their node."""
        def found():
            return [pid for pid in with_variable(self.mark) if name_of(pid) == "weftd"]
        wait_until(lambda: len(found()) == count, f"{count} daemons")
        return found()

    def told_once(self, err, *texts):
        lines = own_lines(err)
        self.assertEqual(len(lines), 1, err)
        for text in texts:
            self.assertIn(text, lines[0])


class Output(Nodes):
    def test_every_rank_runs_once_and_knows_its_place(self):
        result = self.run("--virtual-nodes", "3", "-n", "7", "sh", "-c",
                          "echo $PMIX_RANK $OMPI_COMM_WORLD_RANK $OMPI_COMM_WORLD_SIZE "
                          "$OMPI_COMM_WORLD_LOCAL_RANK $OMPI_COMM_WORLD_LOCAL_SIZE")
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        places = [[int(word) for word in line.split()] for line in result.stdout.splitlines()]
        self.assertEqual(sorted(place[0] for place in places), list(range(7)))
        self.assertTrue(all(place[0] == place[1] and place[2] == 7 for place in places))
        shares = sorted(place[4] for place in places)
        # Each node's ranks agree on how many they are.
        self.assertEqual(sum(1 / share for share in shares), 3)
        self.assertTrue(all(place[3] < place[4] for place in places))

    def test_keys(self):
        result = self.run(*TWO, "--tag-output", "-n", "4", CLIENT, "init", "keys", "finalize")
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        keys = {}
        for line in result.stdout.decode().splitlines():
            rank, text = line.split(" ", 1)
            name, value = text.split("=", 1)
            keys.setdefault(rank.strip("[]"), {})[name] = value
        self.assertEqual(sorted(keys), ["0", "1", "2", "3"])
        self.assertEqual({key["num_nodes"] for key in keys.values()}, {"2"})
        self.assertEqual({key["local_size"] for key in keys.values()}, {"2"})
        for key in keys.values():
            self.assertEqual(key["hostname"], f"{HOST}-v{key['nodeid']}")
            self.assertIn(key["rank"], key["local_peers"].split(","))

    def test_slots_of_each_node(self):
        # Five ranks on the first node, three on the second; whether three outnumber its processors is for the
        # second to say.
        result = self.run("--virtual-nodes", "2:3", "-n", "8", CLIENT, "init", "slots:0", "slots:1", "finalize")
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        lines = result.stdout.decode().splitlines()
        self.assertEqual(lines.count("slots of 0: 3 over"), 8)
        self.assertEqual(sum(line.startswith("slots of 1: 3 ") for line in lines), 8)

    def test_all_bytes_come_in_their_order(self):
        result = self.run("--virtual-nodes", "4", "-n", "8", "--tag-output", "seq", "30000")
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        seen = {}
        for line in result.stdout.decode().splitlines():
            tag, number = line.split()
            self.assertEqual(int(number), seen.get(tag, 0) + 1)
            seen[tag] = int(number)
        self.assertEqual(seen, {f"[{rank}]": 30000 for rank in range(8)})

    def test_both_streams(self):
        result = self.run(*TWO, "-n", "2", "sh", "-c", "echo out; echo err >&2")
        self.assertEqual((result.stdout, result.stderr), (b"out\n" * 2, b"err\n" * 2))

    def test_a_slow_reader_stops_the_ranks(self):
        job = self.start(*TWO, "-n", "2", *python(
            "import os\nfor i in range(1000): os.write(2, b'%d\\n' % i) and os.write(1, b'x' * 65536)"),
            stderr=subprocess.PIPE)
        said = []

        def has_said():
            said.extend(map(int, (job.stderr.read() or b"").split()))
            return said

        # What fits into pipes and buffers on the way, of which the kernel's for a connection grow to 10 MiB,
        # is below half of the 64 MiB of each rank.
        os.set_blocking(job.stderr.fileno(), False)
        wait_until(has_said, "the first line of a rank")
        begin = time.monotonic()
        while time.monotonic() - begin < 1:
            has_said()
            time.sleep(0.05)
        self.assertLess(max(said), 500)
        os.set_blocking(job.stderr.fileno(), True)
        status, out, _ = finish(job)
        self.assertEqual((status, len(out)), (0, 2 * 1000 * 65536))

    def test_a_reader_that_goes_is_told_to_the_writers(self):
        job = self.start(*TWO, "-n", "2", "yes")
        read_lines(job.stdout, 2)
        job.stdout.close()
        self.assertEqual(job.wait(timeout=WATCHDOG), 128 + signal.SIGPIPE)

    def test_files(self):
        with tempfile.TemporaryDirectory() as directory:
            result = self.run(*TWO, "--output-dir", directory, "-n", "4", "sh", "-c",
                              "seq 20000; echo e$PMIX_RANK >&2")
            self.assertEqual((result.returncode, result.stdout, result.stderr), (0, b"", b""))
            numbers = "".join(f"{i}\n" for i in range(1, 20001))
            for rank in range(4):
                with open(f"{directory}/rank.{rank}.out", encoding="ascii") as out:
                    self.assertEqual(out.read(), numbers)
                with open(f"{directory}/rank.{rank}.err", encoding="ascii") as err:
                    self.assertEqual(err.read(), f"e{rank}\n")

    def test_last_words_come_before_the_line(self):
        for _ in range(5):
            result = self.run(*TWO, "-n", "2", "sh", "-c",
                              "test $PMIX_RANK = 1 || exec sleep 1000; seq 5000 >&2; echo last words >&2; exit 9")
            self.assertEqual(result.returncode, 9)
            self.assertIn(b"5000\nlast words\nweftrun: rank 1 ", result.stderr)

    def test_what_ranks_leave_behind_is_ended(self):
        result = self.run(*TWO, "-n", "2", "sh", "-c", "sleep 1000 & echo $!")
        self.assertEqual(result.returncode, 0)
        self.assertFalse(any(lives(int(pid)) for pid in result.stdout.split()))


class Input(Nodes):
    def test_of_one_rank_on_any_node(self):
        data = b"".join(b"%d\n" % i for i in range(200000))
        for rank in range(3):
            result = self.run("--virtual-nodes", "3", "--stdin", str(rank), "--tag-output", "-n", "3", "wc", "-c",
                              data=data)
            self.assertEqual(result.returncode, 0, result.stderr)
            counts = dict(line.split() for line in result.stdout.decode().splitlines())
            self.assertEqual(counts, {f"[{r}]": str(len(data) if r == rank else 0) for r in range(3)})

    def test_of_all(self):
        data = os.urandom(300000)
        result = self.run(*TWO, "--stdin", "all", "-n", "4", "sh", "-c", "sha256sum | cut -c1-64", data=data)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(len(set(result.stdout.split())), 1)
        self.assertEqual(len(result.stdout.split()), 4)

    def test_of_none(self):
        result = self.run(*TWO, "--stdin", "none", "-n", "2", "cat", data=b"no")
        self.assertEqual((result.returncode, result.stdout), (0, b""))

    def test_a_rank_that_does_not_read_holds_no_other_up(self):
        # The end of input is not needed for the job's end.
        job = self.start(*TWO, "--stdin", "1", "-n", "2", "sh", "-c", "test $PMIX_RANK = 0 || head -c 2",
                         stdin=subprocess.PIPE, bufsize=0)
        with self.assertRaises(BrokenPipeError):  # told so as soon as no rank reads any more
            for _ in range(1000):
                job.stdin.write(b"ab" * 500000)
        self.assertEqual(job.stdout.read(), b"ab")
        self.assertEqual(job.wait(timeout=WATCHDOG), 0)
        job.stdin.close()
        job.stdin = None


class Ends(Nodes):
    def test_status_of_the_first_that_fails(self):
        result = self.run(*TWO, "-n", "4", "sh", "-c", "test $PMIX_RANK != 3 || exit 5; sleep 1000")
        self.assertEqual(result.returncode, 5)
        self.told_once(result.stderr, f"rank 3 on {HOST}-v1 (pid ", "exited with status 5")

    def test_death_by_signal(self):
        result = self.run(*TWO, "-n", "4", "sh", "-c", "test $PMIX_RANK != 2 || kill -SEGV $$; sleep 1000")
        self.assertEqual(result.returncode, 139)
        self.told_once(result.stderr, "rank 2 on", "SIGSEGV")

    def test_abort(self):
        result = self.run(*TWO, "-n", "4", CLIENT, "init", "only:3", "abort:42", "all", "wait")
        self.assertEqual(result.returncode, 42)
        self.told_once(result.stderr, "rank 3 on", "called PMIx_Abort", "so it was told")

    def test_abort_of_a_rank_of_another_node(self):
        result = self.run(*TWO, "-n", "2", CLIENT, "init", "only:0", "abort:7:1", "finalize", "exit:0", "all", "wait")
        self.assertEqual(result.returncode, 7)
        self.told_once(result.stderr, "for ranks 1", "these ranks were ended")

    def test_left_without_finalize(self):
        for steps in (["init", "only:1", "exit:0", "all", "wait"], ["init", "only:1", "exit:0", "all", "finalize"]):
            result = self.run(*TWO, "-n", "2", CLIENT, *steps)
            self.assertEqual(result.returncode, 1)
            self.told_once(result.stderr, "rank 1 on", "without PMIx_Finalize")

    def test_time_limit(self):
        def try_limit(seconds):
            result = self.run(*TWO, "--timeout", str(seconds), "-n", "4", "sh", "-c", "test $PMIX_RANK != 1 || exit 0; sleep 1000")
            self.assertEqual(result.returncode, 124)
            _, begin, rest = result.stderr.rpartition(b"weftrun: the job ")  # behind where its ranks are
            self.told_once(begin + rest, f"did not end within --timeout {seconds:g} seconds")
            return b"3 of 4 ranks still ran (rank 0,2-3)" in result.stderr
        with_time_limits(try_limit)

    def test_a_program_that_no_node_has(self):
        result = self.run(*TWO, "-n", "2", "/no/such/program")
        self.assertEqual(result.returncode, 127)
        self.told_once(result.stderr, f"[{HOST}-v", "'/no/such/program' does not exist")

    def test_a_program_that_cannot_run(self):
        with tempfile.NamedTemporaryFile("w", suffix=".sh") as script:
            script.write("#!/no/such/interpreter\n")
            script.flush()
            os.chmod(script.name, 0o755)
            copy = script.name + ".copy"
            shutil.copy(script.name, copy)
            try:
                result = self.run(*TWO, "-n", "4", copy)
            finally:
                os.unlink(copy)
        self.assertEqual(result.returncode, 126)
        self.told_once(result.stderr, "cannot start", f"on {HOST}-v")


class Signals(Nodes):
    def test_end_signals_reach_all_nodes(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            job = self.start(*TWO, "-n", "4", *python(
                "import signal,sys,os\n"
                "signal.signal(signal.SIGTERM, lambda *_: (os.write(1, b'ended\\n'), sys.exit(0)))\n"
                "os.write(1, b'ready\\n')\nwhile True: signal.pause()"))
            self.assertEqual(read_lines(job.stdout, 4), ["ready"] * 4)
            job.send_signal(number)
            status, out, err = finish(job)
            self.assertEqual((status, out), (128 + number, b"ended\n" * 4), err)
            self.told_once(err, signal.Signals(number).name)

    def test_stubborn_ranks_are_killed_after_the_grace(self):
        job = self.start(*TWO, "-n", "2", "sh", "-c", "trap '' TERM; echo $$; while :; do sleep 1000; done")
        pids = [int(line) for line in read_lines(job.stdout, 2)]
        job.send_signal(signal.SIGTERM)
        self.assertEqual(finish(job)[0], 143)
        self.assertFalse(any(lives(pid) for pid in pids))

    def test_user_signals_are_relayed(self):
        job = self.start(*TWO, "-n", "2", *python(
            "import signal,os\n"
            "def last(n, f): os.write(1, b'%d\\n' % n); os._exit(0)\n"
            "signal.signal(signal.SIGUSR2, last)\n"
            "os.write(1, b'ready\\n')\nwhile True: signal.pause()"))
        self.assertEqual(read_lines(job.stdout, 2), ["ready"] * 2)
        job.send_signal(signal.SIGUSR2)
        status, out, err = finish(job)
        self.assertEqual(out.decode().split(), [str(int(signal.SIGUSR2))] * 2)
        self.assertEqual((status, err), (0, b""))

    def test_stop_and_continue(self):
        job = self.start(*TWO, "-n", "2", "sh", "-c", "echo $$; exec sleep 1000")
        pids = [int(line) for line in read_lines(job.stdout, 2)]

        def state(pid):
            with open(f"/proc/{pid}/stat", "rb") as stat:
                return stat.read().rsplit(b")", 1)[1].split()[0]
        job.send_signal(signal.SIGTSTP)
        wait_until(lambda: all(state(pid) == b"T" for pid in pids), "the stop of all ranks")
        job.send_signal(signal.SIGCONT)
        wait_until(lambda: all(state(pid) != b"T" for pid in pids), "their continuation")
        job.terminate()
        self.assertEqual(finish(job)[0], 143)


class Losses(Nodes):
    def job(self, **settings):
        job = self.start("--virtual-nodes", "3", "-n", "6", "sh", "-c", "setsid sleep 1000 & echo $$ $!; exec sleep 1000",
                         env={**self.env, **settings})
        pids = [int(word) for line in read_lines(job.stdout, 6) for word in line.split()]
        return job, pids, self.daemons(3)

    def test_a_daemon_that_is_killed_ends_the_job(self):
        for victim in range(3):
            job, pids, daemons = self.job()
            os.kill(daemons[victim], signal.SIGKILL)
            status, _, err = finish(job)
            self.assertEqual(status, 125, err)
            self.told_once(err, f"node {HOST}-v", "is lost", "killed by signal 9", "the job was ended")
            self.assertNotIn(b"--version", err)
            wait_until(lambda: not any(lives(pid) for pid in pids + daemons), "the end of all")

    def test_a_daemon_that_does_not_answer_is_lost(self):
        job, pids, daemons = self.job(WEFT_LOST_AFTER="2")
        os.kill(daemons[1], signal.SIGSTOP)
        status, _, err = finish(job)
        self.assertEqual(status, 125, err)
        self.told_once(err, f"node {HOST}-v", "is lost")
        wait_until(lambda: not any(lives(pid) for pid in pids + daemons), "the end of all")

    def test_weftrun_that_is_killed_takes_all_along(self):
        job, pids, daemons = self.job()
        job.kill()
        job.wait()
        wait_until(lambda: not any(lives(pid) for pid in pids + daemons), "the end of all")

    def test_a_daemon_that_is_stopped_before_it_reports(self):
        """weftrun has not heard of it, so only the time for the launch counts; WEFT_LOST_AFTER is beyond the
        watchdog."""
        env = dict(self.env, WEFT_LAUNCH_TIMEOUT="0.5", WEFT_LOST_AFTER="1000")
        with tempfile.TemporaryDirectory() as folder:
            stopped = os.path.join(folder, "weftd")
            with open(stopped, "w", encoding="ascii") as script:
                script.write(f"#!/bin/sh\necho $$ >>{folder}/pids\nkill -STOP $$\n")
            os.chmod(stopped, 0o700)
            result = run(*TWO, "-n", "2", "--weftd", stopped, "true", env=env)
            self.assertEqual(result.returncode, 125, result.stderr)
            self.told_once(result.stderr, "has not reported within 0.5 seconds", "What to do")
            with open(os.path.join(folder, "pids"), encoding="ascii") as pids:
                self.assertFalse([pid for pid in pids.read().split() if lives(int(pid))])

    @unittest.skipIf("ofi" not in os.environ.get("TRANSPORTS", "") or os.environ.get("WEFT_TEST_SANITIZE"),
                     "no libfabric here, or the sanitizer catches crashes")
    def test_no_library_catches_the_crash_of_a_daemon(self):
        """A library that libfabric loads would do so as it is loaded, and hang in its handler."""
        deadly = sum(1 << (number - 1) for number in (signal.SIGSEGV, signal.SIGBUS, signal.SIGILL, signal.SIGFPE))
        seen, caught = set(), set()
        job = self.start(*TWO, "-n", "2", CLIENT, "init", "fence", "finalize", env=dict(self.env, WEFT_TRANSPORT="ofi"))
        while job.poll() is None:
            for pid in filter(lambda pid: name_of(pid) in ("weftrun", "weftd"), with_variable(self.mark)):
                with contextlib.suppress(OSError), open(f"/proc/{pid}/status", encoding="ascii") as status:
                    fields = dict(line.split(":", 1) for line in status if ":" in line)
                    seen.add(pid)
                    if int(fields["SigCgt"], 16) & deadly:
                        caught.add((fields["Name"].strip(), fields["SigCgt"].strip()))
        status, _, err = finish(job)
        self.assertEqual((status, caught), (0, set()), err)
        self.assertGreaterEqual(len(seen), 3)

    def test_an_agent_that_does_nothing(self):
        env = dict(self.env, WEFT_LAUNCH_TIMEOUT="0.5")
        begin = time.monotonic()
        result = run("--host", "nowhere1:1,nowhere2:1", "--agent", "sh -c 'exec sleep 1000' {node} {command}", "-n", "2",
                     "true", env=env)
        self.assertEqual(result.returncode, 125, result.stderr)
        self.assertGreaterEqual(time.monotonic() - begin, 0.5)
        self.told_once(result.stderr, "node nowhere", "has not reported within 0.5 seconds", "sleep 1000",
                       "WEFT_LAUNCH_TIMEOUT")

    def test_an_agent_that_fails(self):
        result = self.run("--host", "nowhere1:1,nowhere2:1", "--agent", "sh -c 'echo no way >&2; exit 3' {node} {command}",
                          "-n", "2", "true")
        self.assertEqual(result.returncode, 125, result.stderr)
        self.assertIn("nowhere", own_lines(result.stderr)[-1])
        self.assertIn("no way", result.stderr.decode())

    def test_an_agent_that_fails_beside_the_own_node(self):
        # weftrun serves localhost itself, and nothing was launched there either.
        for agent in ("no-such-agent", "false"):
            result = self.run("--host", "localhost,nowhere1,nowhere2", "--agent", agent, "hostname")
            self.assertEqual((result.returncode, result.stdout), (125, b""))
            self.assertIn("nowhere", own_lines(result.stderr)[0])
            self.assertIn(agent, own_lines(result.stderr)[0])

    def test_a_signal_before_the_launch(self):
        job = self.start("--host", "localhost,nowhere1", "--agent", "sh -c 'echo there >&2; exec sleep 1000' {node} {command}",
                         "hostname")
        self.assertIn(b"there", job.stderr.readline())
        job.terminate()
        status, out, err = finish(job)
        self.assertEqual((status, out), (143, b""))
        self.told_once(err, "SIGTERM")

    def test_a_time_limit_that_is_none(self):
        result = run(*TWO, "true", env=dict(self.env, WEFT_LAUNCH_TIMEOUT="soon"))
        self.assertEqual(result.returncode, 2)
        self.told_once(result.stderr, "WEFT_LAUNCH_TIMEOUT='soon'")


class Agents(Nodes):
    """A stand-in for ssh: it goes nowhere, and runs the command as a remote shell would."""

    def setUp(self):
        super().setUp()
        self.bin = tempfile.mkdtemp()
        self.ssh = os.path.join(self.bin, "ssh")
        with open(self.ssh, "w", encoding="ascii") as script:
            script.write(f'#!/bin/sh\necho "$1" >> {self.bin}/called\nshift\nexec sh -c "$*"\n')
        os.chmod(self.ssh, 0o755)

    def tearDown(self):
        shutil.rmtree(self.bin)
        super().tearDown()

    def called(self):
        with open(os.path.join(self.bin, "called"), encoding="ascii") as called:
            return sorted(called.read().split())

    def test_a_tree_of_daemons(self):
        names = [f"no-such-host-{i}" for i in range(7)]
        result = self.run("--host", ",".join(names), "--agent", self.ssh, "--agent-arity", "2", "-n", "7",
                          "sh", "-c", "echo $PMIX_RANK; read x; echo err >&2", data=b"")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(sorted(result.stdout.split()), [b"%d" % i for i in range(7)])
        self.assertEqual(result.stderr, b"err\n" * 7)
        self.assertEqual(self.called(), names)

    def test_a_daemon_in_the_middle_of_the_tree(self):
        job = self.start("--host", ",".join(f"no-such-host-{i}" for i in range(7)), "--agent", self.ssh,
                         "--agent-arity", "2", "-n", "7", "sh", "-c", "echo $$; exec sleep 1000")
        pids = [int(line) for line in read_lines(job.stdout, 7)]
        daemons = self.daemons(7)

        def children(pid):
            with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as names:
                return [int(word) for word in names.read().split()]
        inner = [pid for pid in daemons if any(name_of(child) in ("ssh", "sh", "weftd") and child not in pids
                                               for child in children(pid))]
        self.assertTrue(inner)
        os.kill(inner[0], signal.SIGKILL)
        status, _, err = finish(job)
        self.assertEqual(status, 125, err)
        self.assertEqual(len(own_lines(err)), 1, err)
        wait_until(lambda: not any(lives(pid) for pid in pids + daemons), "the end of all")

    def test_weftrun_serves_its_own_node(self):
        result = self.run("--host", "localhost:2,no-such-host:2", "--agent", self.ssh, "--stdin", "all",
                          "--tag-output", "-n", "4", "sh", "-c", "cat; echo $OMPI_COMM_WORLD_LOCAL_RANK", data=b"in\n")
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        self.assertEqual(sorted(result.stdout.decode().split("\n"))[1:],
                         sorted(f"[{r}] {word}" for r in range(4) for word in ("in", str(r % 2))))
        self.assertEqual(self.called(), ["no-such-host"])
        result = self.run("--host", "localhost:2,no-such-host:2", "--agent", self.ssh, "-n", "4", CLIENT, "init", "fence",
                          "only:3", "exit:7", "all", "wait")
        self.assertEqual(result.returncode, 7)
        self.told_once(result.stderr, "rank 3 on no-such-host (pid ")

    def test_a_node_that_cannot_be_reached(self):
        with open(self.ssh, "w", encoding="ascii") as script:
            script.write('#!/bin/sh\ntest "$1" != no-such-host-3 || { echo "no route" >&2; exit 255; }\n'
                         'shift\nexec sh -c "$*"\n')
        for arity in ("0", "2"):
            result = self.run("--host", ",".join(f"no-such-host-{i}" for i in range(5)), "--agent", self.ssh,
                              "--agent-arity", arity, "-n", "5", "sleep", "1000")
            self.assertEqual(result.returncode, 125, result.stderr)
            told = own_lines(result.stderr)
            self.assertEqual(len(told), 1, result.stderr)
            self.assertIn("no-such-host-3", told[0])
            self.assertIn("no route", told[0])


class GoesOn(Nodes):
    """--on-failure continue."""

    def start_on(self, *args):
        return self.start("--on-failure", "continue", *args)

    def told(self, err, *lines):
        """Each line of weftrun has all texts of its group, and there is no other."""
        own = own_lines(err)
        self.assertEqual(len(own), len(lines), err)
        for line, texts in zip(own, lines):
            for text in texts:
                self.assertIn(text, line)

    def test_on_one_node(self):
        status, out, err = finish(self.start_on("-n", "3", "sh", "-c", "test $PMIX_RANK != 1 || kill -9 $$; echo on"))
        self.assertEqual((status, out), (137, b"on\n" * 2), err)
        self.told(err, ["rank 1 on", "SIGKILL", "the others go on"], ["exit status 137 is that of rank 1"])

    def test_the_first_failure_gives_the_status(self):
        with tempfile.TemporaryDirectory() as directory:
            fifo = os.path.join(directory, "fifo")
            os.mkfifo(fifo)
            job = self.start_on(*TWO, "-n", "3", "sh", "-c", f"case $PMIX_RANK in 0) exit 5;; 2) read x < {fifo}; exit 6;; esac")
            first = job.stderr.readline()
            self.assertIn(b"rank 0 on", first)
            with open(fifo, "w", encoding="ascii") as writer:
                writer.write("\n")
            status, _, err = finish(job)
        self.assertEqual(status, 5)
        self.told(first + err, ["rank 0", "status 5", "the others go on"], ["rank 2", "status 6", "the others go on"],
                  ["exit status 5 is that of the first of 2 failures, rank 0"])

    def test_no_failure_no_word(self):
        self.assertEqual(finish(self.start_on(*TWO, "-n", "4", CLIENT, "init", "fence", "finalize")), (0, b"", b""))

    def test_a_rank_killed_in_a_fence(self):
        for victim in (0, 3):  # with others on its node, and on the other
            rest = [rank for rank in range(4) if rank != victim]
            job = self.start_on(*TWO, "-n", "4", CLIENT, "init", "watch", "fence", "pid", f"only:{victim}", "wait", "all",
                                "fence_aborted", f"hears:{victim}", "fence_of:" + ",".join(map(str, rest)),
                                "fence_aborted", "say:on", "finalize")
            lines = read_lines(job.stdout, 5)
            pids = dict(map(int, line.split()) for line in lines if line != "waiting")
            os.kill(pids[victim], signal.SIGKILL)
            status, out, err = finish(job)
            self.assertEqual((status, out), (137, b"on\n" * 3), err)
            self.told(err, [f"rank {victim} on", "SIGKILL", "the others go on"],
                      [f"exit status 137 is that of rank {victim}"])

    def test_finalize_with_a_barrier_that_fails_finalizes(self):
        for nodes in ([], TWO):
            status, out, err = finish(self.start_on(*nodes, "-n", "4", CLIENT, "init", "fence", "only:3", "signal:9", "all", "try",
                                                    "finalize_barrier"))
            self.assertEqual((status, sorted(out.split(b"\n"))[1:]), (137, [b"%d PMIX_ERR_PROC_ABORTED" % rank for rank in range(3)]), err)
            self.told(err, ["rank 3 on", "SIGKILL", "the others go on"], ["exit status 137 is that of rank 3"])

    def test_a_rank_that_ends_before_init(self):
        status, out, err = finish(self.start_on(
            *TWO, "-n", "4", "sh", "-c", 'test $PMIX_RANK != 3 || exit 5; exec "$@"', "sh", CLIENT, "init",
            "fence_aborted", "fence_of:0,1,2", "say:on", "finalize"))
        self.assertEqual((status, out), (5, b"on\n" * 3), err)
        self.told(err, ["rank 3 on", "status 5", "the others go on"], ["exit status 5 is that of rank 3"])

    def test_ranks_are_told_how_a_rank_ended(self):
        """By the code of its end; default handlers once, by the library's event or by that of its daemon."""
        for steps, code, how, by_default in ((("finalize", "exit:7"), 7, "PMIX_ERR_EXIT_NONZERO_TERM", "PMIX_ERR_EXIT_NONZERO_TERM"),
                                             (("signal:9",), 137, "PMIX_ERR_PROC_ABORTED_BY_SIG", "PMIX_ERR_PROC_ABORTED"),
                                             (("exit:6",), 6, "PMIX_ERR_EXIT_NONZERO_TERM", "PMIX_ERR_PROC_ABORTED"),
                                             (("exit:0",), 0, "PMIX_ERR_PROC_TERM_WO_SYNC", "PMIX_ERR_PROC_ABORTED")):
            with self.subTest(steps):
                status, out, err = finish(self.start_on(*TWO, "-n", "4", CLIENT, "init", "watch_ends", "fence", "only:3", *steps,
                                                        "all", "ended:3", "by_default:3", "finalize"))
                self.assertEqual(status, code or 1, err)
                self.assertEqual(sorted(out.decode().splitlines()), sorted([f"3 {code} {how}", f"3 {by_default}"] * 3), err)

    def test_handlers_hear_of_an_end_before_them(self):
        """And of an orderly one, on its node."""
        status, out, err = finish(self.start_on("-n", "2", CLIENT, "init", "only:1", "finalize", "all", "only:0", "watch_ends", "ended:1",
                                                "finalize"))
        self.assertEqual((status, out), (0, b"1 0 PMIX_SUCCESS\n"), err)

    def test_a_daemon_that_is_killed(self):
        job = self.start_on("--virtual-nodes", "3", "-n", "6", CLIENT, "init", "watch", "fence", "pid", "only:2", "wait",
                            "all", "only:3", "wait", "all", "fence_aborted", "hears:2", "hears:3", "hears_node:1",
                            "fence_of:0,1,4,5", "fence_aborted", "say:on", "finalize")
        pids = dict(map(int, line.split()) for line in read_lines(job.stdout, 8) if line != "waiting")
        self.daemons(3)
        os.kill(parent(pids[2]), signal.SIGKILL)
        status, out, err = finish(job)
        self.assertEqual((status, out), (125, b"on\n" * 4), err)
        self.told(err, [f"node {HOST}-v1 is lost", "killed by signal 9", "ranks 2-3 ended with it, the others go on"],
                  [f"exit status 125 is that of node {HOST}-v1"])
        self.assertFalse(any(lives(pid) for pid in pids.values()))

    def test_events_reach_each_rank_once_when_a_daemon_on_their_way_is_killed(self):
        """Of seven nodes the last two get events of the first by way of node 1."""
        rest = "fence_of:0,2,3,4,5,6"
        with tempfile.TemporaryDirectory() as directory:
            over = os.path.join(directory, "over")
            job = self.start_on("--virtual-nodes", "7", "-n", "7", CLIENT, "init", "watch", "fence", "pid", "only:1", "wait", "all",
                                "only:0", f"marks_until:{over}", "all", "marks_all", rest, "marks_all", "say:on", "finalize")
            pids = dict(map(int, line.split()) for line in read_lines(job.stdout, 9) if line not in ("waiting", "raising"))
            os.kill(parent(pids[1]), signal.SIGKILL)
            lost = job.stderr.readline()
            self.assertIn(b"is lost", lost)
            with open(over, "w", encoding="ascii"):
                pass
            status, out, err = finish(job)
        self.assertEqual((status, out), (125, b"on\n" * 6), err)

    def test_what_cannot_be_launched_ends_the_job(self):
        status, out, err = finish(self.start_on("--host", "nowhere1:1,nowhere2:1", "--agent",
                                                "sh -c 'exit 3' {node} {command}", "-n", "2", "echo", "on"))
        self.assertEqual((status, out), (125, b""))
        self.told_once(err, "node 'nowhere")

    def test_abort_and_signals_end_it_as_always(self):
        status, _, err = finish(self.start_on(*TWO, "-n", "4", CLIENT, "init", "only:3", "abort:42", "all", "wait"))
        self.assertEqual(status, 42)
        self.told_once(err, "rank 3 on", "called PMIx_Abort")
        job = self.start_on(*TWO, "-n", "2", "sh", "-c", "echo $$; exec sleep 1000")
        read_lines(job.stdout, 2)
        job.terminate()
        status, _, err = finish(job)
        self.assertEqual(status, 143)
        self.told_once(err, "SIGTERM")


class Many(Nodes):
    def test_launches_in_a_row(self):
        for _ in repeated(20):
            result = self.run(*TWO, "-n", "4", CLIENT, "init", "keys", "finalize")
            self.assertEqual((result.returncode, result.stderr), (0, b""))
            self.assertEqual(sorted(re.findall(rb"^rank=(\d)", result.stdout, re.M)), [b"0", b"1", b"2", b"3"])

    def test_more_nodes_than_a_server_has_children(self):
        result = self.run("--virtual-nodes", "12", "-n", "24", "sh", "-c", "echo $PMIX_RANK")
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        self.assertEqual(sorted(int(line) for line in result.stdout.split()), list(range(24)))


if __name__ == "__main__":
    unittest.main()

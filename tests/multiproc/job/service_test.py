# SPDX-License-Identifier: BSD-3-Clause
"""weftrun as a service: daemons that stay, and jobs that other processes bring (--dvm, --attach)."""
import contextlib
import json
import os
import pathlib
import pty
import signal
import socket
import struct
import subprocess
import tempfile
import threading
import unittest

from weftrun_common import WATCHDOG, finish, kill_quietly, parent, read_lines, repeated, run, start, wait_until, with_variable

SPAWN_CLIENT = os.environ["SPAWN_CLIENT"]
SHAPES = {"one node": ("-H", f"{socket.gethostname()}:4"), "three nodes": ("--virtual-nodes", "3:2")}
LONG = ("sleep", "1000")


class Service:
    """A service of its own name, ready; ended with the block."""
    number = 0

    def __init__(self, *nodes):
        Service.number += 1
        self.name = f"t{os.getpid()}-{Service.number}"
        self.process = start(f"--dvm={self.name}", *nodes)
        self.ready = self.process.stderr.readline().decode()

    def attach(self, *args, **options):
        return run(f"--attach={self.name}", *args, **options)

    def begin(self, *args, **options):
        return start(f"--attach={self.name}", *args, **options)

    def jobs(self):
        lines = self.attach("--jobs", "--json").stdout.decode().splitlines()
        return {job["id"]: job for job in map(json.loads, lines)}

    def states(self):
        return [job["state"] for job in self.jobs().values()]

    def stop(self):
        """Its exit status, and what it has said after it was ready."""
        stopped = run(f"--stop-dvm={self.name}")
        assert stopped.returncode == 0, stopped.stderr
        _, _, error = finish(self.process)
        return self.process.returncode, error.decode()

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    @property
    def address(self):
        return f"\0weft-service-{os.geteuid()}-{self.name}"


@contextlib.contextmanager
def service(*nodes):
    one = Service(*nodes)
    try:
        yield one
    finally:
        if one.process.poll() is None:
            one.stop()
        kill_quietly(one.process)
        for pipe in (one.process.stdout, one.process.stderr):
            pipe.close()


class Jobs(unittest.TestCase):
    @staticmethod
    def in_each_shape():
        for nodes in SHAPES.values():
            with service(*nodes) as one:
                yield one

    def test_a_job_is_as_without_a_service(self):
        for one in self.in_each_shape():
            done = one.attach("-n", "3", "--tag-output", "sh", "-c", 'echo "$PMIX_RANK $X"; exit 0', env={**os.environ, "X": "mine"})
            self.assertEqual((done.returncode, done.stderr), (0, b""))
            self.assertEqual(sorted(done.stdout.decode().splitlines()), [f"[{rank}] {rank} mine" for rank in range(3)])
            failed = one.attach("-n", "1", "sh", "-c", "exit 7")
            self.assertEqual(failed.returncode, 7)
            self.assertRegex(failed.stderr.decode(), r"weftrun: rank 0 on .* exited with status 7")
            self.assertEqual(one.attach("-n", "1", "cat", data=b"input").stdout, b"input")
            missing = one.attach("-n", "1", "no-such-program")
            self.assertEqual(missing.returncode, 127)
            self.assertRegex(missing.stderr.decode(), "no-such-program")

    def test_a_job_has_the_folder_of_its_attacher(self):
        for one in self.in_each_shape():
            with tempfile.TemporaryDirectory() as folder:
                folder = os.path.realpath(folder)
                (pathlib.Path(folder) / "tool").write_text("#!/bin/sh\npwd\n")
                os.chmod(f"{folder}/tool", 0o755)
                os.mkdir(f"{folder}/sub")
                self.assertEqual(one.attach("-n", "1", "./tool", cwd=folder).stdout.decode(), f"{folder}\n")
                self.assertEqual(one.attach("-n", "1", "--wdir", "sub", "../tool", cwd=folder).stdout.decode(), f"{folder}/sub\n")
                done = one.attach("-n", "2", "--output-dir", "out", "pwd", cwd=folder)
                self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"", b""))
                self.assertEqual(pathlib.Path(folder, "out", "rank.1.out").read_text(), f"{folder}\n")

    def test_an_error_is_that_jobs_only(self):
        for one in self.in_each_shape():
            long = one.begin("-n", "2", *LONG)
            wait_until(lambda: "running" in one.states(), "the long job")
            for status in (3, 0, 5):
                self.assertEqual(one.attach("-n", "1", "sh", "-c", f"exit {status}").returncode, status)
            killed = one.attach("-n", "1", "sh", "-c", "kill -9 $$")
            self.assertEqual(killed.returncode, 128 + signal.SIGKILL)
            self.assertIsNone(long.poll())
            long.send_signal(signal.SIGINT)
            _, _, error = finish(long)
            self.assertEqual(long.returncode, 128 + signal.SIGINT)
            self.assertIn("SIGINT", error.decode())

    def test_jobs_wait_for_slots_in_their_order(self):
        for one in self.in_each_shape():
            first = one.begin("-n", "4", *LONG)
            wait_until(lambda: one.states() == ["running"], "the first job")
            large = one.begin("-n", "4", "echo", "large")
            wait_until(lambda: one.states() == ["running", "waiting"], "the second job")
            small = one.begin("-n", "1", "echo", "small")
            wait_until(lambda: one.states() == ["running", "waiting", "waiting"], "the third, for which there may be room")
            given_up = one.begin("-n", "1", "true")
            wait_until(lambda: len(one.states()) == 4, "the fourth job")
            given_up.send_signal(signal.SIGTERM)
            _, _, error = finish(given_up)
            self.assertEqual(given_up.returncode, 128 + signal.SIGTERM)
            self.assertIn("was not started", error.decode())
            first.send_signal(signal.SIGTERM)
            finish(first)
            for job, said in ((large, b"large\n" * 4), (small, b"small\n")):
                self.assertEqual(finish(job)[:2], (0, said))

    def test_a_user_hears_of_a_long_wait(self):
        with service(*SHAPES["one node"]) as one:
            first = one.begin("-n", "4", *LONG)
            wait_until(lambda: one.states() == ["running"], "the first job")
            second = one.begin("-n", "1", "true")
            self.assertEqual(read_lines(second.stderr, 1), ["weftrun: job 2 waits for free slots"])
            for job in (first, second):
                job.terminate()
                finish(job)

    def test_more_ranks_than_there_are(self):
        with service("-H", f"{socket.gethostname()}:2") as one:
            refused = one.attach("-n", "3", "true")
            self.assertEqual(refused.returncode, 2)
            self.assertRegex(refused.stderr.decode(), "slots|room")
            self.assertEqual(one.attach("-n", "3", "--oversubscribe", "true").returncode, 0)
            self.assertEqual(one.attach("-n", "1", "-H", "no-such-node", "true").returncode, 2)
        with service() as one:  # the slots are not the user's word
            self.assertEqual(one.attach("-n", str(os.cpu_count() + 1), "true").returncode, 0)

    def test_many_at_once(self):
        for one in self.in_each_shape():
            wrong = []

            def bring(number):
                for turn in repeated(25):
                    status = (number + turn) % 3
                    done = one.attach("-n", "1", "sh", "-c", f"echo {number}.{turn}; exit {status}")
                    if (done.returncode, done.stdout.decode()) != (status, f"{number}.{turn}\n"):
                        wrong.append((done.returncode, done.stdout, done.stderr))

            bring(0)
            before = one.descriptors()
            threads = [threading.Thread(target=bring, args=(number,)) for number in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual(wrong, [])
            wait_until(lambda: one.descriptors() <= before, "the end of the descriptors of ended jobs")

    def test_processes_of_a_job_ask_for_jobs(self):
        child = ["program:me", "arg:init", "arg:parent", "arg:finalize"]
        for one in self.in_each_shape():
            done = one.attach("-n", "1", SPAWN_CLIENT, "init", *child, "ranks:2", "spawn", "finalize")
            self.assertEqual((done.returncode, done.stderr), (0, b""))
            self.assertEqual(sorted(done.stdout.decode().splitlines()), ["parent 1 0 1"] * 2 + ["spawn PMIX_SUCCESS 2"])


    def test_a_tool_asks_for_jobs(self):
        for one in self.in_each_shape():
            def ask(*steps):
                return subprocess.run([SPAWN_CLIENT, f"tool:{one.process.pid}", "ends", *steps, "finalize"], capture_output=True, text=True,
                                      check=True, timeout=WATCHDOG).stdout.splitlines()

            with tempfile.TemporaryDirectory() as folder:
                # Twice: the second finds the run of the first over.
                for number in (1, 2):
                    said = ask("program:/usr/bin/touch", f"arg:{folder}/{number}", "ranks:2", "spawn", "ended")
                    self.assertEqual(said, [f"spawn PMIX_SUCCESS {number}", f"ended {number} PMIX_SUCCESS"])
                    self.assertTrue(os.path.exists(f"{folder}/{number}"))
            self.assertEqual(ask("program:/bin/sleep", "arg:1000", "spawn"), ["spawn PMIX_SUCCESS 3"])
            self.assertEqual(one.stop()[0], 0)  # with the job of the tool


class Ends(unittest.TestCase):
    def test_a_job_ends_with_its_attacher(self):
        for nodes in SHAPES.values():
            with service(*nodes) as one:
                mark = f"{one.name}-mark"
                job = one.begin("-n", "3", *LONG, env={**os.environ, "MARK": mark})
                wait_until(lambda: len(with_variable(f"MARK={mark}")) >= 4, "three ranks and the attacher")
                job.kill()
                finish(job)
                wait_until(lambda: with_variable(f"MARK={mark}") == [], "the end of the ranks")
                wait_until(lambda: one.states() == ["ended"], "the end of the job")
                self.assertEqual(one.attach("-n", "1", "true").returncode, 0)

    def test_a_detached_job_goes_on(self):
        with service(*SHAPES["one node"]) as one, tempfile.TemporaryDirectory() as folder:
            with open(f"{folder}/out", "wb") as out, open(f"{folder}/fifo", "wb") as said:
                os.mkfifo(f"{folder}/go")
                begun = one.attach("--detach", "-n", "1", "sh", "-c", f"read go <{folder}/go; echo late >{folder}/late; exit 4")
                self.assertEqual(begun.returncode, 0)
                self.assertEqual(begun.stdout, b"1\n")
                to_file = subprocess.run([os.environ["WEFTRUN"], f"--attach={one.name}", "--detach", "--json", "-n", "1", "echo", "in a file"],
                                         stdout=out, stderr=said, check=True)
                self.assertEqual(to_file.returncode, 0)
            with open(f"{folder}/go", "wb") as go:
                go.write(b"\n")
            wait_until(lambda: one.states() == ["ended", "ended"], "the end of both")
            self.assertEqual(one.jobs()[1]["status"], 4)
            self.assertEqual(pathlib.Path(folder, "late").read_text(), "late\n")
            self.assertIn("in a file\n", pathlib.Path(folder, "out").read_text())

    def test_what_json_says(self):
        with service(*SHAPES["one node"]) as one:
            done = one.attach("--json", "-n", "2", "sh", "-c", "exit 3")
            lines = [json.loads(line) for line in done.stderr.decode().splitlines() if line.startswith("{")]
            self.assertEqual([(line["id"], line["state"], line.get("status")) for line in lines], [(1, "running", None), (1, "ended", 3)])
            self.assertEqual((lines[1]["program"], lines[1]["ranks"]), ("sh", 2))
            refused = one.attach("--json", "-n", "5", "true")
            self.assertEqual(json.loads(refused.stderr.decode().splitlines()[0])["state"], "refused")
            self.assertEqual(list(one.jobs()), [1, 2])

    def test_a_job_names_its_attacher(self):
        for shape in SHAPES:
            with service(*SHAPES[shape]) as one:
                stays = one.begin("-n", "1", "sleep", "1000")
                try:
                    wait_until(lambda one=one: one.states() == ["running"], "the first job runs")
                    one.attach("--detach", "-n", "1", "sleep", "1000")
                    wait_until(lambda one=one: one.states() == ["running", "running"], "the jobs run")
                    jobs = one.jobs()
                    self.assertEqual(jobs[1]["attacher"], {"pid": stays.pid, "user": os.geteuid(), "detached": False})
                    self.assertTrue(jobs[2]["attacher"]["detached"])
                    self.assertIn(" (detached)", one.attach("--jobs").stdout.decode())
                    told = subprocess.run([os.environ["WEFTINFO"], str(one.process.pid)], capture_output=True, check=True).stdout.decode()
                    self.assertRegex(told, fr"job \S+: 1 rank on \d nodes?, attached by process {stays.pid} of ")
                    self.assertRegex(told, fr"job \S+: 1 rank on \d nodes?, detached by process {jobs[2]['attacher']['pid']} of ")
                finally:
                    kill_quietly(stays)

    def test_the_service_is_stopped(self):
        for nodes in SHAPES.values():
            with service(*nodes) as one:
                job = one.begin("-n", "2", *LONG)
                wait_until(lambda: one.states() == ["running"], "the job")
                self.assertEqual(one.stop()[0], 0)
                finish(job)
                self.assertEqual(job.returncode, 128 + signal.SIGTERM)
                gone = one.attach("true")
                self.assertEqual(gone.returncode, 125)
                self.assertRegex(gone.stderr.decode(), f"no service '{one.name}'.*--dvm={one.name}")

    def test_a_signal_ends_the_service(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with service(*SHAPES["three nodes"]) as one:
                one.process.send_signal(number)
                finish(one.process)
                self.assertEqual(one.process.returncode, 0)

    def test_the_service_is_killed(self):
        for nodes in SHAPES.values():
            with service(*nodes) as one:
                mark = f"{one.name}-mark"
                job = one.begin("-n", "2", *LONG, env={**os.environ, "MARK": mark})
                wait_until(lambda: one.states() == ["running"], "the job")
                one.process.kill()
                _, _, error = finish(job)
                self.assertEqual(job.returncode, 125)
                self.assertRegex(error.decode(), f"the service '{one.name}' has gone")
                wait_until(lambda: with_variable(f"MARK={mark}") == [], "the end of the ranks")
                with service(*nodes) as _:
                    pass

    def test_a_lost_daemon_ends_its_jobs(self):
        with service(*SHAPES["three nodes"]) as one:
            host = socket.gethostname()
            there = [one.begin("-n", "1", "-H", f"{host}-v{node}", *LONG, env={**os.environ, "MARK": f"{one.name}-{node}"})
                     for node in (0, 1)]
            wait_until(lambda: one.states() == ["running", "running"], "both jobs")
            rank = next(pid for pid in with_variable(f"MARK={one.name}-1") if pid != there[1].pid)
            daemon = parent(rank)
            os.kill(daemon, signal.SIGKILL)
            _, _, error = finish(there[1])
            self.assertNotEqual(there[1].returncode, 0)
            self.assertRegex(error.decode(), f"{host}-v1")
            self.assertIsNone(there[0].poll())
            self.assertEqual(one.attach("-n", "2", "true").returncode, 0)
            self.assertEqual(one.attach("-n", "1", "-H", f"{host}-v1", "true").returncode, 2)
            there[0].terminate()
            finish(there[0])


class Habits(unittest.TestCase):
    def test_a_node_is_added(self):
        with service("--virtual-nodes", "1:1", "--grow", "2") as served:
            node = ("sh", "-c", "echo $WEFT_NODE")
            first = served.attach("-n", "1", *node).stdout
            added = served.attach("--add-host", "more:2", "--host", "more", "-n", "2", *node)
            self.assertEqual((added.returncode, added.stderr), (0, b""))
            self.assertEqual(len(set(added.stdout.splitlines())), 1)
            self.assertEqual(len(served.attach("-n", "3", *node).stdout.splitlines()), 3)
            self.assertNotEqual(first.rpartition(b".")[2], added.stdout.splitlines()[0].rpartition(b".")[2])
            self.assertEqual(served.attach("--add-host", "last", "-n", "1", "true").returncode, 0)
            refused = served.attach("--add-host", "late", "-n", "1", "true")
            self.assertEqual(refused.returncode, 2)
            self.assertIn(b"--grow", refused.stderr)
            self.assertEqual(served.attach("-n", "1", "true").returncode, 0)

    def test_two_services(self):
        with service() as one, service() as other:
            again = run(f"--dvm={one.name}")
            self.assertEqual(again.returncode, 125)
            self.assertRegex(again.stderr.decode(), f"a service '{one.name}' runs on this machine already")
            for each in (one, other):
                self.assertEqual(each.attach("-n", "1", "true").returncode, 0)
                self.assertEqual(each.states(), ["ended"])

    def test_in_the_background(self):
        name = f"t{os.getpid()}-background"
        begun = run(f"--dvm={name}", "--detach")
        self.assertEqual(begun.returncode, 0, begun.stderr)
        self.assertIn("ready", begun.stderr.decode())
        try:
            self.assertEqual(run(f"--attach={name}", "-n", "1", "echo", "hi").stdout, b"hi\n")
        finally:
            self.assertEqual(run(f"--stop-dvm={name}").returncode, 0)
        refused = run("--dvm", "--detach", "-H", "no-such-host.invalid", "--agent", "false", "-q")
        self.assertNotEqual(refused.returncode, 0)

    def test_wrong_words(self):
        for words, line in (
            (("--dvm", "true"), "starts no program"),
            (("--dvm", "-n", "2"), "-n speaks of a job"),
            (("--attach",), "no program"),
            (("--attach", "--virtual-nodes", "2", "true"), "--virtual-nodes speaks of nodes"),
            (("--attach", "--dry-run", "true"), "--dry-run"),
            (("--attach=a/b", "true"), "a name has"),
            (("--attach", "--stop-dvm"), "exclude"),
            (("--detach", "true"), "--detach goes with"),
            (("--json", "true"), "--json goes with"),
            (("--jobs",), "--jobs goes with"),
            (("--add-host", "a", "true"), "--add-host.*--attach"),
            (("--dvm", "--add-host", "a"), "--add-host.*--attach"),
            (("--attach", "--grow", "2", "true"), "--grow speaks of nodes"),
        ):
            done = run(*words)
            self.assertEqual(done.returncode, 2, words)
            self.assertRegex(done.stderr.decode(), line)

    def test_a_terminal_is_read_by_its_own_process(self):
        with service(*SHAPES["one node"]) as one:
            leader, follower = pty.openpty()
            job = one.begin("-n", "1", "head", "-n", "1", stdin=follower, start_new_session=True,
                            preexec_fn=lambda: __import__("fcntl").ioctl(0, __import__("termios").TIOCSCTTY, 0))
            os.write(leader, b"typed\n")
            _, out, _ = finish(job)
            self.assertEqual(out, b"typed\n")
            os.close(leader)
            os.close(follower)

    def test_strangers_bytes(self):
        with service(*SHAPES["one node"]) as one:
            header = struct.Struct("<HBI")
            for bytes_ in (b"", b"x", header.pack(1, 0, 10) + b"0123456789", header.pack(1, 200, 0), header.pack(9, 0, 0),
                           header.pack(1, 0, 0xFFFFFFFF), header.pack(1, 4, 0), header.pack(1, 1, 4) + b"\xff" * 4, b"\0" * 100000):
                with socket.socket(socket.AF_UNIX) as wrong:
                    wrong.connect(one.address)
                    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                        wrong.sendall(bytes_)
                        wrong.shutdown(socket.SHUT_WR)
                        while wrong.recv(4096):
                            pass
                self.assertEqual(one.attach("-n", "1", "true").returncode, 0)


if __name__ == "__main__":
    unittest.main()

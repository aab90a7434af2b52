# SPDX-License-Identifier: BSD-3-Clause
"""Ranks that stop for a debugger, and daemons of debuggers beside them."""
import os
import signal
import socket
import subprocess
import unittest

from weftrun_common import WATCHDOG, finish, kill_quietly, repeated, run, server_of_ranks, start

CLIENT = os.environ["DEBUG_CLIENT"]
ON_EXEC, IN_INIT, IN_APP = "pmix.dbg.exec", "pmix.dbg.init", "pmix.dbg.notify"
DAEMONS, PER_NODE, PER_PROCESS, APART, MAP = "pmix.debugger", "pmix.dbg.dpnd", "pmix.dbg.dpproc", "pmix.cospawn", "pmix.mapby"
SHAPES = {"one node": (), "four nodes": ("--virtual-nodes", "4:32", "--map-by", "node")}
MANY = 128 if len(repeated(5)) == 5 else 16  # each is a process of a sanitizer otherwise


class Debug(unittest.TestCase):
    def lines(self, *args, status=0, error=""):
        done = run("--oversubscribe", *args)
        self.assertEqual(done.returncode, status, done.stderr.decode())
        self.assertRegex(done.stderr.decode(), error or r"\A\Z")
        return done.stdout.decode().splitlines()

    def debugged(self, shape, *steps, **expected):
        """The lines of a rank that spawns jobs and debugs them."""
        return self.lines(*SHAPES[shape], "-n", "1", CLIENT, "init", *steps, "finalize", **expected)

    # ---- ranks that stop

    def test_all_ranks_stop_and_go_on_in_each_shape(self):
        for shape in SHAPES:
            for key, name, words in ((ON_EXEC, "pmix-exec", "init"), (IN_INIT, "pmix-init", "init"), (IN_APP, "here", "init,stop")):
                with self.subTest(shape=shape, key=key):
                    lines = self.debugged(shape, f"flag:{key}", f"program:{MANY}:{words},say:on,finalize", "spawn", "ready", "table",
                                          "say:release", "release", "ended")
                    # Lines of processes on different nodes come in any order.
                    own = ["spawn PMIX_SUCCESS", f"ready {name}", f"table {MANY}", "release", "ended PMIX_SUCCESS"]
                    self.assertEqual([line for line in lines if line != "on"], own)
                    self.assertEqual(lines.count("on"), MANY)

    def test_what_stops_on_exec_is_stopped_and_resumes(self):
        lines = self.debugged("one node", f"flag:{ON_EXEC}", "program:4:init,finalize", "spawn", "ready", "stopped", "resume", "ended")
        self.assertEqual(lines, ["spawn PMIX_SUCCESS", "ready pmix-exec", "stopped 4", "ended PMIX_SUCCESS"])

    def test_some_ranks_stop_while_others_run(self):
        for shape in SHAPES:
            for key, name in ((ON_EXEC, "pmix-exec"), (IN_INIT, "pmix-init"), (IN_APP, "here")):
                with self.subTest(shape=shape, key=key):
                    lines = self.debugged(shape, f"ranks:{key}=1,3", "program:4:init,stop,say:on,finalize", "spawn", "ready", "release", "ended")
                    self.assertEqual(sorted(lines), sorted(["spawn PMIX_SUCCESS", f"ready {name}", "ended PMIX_SUCCESS", *["on"] * 4]))

    def test_one_rank_after_the_other_is_released(self):
        lines = self.debugged("four nodes", f"flag:{IN_INIT}", "program:2:init,say:on,finalize", "spawn", "ready", "release:1", "release:0", "ended")
        self.assertEqual(sorted(lines), sorted(["spawn PMIX_SUCCESS", "ready pmix-init", "on", "on", "ended PMIX_SUCCESS"]))

    def test_a_program_may_be_left_out(self):
        lines = self.debugged("one node", f"flag:{IN_INIT}", "program:1:init,say:stopped,finalize", "program:1:say:free,init,finalize", f"off:{IN_INIT}",
                              "spawn", "ready", "release", "ended")
        self.assertEqual(sorted(lines), sorted(["spawn PMIX_SUCCESS", "free", "ready pmix-init", "stopped", "ended PMIX_SUCCESS"]))

    def test_init_and_then_the_program(self):
        lines = self.debugged("four nodes", f"flag:{IN_INIT}", f"flag:{IN_APP}", "program:4:init,say:a,stop,say:b,finalize", "spawn", "ready",
                              "release", "ready", "release", "ended")
        self.assertEqual([line for line in lines if line not in "ab"],
                         ["spawn PMIX_SUCCESS", "ready pmix-init", "ready here", "ended PMIX_SUCCESS"])
        self.assertEqual(lines.count("a"), 4)
        self.assertEqual(lines.count("b"), 4)

    def test_a_release_of_what_does_not_stop_is_harmless(self):
        lines = self.debugged("one node", "program:2:init,say:on,finalize", "spawn", "release", "ended")
        self.assertEqual(sorted(lines), sorted(["spawn PMIX_SUCCESS", "on", "on", "ended PMIX_SUCCESS"]))

    def test_a_release_before_the_ranks_come_holds(self):
        lines = self.debugged("one node", f"flag:{IN_INIT}", "program:2:init,say:on,finalize", "spawn", "release", "ended")
        self.assertEqual(sorted(lines), sorted(["spawn PMIX_SUCCESS", "on", "on", "ended PMIX_SUCCESS"]))

    def test_a_release_before_all_ranks_are_held_leaves_no_report_out(self):
        """Ranks that were let go may have ended before the last of them comes."""
        for shape in ("one node", "four nodes"):
            for key, words in ((IN_INIT, "init,finalize"), (IN_APP, "init,stop,finalize")):
                name = "pmix-init" if key == IN_INIT else "here"
                for _ in repeated(10):
                    with self.subTest(shape=shape, key=key):
                        lines = self.debugged(shape, f"flag:{key}", f"program:3:{words}", "spawn", "release", "ready", "ended")
                        self.assertEqual(lines, ["spawn PMIX_SUCCESS", f"ready {name}", "ended PMIX_SUCCESS"])

    def test_what_names_no_ranks_is_refused(self):
        done = run("-n", "1", CLIENT, "init", f"number:{IN_INIT}=1", "program:1:init,finalize", "spawn", "finalize")
        self.assertEqual(done.stdout.decode(), "spawn PMIX_ERR_BAD_PARAM\n")

    # ---- by the options of weftrun

    def test_options_and_a_tool_that_releases(self):
        for shape in SHAPES:
            for option, name, steps in (("--stop-in-init", "pmix-init", ()), ("--stop-on-exec", "pmix-exec", ()), ("--stop-in-app", "here", ("stop",))):
                with self.subTest(shape=shape, option=option):
                    job = start(*SHAPES[shape], "--oversubscribe", option, "-n", "4", CLIENT, "init", *steps, "say:on", "finalize")
                    try:
                        line = job.stderr.readline().decode()
                        self.assertRegex(line, r"weftrun: all 4 ranks of \S+ .* for a debugger")
                        nspace = line.split(" of ")[1].split()[0]
                        tool = subprocess.run([CLIENT, f"tool:{server_of_ranks(job)}", f"target:{nspace}", "ready", "table", "support", "release", "ended", "finalize"],
                                              capture_output=True, timeout=WATCHDOG, check=True)
                        status, out, _ = finish(job)
                    finally:
                        kill_quietly(job)
                    self.assertEqual((status, out.decode()), (0, "on\n" * 4))
                    self.assertEqual(tool.stdout.decode().splitlines(), [f"ready {name}", "table 4", "support 8", "ended PMIX_SUCCESS"])

    def test_a_launcher_has_the_table_of_a_job_on_other_nodes(self):
        job = start(*SHAPES["four nodes"], "--oversubscribe", "--stop-in-init", "-n", "4", CLIENT, "init", "say:on", "finalize")
        try:
            nspace = job.stderr.readline().decode().split(" of ")[1].split()[0]
            self.assertNotEqual(server_of_ranks(job), job.pid)
            tool = subprocess.run([CLIENT, f"tool:{job.pid}", f"target:{nspace}", "table", "release", "ended", "finalize"],
                                  capture_output=True, timeout=WATCHDOG, check=True)
            status, _, _ = finish(job)
        finally:
            kill_quietly(job)
        self.assertEqual((status, tool.stdout.decode().splitlines()), (0, ["table 4", "ended PMIX_SUCCESS"]))

    # ---- in daemons that stay

    def in_a_service(self, use):
        """Calls use(service, words that attach to it) on one node and on three."""
        for nodes in (("-H", f"{socket.gethostname()}:8"), ("--virtual-nodes", "3:4")):
            with self.subTest(nodes=nodes):
                name = f"debug-{os.getpid()}"
                service = start(f"--dvm={name}", *nodes)
                try:
                    self.assertTrue(service.stderr.readline(), "it is ready")
                    use(service, (f"--attach={name}", "--oversubscribe"))
                finally:
                    run(f"--stop-dvm={name}")
                    finish(service)
                    kill_quietly(service)

    def test_a_job_in_a_service_stops_where_its_options_say(self):
        def use(service, attach):
            for option, steps in (("--stop-in-init", ()), ("--stop-on-exec", ()), ("--stop-in-app", ("stop",))):
                job = start(*attach, "--map-by", "node", option, "-n", "4", CLIENT, "init", *steps, "say:on", "finalize")
                try:
                    line = job.stderr.readline().decode()
                    self.assertRegex(line, r"weftrun: all 4 ranks of \S+ .* for a debugger")
                    nspace = line.split(" of ")[1].split()[0]
                    tool = subprocess.run([CLIENT, f"tool:{server_of_ranks(service)}", f"target:{nspace}", "ready", "table", "release", "ended", "finalize"],
                                          capture_output=True, timeout=WATCHDOG, check=True)
                    status, out, _ = finish(job)
                finally:
                    kill_quietly(job)
                self.assertEqual((status, out.decode()), (0, "on\n" * 4))
                self.assertEqual(tool.stdout.decode().splitlines()[1:], ["table 4", "ended PMIX_SUCCESS"])
        self.in_a_service(use)

    def test_a_rank_in_a_service_debugs_a_job_with_daemons_beside_it(self):
        def use(_, attach):
            done = run(*attach, "-n", "1", CLIENT, "init", f"flag:{IN_INIT}", "program:4:init,say:on,finalize", "spawn", "ready",
                       "at", "program:0:init,aimed,say:beside,finalize", f"app_flag:{DAEMONS}", f"app_number:{PER_NODE}=1", "spawn", "ended",
                       "back", "release", "ended", "finalize")
            self.assertEqual(done.returncode, 0, done.stderr.decode())
            lines = done.stdout.decode().splitlines()
            self.assertEqual(lines.count("on"), 4)
            self.assertGreaterEqual(lines.count("beside"), 1)
            self.assertEqual([line for line in lines if line not in ("on", "beside")],
                             ["spawn PMIX_SUCCESS", "ready pmix-init", "spawn PMIX_SUCCESS", "ended PMIX_SUCCESS", "ended PMIX_SUCCESS"])
        self.in_a_service(use)

    def test_ranks_of_options(self):
        job = start("--oversubscribe", "--stop-in-init=0-1,3", "-n", "4", CLIENT, "init", "say:on", "finalize")
        try:
            self.assertRegex(job.stderr.readline().decode(), "3 of 4 ranks of .* wait in PMIx_Init")
            self.assertEqual(job.stdout.readline(), b"on\n")
            job.send_signal(signal.SIGTERM)
            status, out, _ = finish(job)
        finally:
            kill_quietly(job)
        self.assertEqual((status, out), (128 + signal.SIGTERM, b""))
        for wrong in ("x", "3-1", "1-", "-", "1,,2", "99999999"):
            done = run(f"--stop-in-init={wrong}", "-n", "1", "/bin/true")
            self.assertRegex(done.stderr.decode(), "--stop-in-init '.*' names no ranks")

    def test_the_data_of_a_job_says_which_ranks_stop(self):
        done = run("--stop-in-app", "-n", "1", CLIENT, "init", f"has:{IN_APP}", f"has:{IN_INIT}", "finalize", ":", "-n", "1", "/bin/true")
        self.assertEqual(done.stdout.decode().splitlines(), [f"{IN_APP} PMIX_PROC_RANK", f"{IN_INIT} no"])

    # ---- ends

    def test_a_time_limit_and_a_signal_end_what_is_stopped(self):
        for shape in SHAPES:
            for option in ("--stop-on-exec", "--stop-in-init"):
                with self.subTest(shape=shape, option=option):
                    done = run(*SHAPES[shape], "--timeout", "2", option, "-n", "4", CLIENT, "init", "finalize")
                    self.assertEqual(done.returncode, 124, done.stderr.decode())
                    job = start(*SHAPES[shape], option, "-n", "4", CLIENT, "init", "finalize")
                    try:
                        self.assertIn(b"for a debugger", job.stderr.readline())
                        job.send_signal(signal.SIGTERM)
                        self.assertEqual(finish(job)[0], 128 + signal.SIGTERM)
                    finally:
                        kill_quietly(job)

    def test_a_rank_that_dies_leaves_no_other_stopped_for_ever(self):
        for shape in SHAPES:
            done = run(*SHAPES[shape], "--stop-in-init", "-n", "3", CLIENT, "init", "finalize", ":", "-n", "1", CLIENT, "exit:5")
            self.assertEqual(done.returncode, 5)
            self.assertRegex(done.stderr.decode(), "rank 3 .* exited with status 5; the job was ended")

    def test_the_others_are_ready_without_one_that_has_ended(self):
        for shape in SHAPES:
            lines = self.debugged(shape, "flag:pmix.recover", f"flag:{IN_INIT}", "program:2:init,say:on,finalize", "program:1:exit:0",
                                  "spawn", "ready", "release", "ended")
            self.assertEqual(sorted(lines), sorted(["spawn PMIX_SUCCESS", "ready pmix-init", "on", "on", "ended PMIX_SUCCESS"]))

    # ---- daemons of debuggers

    def test_daemons_beside_the_ranks_of_a_running_job(self):
        daemon = "init,aimed,local,finalize"
        for shape, nodes in (("one node", 1), ("four nodes", 4)):
            for how, count, ranks in ((f"app_number:{PER_NODE}=1", nodes, 8), (f"app_number:{PER_NODE}=2", 2 * nodes, 8),
                                      (f"app_number:{PER_PROCESS}=1", 8, 8), (f"app_flag:{DAEMONS}", 8, 8)):
                with self.subTest(shape=shape, how=how):
                    lines = self.debugged(shape, f"flag:{IN_INIT}", f"text:{MAP}=node", f"program:{ranks}:init,say:on,finalize", "spawn", "ready", "at",
                                          f"program:0:{daemon}", f"app_flag:{DAEMONS}", how, "spawn", "ended", "back", "release", "ended")
                    self.assertEqual(lines.count(f"local {ranks // nodes}"), count, lines)
                    self.assertEqual(lines.count("ended PMIX_SUCCESS"), 2)

    def test_daemons_of_one_process(self):
        lines = self.debugged("four nodes", f"flag:{IN_INIT}", "program:8:init,finalize", "spawn", "ready", "at:5", "program:1:init,aimed,table,release,finalize",
                              f"app_flag:{DAEMONS}", f"app_number:{PER_NODE}=1", "spawn", "ended", "back", "ended")
        self.assertEqual(sorted(lines), ["ended PMIX_SUCCESS", "ended PMIX_SUCCESS", "ready pmix-init", *["spawn PMIX_SUCCESS"] * 2, "table 8"])

    def test_daemons_that_come_with_the_job(self):
        for shape, nodes in (("one node", 1), ("four nodes", 4)):
            with self.subTest(shape):
                lines = self.debugged(shape, f"flag:{IN_INIT}", f"text:{MAP}=node", "program:8:init,say:on,has:pmix.job.size,finalize",
                                      "program:1:init,aimed,ready,table,local,meet,release,finalize", f"app_flag:{DAEMONS}", f"app_number:{PER_NODE}=1",
                                      "spawn", "ready", "ended")
                self.assertEqual(lines.count("on"), 8)
                self.assertEqual(lines.count(f"local {8 // nodes}"), nodes)
                self.assertEqual(lines.count("table 8"), nodes)  # no daemon is of the job

    def test_a_program_apart(self):
        lines = self.debugged("one node", "program:2:init,say:on,finalize", "program:1:init,say:apart,finalize", f"app_flag:{APART}", "spawn", "ended")
        self.assertEqual(sorted(lines), sorted(["spawn PMIX_SUCCESS", "on", "on", "apart", "ended PMIX_SUCCESS"]))

    def test_daemons_of_nothing_are_refused(self):
        for steps, status in ((("program:1:init", f"app_flag:{DAEMONS}"), "PMIX_ERR_BAD_PARAM"),
                              (("target:no.such.job", "at", "program:1:init", f"app_flag:{DAEMONS}"), "PMIX_ERR_JOB_INSUFFICIENT_RESOURCES"),
                              (("own", "at", "program:1:init", f"app_flag:{DAEMONS}", f"app_number:{PER_NODE}=1", f"app_number:{PER_PROCESS}=1"),
                               "PMIX_ERR_BAD_PARAM")):
            done = run("-n", "1", CLIENT, "init", *steps, "spawn", "finalize")
            self.assertEqual(done.stdout.decode().strip(), f"spawn {status}")

    def test_a_daemon_that_fails_is_no_failure_of_the_run(self):
        lines = self.debugged("one node", "program:1:init,say:on,finalize", "program:1:exit:3", f"app_flag:{DAEMONS}", "spawn", "ended",
                              error="exited with status 3")
        self.assertIn("ended PMIX_SUCCESS", lines)


if __name__ == "__main__":
    unittest.main(verbosity=2)

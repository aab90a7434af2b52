# SPDX-License-Identifier: BSD-3-Clause
"""Jobs that processes ask for (PMIx_Spawn), on one node and over daemons."""
import os
import pathlib
import signal
import subprocess
import tempfile
import unittest

from weftrun_common import WATCHDOG, finish, kill_quietly, lives, read_lines, repeated, run, start, wait_until

CLIENT = os.environ["SPAWN_CLIENT"]
HOST, MAP, NO_OVERSUBSCRIBE, TELL_END, TELL_ALL = "pmix.host", "pmix.mapby", "pmix.noover", "pmix.notecomp", "pmix.note.jev"
ADD_HOST, ADD_HOSTFILE = "pmix.addhost", "pmix.addhostfile"
SHAPES = {"one node": ("-n", "1"), "two nodes": ("--virtual-nodes", "2:4", "--map-by", "node", "-n", "2")}


def me(*words):
    """The words that make this client the program of a spawn."""
    return ["program:me", *(f"arg:{word}" for word in words)]


class Shapes(unittest.TestCase):
    def lines(self, *args, status=0, error=None, env=None, cwd=None):
        done = run(*args, env=env, cwd=cwd)
        self.assertEqual(done.returncode, status, done.stderr.decode())
        if error is None:
            self.assertEqual(done.stderr.decode(), "")
        else:
            self.assertRegex(done.stderr.decode(), error)
        return sorted(done.stdout.decode().splitlines())

    @staticmethod
    def in_each_shape():
        return SHAPES.values()


class Spawn(Shapes):
    # ---- parents and children

    def test_a_child_knows_its_parent_and_both_meet(self):
        child = me("init", "parent", "put:2000", "connect", "get:0", "fence", "disconnect", "finalize")
        for shape in self.in_each_shape():
            ranks = int(shape[-1])
            lines = self.lines(*shape, CLIENT, "init", "put:1000", "only:0", *child, "ranks:3", "spawn", "all", "meet", "child:1",
                               "connect", "get:2", "fence", "disconnect", "finalize")
            self.assertEqual(lines, sorted(["spawn PMIX_SUCCESS 1", *["parent - 0 1"] * 3, *["got 1000"] * 3, *["got 2000"] * ranks]))

    def test_without_blocking(self):
        for shape in self.in_each_shape():
            lines = self.lines(*shape, CLIENT, "init", "only:0", *me("init", "parent", "finalize"), "ranks:2", "spawn_nb", "all", "finalize")
            self.assertEqual(lines, ["parent - 0 1"] * 2 + ["spawn PMIX_SUCCESS 1"])

    def test_children_have_children(self):
        for shape in self.in_each_shape():
            inner = ["init", "parent", "program:/bin/echo", "arg:grandchild", "spawn", "finalize"]
            lines = self.lines(*shape, CLIENT, "init", "only:0", *me(*inner), "spawn", "all", "finalize")
            self.assertEqual(lines, ["grandchild", "parent - 0 1", "spawn PMIX_SUCCESS 1", "spawn PMIX_SUCCESS 2"])

    def test_several_programs_are_one_job(self):
        for shape in self.in_each_shape():
            lines = self.lines(*shape, CLIENT, "init", "only:0", *me("init", "job:pmix.job.size", "finalize"), "ranks:2", "more",
                               "program:/bin/echo", "arg:other", "spawn", "all", "finalize")
            self.assertEqual(lines, ["other", "pmix.job.size 3", "pmix.job.size 3", "spawn PMIX_SUCCESS 1"])

    def test_peers_of_all_jobs(self):
        child = me("init", "connect", "peers", "fence", "finalize")
        lines = self.lines("-n", "1", CLIENT, "init", *child, "ranks:2", "spawn", "child:1", "connect", "peers", "fence", "finalize")
        self.assertEqual(lines, ["peers 3", "peers 3", "peers 3", "spawn PMIX_SUCCESS 1"])

    # ---- what is asked for

    def test_environment_and_folder(self):
        for shape in self.in_each_shape():
            with tempfile.TemporaryDirectory() as folder:
                child = me("value:INHERITED", "value:OWN", "value:BOTH", "where")
                lines = self.lines(*shape, "-x", "INHERITED=a", "-x", "BOTH=b", CLIENT, "init", "only:0", *child, "env:OWN=c", "env:BOTH=d",
                                   f"wdir:{folder}", "spawn", "all", "finalize")
                self.assertEqual(lines, ["BOTH=d", "INHERITED=a", "OWN=c", "spawn PMIX_SUCCESS 1", f"where {os.path.realpath(folder)}"])

    def test_nodes(self):
        host = os.uname().nodename
        shape = SHAPES["two nodes"]
        child = me("init", "job:pmix.num.nodes", "value:WEFT_NODE", "finalize")
        lines = self.lines(*shape, CLIENT, "init", "only:0", *child, "ranks:2", f"text:{HOST}={host}-v1", "spawn", "all", "finalize")
        self.assertEqual(lines[2:4], ["pmix.num.nodes 1"] * 2)
        self.assertEqual(len(set(lines[:2])), 1)
        lines = self.lines(*shape, CLIENT, "init", "only:0", *child, "ranks:2", f"text:{MAP}=node", "spawn", "all", "finalize")
        self.assertEqual(lines[2:4], ["pmix.num.nodes 2"] * 2)
        self.assertEqual(len(set(lines[:2])), 2)

    def test_a_bare_name_is_looked_for_in_the_folder_at_last(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("only-here", "true"):
                program = pathlib.Path(folder) / name
                program.write_text("#!/bin/sh\necho here\n")
                program.chmod(0o755)
            for shape in self.in_each_shape():
                for name, said in (("only-here", ["here"]), ("true", [])):
                    lines = self.lines(*shape, CLIENT, "init", "only:0", f"program:{name}", "spawn", "all", "finalize", cwd=folder)
                    self.assertEqual(lines, [*said, "spawn PMIX_SUCCESS 1"])

    def test_a_job_that_starts_while_another_waits_for_its_node(self):
        """Rank 0 asks for a rank on each node, one of which has no server yet, and rank 1 for one here."""
        for _ in range(5):
            lines = self.lines("--virtual-nodes", "3:4", "--map-by", "node", "-n", "2", CLIENT, "init", "meet",
                               "only:0", *me("init", "meet", "finalize"), "ranks:3", f"text:{MAP}=node", "spawn", "all",
                               "only:1", *me("init", "finalize"), "spawn", "all", "finalize")
            self.assertEqual([line.rsplit(" ", 1)[0] for line in lines], ["spawn PMIX_SUCCESS"] * 2)

    def test_names_where_nodes_have_no_server_yet(self):
        """A rank on one node of three publishes and finds, and so do ranks that come to the other nodes."""
        child = me("init", "finds:16", "finalize")
        lines = self.lines("--virtual-nodes", "3:2", "-n", "1", CLIENT, "init", "ends", "names:16", "finds:16", *child, "ranks:3",
                           f"text:{MAP}=node", "spawn", "ended", "finalize")
        self.assertEqual(lines, ["ended 1 PMIX_SUCCESS"] + ["finds 16"] * 4 + ["spawn PMIX_SUCCESS 1"])

    def test_a_node_that_the_call_adds(self):
        child = me("init", "job:pmix.num.nodes", "value:WEFT_NODE", "connect", "fence", "disconnect", "finalize")
        shape = SHAPES["two nodes"]
        lines = self.lines(*shape, CLIENT, "init", "only:0", *child, "ranks:3", f"text:{ADD_HOST}=added:3", f"text:{HOST}=added", "spawn", "all",
                           "meet", "child:1", "connect", "fence", "disconnect", "finalize")
        self.assertEqual(lines[3:], ["pmix.num.nodes 1"] * 3 + ["spawn PMIX_SUCCESS 1"])
        self.assertEqual(len(set(lines[:3])), 1, lines)

    def test_a_node_that_is_added_is_there_for_later_jobs(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "hosts"
            file.write_text("one slots=1\ntwo slots=1\n", encoding="utf-8")
            child = me("init", "job:pmix.univ.size", "finalize")
            lines = self.lines("--virtual-nodes", "1:1", "--grow", "2", "-n", "1", CLIENT, "init", *child, f"text:{ADD_HOSTFILE}={file}",
                               f"text:{HOST}=one", "spawn", *child, f"text:{HOST}=two", "spawn", "program:/bin/true",
                               f"text:{ADD_HOST}=three", "spawn", "finalize", error="--grow")
            self.assertEqual([line.rstrip() for line in lines], ["pmix.univ.size 3"] * 2 + ["spawn PMIX_ERR_JOB_INSUFFICIENT_RESOURCES",
                                                                                             "spawn PMIX_SUCCESS 1", "spawn PMIX_SUCCESS 2"])

    def test_a_node_that_no_agent_reaches_is_an_error_of_the_call(self):
        words = ("init", "program:/bin/true", f"text:{ADD_HOST}=no-host", f"text:{HOST}=no-host", "spawn", "finalize")
        lines = self.lines("--grow", "1", "--agent", "/bin/false", "-n", "1", CLIENT, *words, error="(?s)node 'no-host': agent.*none of this run")
        self.assertEqual(lines, ["spawn PMIX_ERR_JOB_INSUFFICIENT_RESOURCES "])
        lines = self.lines("-n", "1", CLIENT, *words, error="--grow")
        self.assertEqual(lines, ["spawn PMIX_ERR_JOB_INSUFFICIENT_RESOURCES "])

    def test_what_cannot_be_is_an_error_of_the_call_alone(self):
        host = os.uname().nodename
        cases = {"PMIX_ERR_JOB_EXE_NOT_FOUND": (["program:/no/such/program"], "does not exist"),
                 "PMIX_ERR_JOB_APP_NOT_EXECUTABLE": (["program:/etc/passwd"], "cannot be run"),
                 "PMIX_ERR_JOB_FAILED_TO_LAUNCH": (["program:/bin/true", "wdir:/no/such/folder"], "cannot change to"),
                 "PMIX_ERR_JOB_INSUFFICIENT_RESOURCES": (["program:/bin/true", "ranks:99", f"flag:{NO_OVERSUBSCRIBE}"], "99 ranks"),
                 "PMIX_ERR_BAD_PARAM": (["program:/bin/true", f"text:{MAP}=moon"], "moon")}
        for shape in self.in_each_shape():
            for status, (words, line) in cases.items():
                with self.subTest(status):
                    lines = self.lines(*shape, CLIENT, "init", "only:0", *words, "spawn", "all", "finalize", error=line)
                    self.assertEqual([each.rstrip() for each in lines], [f"spawn {status}"])
        lines = self.lines("-n", "1", CLIENT, "init", "program:/bin/true", f"text:{HOST}=no-such-{host}", "spawn", "finalize", error="none of this run")
        self.assertEqual(lines, ["spawn PMIX_ERR_JOB_INSUFFICIENT_RESOURCES "])
        lines = self.lines("-n", "1", CLIENT, "init", "program:/bin/true", "text:no.such=x", "required", "spawn", "finalize")
        self.assertEqual(lines, ["spawn PMIX_ERR_NOT_SUPPORTED "])
        lines = self.lines("-n", "1", CLIENT, "init", "ranks:0", "program:/bin/true", "spawn", "ranks:1", "spawn", "finalize")
        self.assertEqual(lines, ["spawn PMIX_ERR_BAD_PARAM "] * 2)

    def test_slots_come_back(self):
        count = len(repeated(200))
        for shape in (("-H", "localhost:2", "-n", "1"), ("--virtual-nodes", "2:1", "-n", "1")):
            with self.subTest(shape):
                lines = self.lines(*shape, CLIENT, "init", "ends", "program:/bin/true", f"flag:{NO_OVERSUBSCRIBE}", f"flag:{TELL_END}",
                                   f"times:{count}", "spawn", "finalize")
                self.assertEqual(lines, [f"spawn PMIX_SUCCESS {count}"])

    # ---- output

    def test_output(self):
        with tempfile.TemporaryDirectory() as folder:
            words = ("init", "program:/bin/echo", "arg:child", "spawn", "finalize")
            self.assertEqual(self.lines("--tag-output", "-n", "1", CLIENT, *words), ["[0] spawn PMIX_SUCCESS 1", "[1.0] child"])
            self.assertEqual(self.lines("--output-dir", folder, "-n", "1", CLIENT, *words), [])
            self.assertEqual((pathlib.Path(folder) / "job.1" / "rank.0.out").read_text(encoding="utf-8"), "child\n")

    # ---- ends

    def test_a_child_that_fails_releases_its_parent_and_gives_the_status(self):
        for shape in self.in_each_shape():
            lines = self.lines(*shape, CLIENT, "init", "only:0", "ends", "program:/bin/false", f"flag:{TELL_END}", "spawn", "ended", "all", "finalize",
                               status=1, error=r"rank 0 of job \S+\.1 on \S+ \(pid \d+, /bin/false\) exited with status 1; the job was ended")
            self.assertEqual(lines, ["ended 1 PMIX_ERR_JOB_NON_ZERO_TERM", "spawn PMIX_SUCCESS 1"])

    def test_connected_jobs_share_an_end(self):
        for shape in self.in_each_shape():
            child = me("init", "connect", "exit:7")
            lines = self.lines(*shape, CLIENT, "init", "only:0", *child, "spawn", "all", "meet", "child:1", "connect", "wait", status=7,
                               error=r"is ended with job \S+\.1, with which it is connected")
            self.assertEqual(lines, ["spawn PMIX_SUCCESS 1"])

    def test_disconnected_jobs_do_not(self):
        child = me("init", "connect", "disconnect", "exit:7")
        for shape in self.in_each_shape():
            lines = self.lines(*shape, CLIENT, "init", "only:0", "ends", *child, f"flag:{TELL_END}", "spawn", "all", "meet", "child:1", "connect", "disconnect",
                               "only:0", "ended", "all", "finalize", status=7, error="the job was ended")
            self.assertEqual(lines, ["ended 1 PMIX_ERR_JOB_NON_ZERO_TERM", "spawn PMIX_SUCCESS 1"])

    def test_an_abort_ends_what_is_connected(self):
        for shape in self.in_each_shape():
            child = me("init", "connect", "wait")
            lines = self.lines(*shape, CLIENT, "init", "only:0", *child, "spawn", "all", "meet", "child:1", "connect", "only:0", "abort:9", "all", "wait", status=9,
                               error=r"job \S+\.1 is ended with job")
            self.assertEqual(lines, ["spawn PMIX_SUCCESS 1"])

    def test_the_parent_is_told(self):
        for shape in self.in_each_shape():
            lines = self.lines(*shape, CLIENT, "init", "only:0", "ends", "program:/bin/true", f"flag:{TELL_ALL}", "spawn", "launched", "ended", "all", "finalize")
            self.assertEqual(lines, ["ended 1 PMIX_SUCCESS", "launched 1", "spawn PMIX_SUCCESS 1"])

    def test_children_outlive_their_parent(self):
        for shape in self.in_each_shape():
            with tempfile.TemporaryDirectory() as folder:
                go = pathlib.Path(folder) / "go"
                child = me("init", "pid", f"until:{go}", "say:last", "finalize")
                job = start(*shape, CLIENT, "init", "pid", "only:0", *child, "spawn", "all", "finalize")
                try:
                    lines = read_lines(job.stdout, 2 + int(shape[-1]))
                    pids = [int(line.split()[1]) for line in lines if line.startswith("pid")]
                    wait_until(lambda: sum(map(lives, pids)) == 1, "the parents have gone")
                    go.touch()
                    self.assertEqual(read_lines(job.stdout, 1), ["last"])
                    self.assertEqual(finish(job)[0], 0)
                finally:
                    kill_quietly(job)

    def test_signals_and_time_are_of_all_jobs(self):
        for shape in self.in_each_shape():
            job = start(*shape, CLIENT, "init", "only:0", *me("init", "say:up", "wait"), "spawn", "all", "say:up", "wait")
            try:
                read_lines(job.stdout, 2 + int(shape[-1]))
                job.send_signal(signal.SIGTERM)
                self.assertEqual(finish(job)[0], 128 + signal.SIGTERM)
            finally:
                kill_quietly(job)
            lines = self.lines("--timeout", "2", *shape, CLIENT, "init", "only:0", *me("wait"), "spawn", "all", "finalize", status=124,
                               error=r"(?s)weftrun: where ranks are of \S+\.1; \d runs?:\n.*--timeout")
            self.assertEqual(lines, ["spawn PMIX_SUCCESS 1"])

    def test_members_of_two_jobs_on_two_nodes_hear_of_each_other(self):
        host = os.uname().nodename
        child = me("init", "group:both", "signal:9")
        lines = self.lines("--virtual-nodes", "2:4", "--on-failure", "continue", "--map-by", "node", "-n", "2", CLIENT, "init", "only:0", *child,
                           f"text:{HOST}={host}-v1", "spawn", "all", "meet", "child:1", "group:both", "hears:0", "say:heard", "finalize", status=137,
                           error="was killed by signal 9")
        self.assertEqual(lines, ["heard", "heard", "spawn PMIX_SUCCESS 1"])

    def test_a_parent_that_dies_while_it_asks(self):
        for shape in self.in_each_shape():
            for _ in repeated(10):
                job = start(*shape, CLIENT, "init", "pid", "only:0", "ends", "program:/bin/true", f"flag:{TELL_END}", "times:1000000", "spawn", "all", "wait")
                try:
                    pid = int(read_lines(job.stdout, 1)[0].split()[1])
                    os.kill(pid, signal.SIGKILL)
                    self.assertEqual(finish(job)[0], 137)
                finally:
                    kill_quietly(job)


class Tools(Shapes):
    """A job that waits, and a tool of its server."""

    def ask(self, shape, *steps, before=()):
        """What the tool has said, and what its jobs have."""
        job = start(*shape, "sh", "-c", "echo up; exec sleep 1000")
        try:
            read_lines(job.stdout, int(shape[-1]))
            tool = subprocess.run([CLIENT, *before, f"tool:{job.pid}", *steps, "finalize"], capture_output=True, text=True, check=True,
                                  timeout=WATCHDOG)
        finally:
            job.terminate()
            _, out, _ = finish(job)
        return tool.stdout.splitlines(), out.decode().splitlines()

    def test_asks_for_a_job(self):
        for shape in self.in_each_shape():
            said, written = self.ask(shape, "ends", *me("init", "parent", "finalize"), "ranks:2", "spawn", "ended")
            self.assertEqual(said[0], "spawn PMIX_SUCCESS 1")
            self.assertRegex(said[1], "ended .* PMIX_SUCCESS")
            self.assertEqual([line.rsplit(" ", 2)[1:] for line in written], [["0", "1"]] * 2)

    def test_a_singleton_asks_once_it_is_a_tool(self):
        """A process of no launcher calls PMIx_Init, is refused a job, and comes to a server later."""
        child = me("init", "finalize")
        for shape in self.in_each_shape():
            said, _ = self.ask(shape, *child, "spawn", before=["alone", *child, "spawn"])
            self.assertEqual(said, ["spawn PMIX_ERR_UNREACH ", "spawn PMIX_SUCCESS 1"])

    def test_controls_its_job(self):
        for shape in self.in_each_shape():
            said, _ = self.ask(shape, "ends", "program:/bin/sleep", "arg:1000", "spawn", "to:pmix.jctrl.kill", "ended")
            self.assertEqual(said[:2], ["spawn PMIX_SUCCESS 1", "control PMIX_SUCCESS"])

    def test_an_error_is_the_calls(self):
        for shape in self.in_each_shape():
            said, _ = self.ask(shape, "program:/no/such/program", "spawn")
            self.assertEqual(said, ["spawn PMIX_ERR_JOB_EXE_NOT_FOUND "])


class Control(Shapes):
    """PMIx_Job_control of a job by another one, and of its own."""
    SIGNAL, PAUSE, RESUME, TERMINATE, KILL = (f"pmix.jctrl.{what}" for what in ("sig", "pause", "resume", "term", "kill"))

    def test_a_signal_comes_to_all_or_to_one(self):
        for shape in self.in_each_shape():
            with tempfile.TemporaryDirectory() as folder:
                all_of_them, one_of_them, go = (pathlib.Path(folder) / name for name in ("all", "one", "go"))
                child = me("init", "handle:10", "say:up", f"until:{go}", "finalize")
                job = start(*shape, CLIENT, "init", "only:0", *child, "ranks:2", "spawn", "child:1", f"until:{all_of_them}", f"to:{self.SIGNAL}:10",
                            f"until:{one_of_them}", "target:1", f"to:{self.SIGNAL}:10", "all", "finalize")
                try:
                    self.assertEqual(sorted(read_lines(job.stdout, 3)), ["spawn PMIX_SUCCESS 1", "up", "up"])
                    all_of_them.touch()
                    self.assertEqual(sorted(read_lines(job.stdout, 3)), ["control PMIX_SUCCESS", "signal 10", "signal 10"])
                    one_of_them.touch()
                    self.assertEqual(sorted(read_lines(job.stdout, 2)), ["control PMIX_SUCCESS", "signal 10"])
                    go.touch()
                    self.assertEqual(finish(job)[0], 0)
                finally:
                    kill_quietly(job)

    def test_pause_and_resume(self):
        for shape in self.in_each_shape():
            with tempfile.TemporaryDirectory() as folder:
                off, on, go = (pathlib.Path(folder) / name for name in ("off", "on", "go"))
                job = start(*shape, CLIENT, "init", "only:0", *me("pid", f"until:{go}"), "spawn", "child:1", f"until:{off}", f"to:{self.PAUSE}",
                            f"until:{on}", f"to:{self.RESUME}", "all", "finalize")
                try:
                    lines = read_lines(job.stdout, 2)
                    off.touch()
                    pid = next(int(line.split()[1]) for line in lines if line.startswith("pid"))
                    wait_until(lambda: state(pid) == "T", "the child is stopped")
                    on.touch()
                    wait_until(lambda: state(pid) != "T", "the child goes on")
                    go.touch()
                    self.assertEqual(finish(job)[0], 0)
                finally:
                    kill_quietly(job)

    def test_ends(self):
        for shape in self.in_each_shape():
            for directive, child in ((self.TERMINATE, ["wait"]), (self.KILL, ["handle:15", "wait"])):
                with self.subTest(directive):
                    lines = self.lines(*shape, CLIENT, "init", "only:0", "ends", *me(*child[:-1], "init", child[-1]), "ranks:2", f"flag:{TELL_END}", "spawn",
                                       "child:1", f"to:{directive}", "ended", "all", "finalize", error=r"job \S+\.1 is ended: rank 0 of \S+ has asked for that")
                    self.assertEqual(lines,
                                     ["control PMIX_SUCCESS", "ended 1 PMIX_ERR_JOB_KILLED_BY_CMD", "spawn PMIX_SUCCESS 1"])

    def test_a_second_kill_leaves_nothing_behind(self):
        for shape in self.in_each_shape():
            done = run(*shape, CLIENT, "init", "only:0", *me("wait"), "ranks:4", "spawn", "child:1", *[f"to:{self.KILL}"] * 5, "all", "finalize")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertNotIn(b"left behind", done.stderr)
            self.assertIn(b"control PMIX_SUCCESS", done.stdout)

    def test_one_rank_ends_and_that_is_no_failure(self):
        for shape in self.in_each_shape():
            with tempfile.TemporaryDirectory() as folder:
                end, go = pathlib.Path(folder) / "end", pathlib.Path(folder) / "go"
                child = me("pid", f"until:{go}")
                job = start(*shape, CLIENT, "init", "only:0", *child, "ranks:2", "spawn", "child:1", f"until:{end}", "target:1", f"to:{self.KILL}", "all",
                            "finalize")
                try:
                    pids = [int(line.split()[1]) for line in read_lines(job.stdout, 3) if line.startswith("pid")]
                    end.touch()
                    wait_until(lambda: sum(map(lives, pids)) == 1, "one has ended")
                    go.touch()
                    self.assertEqual(finish(job)[0], 0)
                finally:
                    kill_quietly(job)

    def test_the_own_job(self):
        for shape in self.in_each_shape():
            self.lines(*shape, CLIENT, "init", "only:0", "own", f"to:{self.KILL}", "all", "wait", status=137, error="has asked for that")

    def test_what_makes_no_sense(self):
        lines = self.lines("-n", "1", CLIENT, "init", "child:7", f"to:{self.KILL}", "own", "to:pmix.jctrl.sig:999", "own", "to:pmix.jctrl.ckptev", "finalize")
        self.assertEqual(lines, ["control PMIX_ERR_BAD_PARAM", "control PMIX_ERR_NOT_FOUND", "control PMIX_ERR_NOT_SUPPORTED"])


def state(pid):
    """The letter of ps."""
    return pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()[0]


if __name__ == "__main__":
    unittest.main()

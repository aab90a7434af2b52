# SPDX-License-Identifier: BSD-3-Clause
"""Tools of weftrun's and weftd's servers hear how a job starts and ends."""
import os
import pathlib
import signal
import subprocess
import tempfile
import unittest

from weftrun_common import CLIENT, WATCHDOG, finish, kill_quietly, name_of, parent, read_lines, start, wait_until

TOOL = os.environ["WEFTRUN_TOOL"]
STARTED, COMPLETE, ENDED = "PMIX_EVENT_JOB_START of a job", "PMIX_LAUNCH_COMPLETE of a job", "PMIX_EVENT_JOB_END of a job "


class Tools(unittest.TestCase):
    """A job that waits for a file, and a tool that connects meanwhile."""

    def watch(self, steps, *args, server=lambda job: job.pid, end=None):
        """The lines of a tool at that server; the ranks go through these steps once it is connected. Returns
        them and weftrun's status."""
        with tempfile.TemporaryDirectory() as folder:
            go = pathlib.Path(folder) / "go"
            job = start("-n", "2", *args, CLIENT, "init", "say:up", f"until:{go}", *steps)
            running = [job]
            try:
                self.assertEqual(read_lines(job.stdout, 2), ["up"] * 2)
                # Without a buffer, as start(): what came before the tool connected is told by a thread of its
                # own, perhaps behind "connected".
                tool = subprocess.Popen([TOOL, str(server(job))], stdout=subprocess.PIPE, bufsize=0)
                running.append(tool)
                lines = []
                while "connected" not in lines:
                    lines += read_lines(tool.stdout, 1)
                    self.assertTrue(lines[-1], "the tool has ended")
                if end:
                    end(job)
                go.touch()
                status = finish(job)[0]
                lines += tool.communicate(timeout=WATCHDOG)[0].decode().splitlines()
                self.assertEqual(tool.returncode, 0)
            finally:
                for process in running:
                    kill_quietly(process)
        lines.remove("connected")
        return lines, status

    def expect_end(self, lines, how, whole=True):
        """What came before the tool connected is told first; then the end, and only then the loss of the
        server."""
        self.assertEqual(lines[:-3], [STARTED, COMPLETE] if whole else [STARTED])
        self.assertEqual(lines[-1], "default PMIX_ERR_LOST_CONNECTION")
        self.assertEqual(sorted(lines[-3:-1]), [ENDED + how, "default PMIX_EVENT_JOB_END"])

    def test_a_job_that_ends_well(self):
        lines, status = self.watch(["finalize"])
        self.expect_end(lines, "PMIX_SUCCESS")
        self.assertEqual(status, 0)

    def test_a_job_with_a_rank_that_fails(self):
        for steps, how, code in ((["finalize", "only:1", "exit:7"], "PMIX_ERR_JOB_NON_ZERO_TERM rank 1 exit 7", 7),
                                 (["only:1", "signal:9", "all", "wait"], "PMIX_ERR_JOB_ABORTED_BY_SIG rank 1 exit 137", 137),
                                 (["only:0", "exit:0", "all", "wait"], "PMIX_ERR_JOB_TERM_WO_SYNC rank 0 exit 1", 1),
                                 (["only:1", "abort:5", "all", "wait"], "PMIX_ERR_JOB_ABORTED rank 1 exit 5", 5)):
            lines, status = self.watch(steps)
            jobs = [line for line in lines if not line.startswith("default") or "JOB" in line or "LOST" in line]
            self.expect_end(jobs, how)
            self.assertEqual(status, code)

    def test_a_job_that_a_signal_ends(self):
        lines, status = self.watch(["wait"], end=lambda job: job.send_signal(signal.SIGTERM))
        self.expect_end([line for line in lines if "PROC" not in line], "PMIX_ERR_JOB_KILLED_BY_CMD")
        self.assertEqual(status, 128 + signal.SIGTERM)

    def test_a_tool_of_a_daemon(self):
        def daemon(job):
            found = []

            def look():
                found[:] = [int(pid) for pid in filter(str.isdigit, os.listdir("/proc"))
                            if name_of(pid) == "weftd" and parent(int(pid)) == job.pid]
                return found
            wait_until(look, "a daemon")
            return found[0]
        for server, whole in ((daemon, False), (lambda job: job.pid, True)):
            lines, status = self.watch(["finalize"], "--virtual-nodes", "2", "--map-by", "node", server=server)
            self.expect_end(lines, "PMIX_SUCCESS", whole)
            self.assertEqual(status, 0)


if __name__ == "__main__":
    unittest.main()

# SPDX-License-Identifier: BSD-3-Clause
"""The trace of a job: WEFT_TRACE, of jobs that run and of others."""
import os
import platform
import signal
import stat
import tempfile
import unittest

from trace_reader import Trace
from weftrun_common import CLIENT, WEFTRUN, finish, lives, own_lines, read_lines, run, server_of_ranks, shared_memory, shared_memory_of, start, \
    wait_until

TWO_NODES = ("--virtual-nodes", "2:2")
ALL_CALLS = (CLIENT, "init", "put:100", "commit", "fence", "finalize")


def sleeps_in_futex(pid):
    """True for a process whose first thread waits for another one, or for another process."""
    with open(f"/proc/{pid}/syscall", encoding="utf-8") as file:
        return file.read().split()[0] == {"x86_64": "202", "aarch64": "98"}[platform.machine()]


class TraceOfJob(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="trace_")
        self.scratch = tempfile.TemporaryDirectory(prefix="trace_scratch_")
        self.file = os.path.join(self.folder.name, "trace.json")
        self.env = {**os.environ, "WEFT_TRACE": self.file, "TMPDIR": self.scratch.name}
        self.shared = shared_memory()

    def tearDown(self):
        left = os.listdir(self.folder.name), os.listdir(self.scratch.name)
        self.folder.cleanup()
        self.scratch.cleanup()
        self.assertIn(left[0], ([], ["trace.json"]))
        self.assertEqual(left[1], [])

    def trace(self, *words, status=0, **variables):
        done = run(*words, env={**self.env, **variables})
        self.assertEqual(done.returncode, status, done.stderr.decode())
        return Trace(self.file)

    def test_each_rank_has_its_calls_on_one_node_and_on_two(self):
        for shape, nodes in ((("-n", "4", "--oversubscribe"), 1), ((*TWO_NODES, "-n", "4"), 2)):
            with self.subTest(nodes=nodes):
                trace = self.trace(*shape, *ALL_CALLS)
                self.assertEqual(len(trace.nodes), nodes)
                self.assertEqual((trace.about["ranks"], trace.about["left_out"], trace.about["nodes_without_trace"]), (4, 0, []))
                self.assertEqual([node["clock_error_us"] for node in trace.about["nodes"]], [0] * nodes)
                for rank in range(4):
                    self.assertEqual(trace.calls(f"rank {rank}"),
                                     ["PMIx_Init", "PMIx_Put", "PMIx_Commit", "PMIx_Fence", "PMIx_Finalize"])
                    for event in trace.tracks[f"rank {rank}"]:
                        self.assertEqual(event["args"], {})
                self.assertIn("server", trace.tracks)
                self.assertEqual(len(trace.tracks), 5)
        self.assertEqual(stat.S_IMODE(os.stat(self.file).st_mode), 0o600)

    def test_a_fence_begins_everywhere_before_it_ends_anywhere(self):
        trace = self.trace(*TWO_NODES, "-n", "4", *ALL_CALLS)
        fences = [next(event for event in trace.tracks[f"rank {rank}"] if event["name"] == "PMIx_Fence") for rank in range(4)]
        self.assertLessEqual(max(fence["ts"] for fence in fences), min(fence["ts"] + fence["dur"] for fence in fences))
        inside = trace.calls("server")
        self.assertEqual(inside, ["fence between nodes"] * 2, "one at each server")

    def test_a_get_of_another_node_waits_and_one_of_this_node_does_not(self):
        trace = self.trace(*TWO_NODES, "-n", "4", CLIENT, "init", "put:100", "commit", "fence", "get:0", "get:1", "fence", "finalize",
                           WEFT_FENCE="sparse")
        gets = {rank: [event["args"]["rank"] for event in trace.tracks[f"rank {rank}"] if event["name"] == "PMIx_Get"] for rank in range(4)}
        self.assertEqual((gets[0], gets[1]), ([], []), "of their own node")
        # A rank may find what the server has brought for the other one.
        self.assertEqual(set(gets[2] + gets[3]), {0, 1}, gets)
        fetches = [event for event in trace.tracks["server"] if event["name"] == "fetch of a card"]
        self.assertEqual(sorted({event["args"]["rank"] for event in fetches}), [0, 1])

    def test_what_goes_on_behind_a_call_has_a_track_of_its_own(self):
        trace = self.trace("-n", "2", "--oversubscribe", CLIENT, "init", "fence_nb", "finalize")
        for rank in range(2):
            self.assertEqual(trace.calls(f"rank {rank}"), ["PMIx_Init", "PMIx_Finalize"])
            self.assertEqual(trace.calls(f"rank {rank}, non-blocking"), ["PMIx_Fence_nb"])
            self.assertEqual(trace.tracks[f"rank {rank}, non-blocking"][0]["args"], {})

    def test_groups_connections_and_spawned_jobs_are_calls(self):
        trace = self.trace("-n", "2", "--oversubscribe", CLIENT, "init", "construct:g", "destruct:g", "connect", "disconnect",
                           "only:0", "spawn:1", "all", "finalize")
        self.assertEqual(trace.calls("rank 0"), ["PMIx_Init", "PMIx_Group_construct", "PMIx_Group_destruct", "PMIx_Connect",
                                                 "PMIx_Disconnect", "PMIx_Spawn", "PMIx_Finalize"])
        self.assertEqual(trace.about["ranks"], 2, "the job that a rank has asked for is not traced")

    def test_a_killed_rank_leaves_its_calls_and_the_one_that_it_was_in(self):
        for shape in (("-n", "2", "--oversubscribe"), ("--virtual-nodes", "2:1", "-n", "2")):
            with self.subTest(shape=shape):
                job = start(*shape, CLIENT, "init", "fence", "pid", "only:0", "wait", "all", "fence", env=self.env)
                pids = dict(map(int, line.split()) for line in read_lines(job.stdout, 3) if line != "waiting")
                self.assertEqual(sorted(pids), [0, 1])
                wait_until(lambda: sleeps_in_futex(pids[1]), "rank 1 waits for rank 0 in its second fence")
                os.kill(pids[1], signal.SIGKILL)
                status, _, err = finish(job)
                self.assertEqual(status, 128 + signal.SIGKILL, err)
                trace = Trace(self.file)
                self.assertEqual(trace.calls("rank 0"), ["PMIx_Init", "PMIx_Fence"])
                self.assertEqual(trace.calls("rank 1"), ["PMIx_Init", "PMIx_Fence", "PMIx_Fence"])
                self.assertEqual([event["args"] for event in trace.tracks["rank 1"]], [{}, {}, {"unfinished": True}])
                wait_until(lambda: not any(lives(pid) for pid in pids.values()), "the end of all ranks")
                self.assertEqual(shared_memory_of(job.pid, self.shared), [])

    def test_a_rank_that_fails_and_a_call_that_fails_for_it(self):
        trace = self.trace("--on-failure", "continue", "-n", "2", "--oversubscribe", CLIENT, "init", "only:0", "exit:7", "all",
                           "fence_aborted", "finalize", status=7)
        self.assertEqual(trace.calls("rank 0"), ["PMIx_Init"])
        self.assertEqual([event["args"] for event in trace.tracks["rank 1"]], [{}, {"status": "PMIX_ERR_PROC_ABORTED"}, {}])

    def test_of_many_calls_the_first_and_the_last_are_there(self):
        puts = ["put:8"] * 3000
        trace = self.trace("-n", "1", CLIENT, "init", *puts, "commit", "fence", "finalize")
        calls = trace.calls("rank 0")
        self.assertEqual((calls[0], calls[1], calls[-2:]), ("PMIx_Init", "PMIx_Put", ["PMIx_Fence", "PMIx_Finalize"]))
        self.assertEqual(len(calls) + trace.about["left_out"], 3000 + 4)
        self.assertGreater(trace.about["left_out"], 1000)
        self.assertEqual(trace.about["nodes"][0]["left_out"], trace.about["left_out"])

    def test_a_node_that_is_lost_is_named_and_the_others_are_there(self):
        job = start("--virtual-nodes", "3:1", "-n", "3", CLIENT, "init", "fence", "pid", "wait", env=self.env)
        pids = dict(map(int, line.split()) for line in read_lines(job.stdout, 6) if line != "waiting")
        daemon = server_of_ranks(job)
        self.assertNotEqual(daemon, job.pid)
        os.kill(daemon, signal.SIGKILL)
        status, _, err = finish(job)
        self.assertEqual(status, 125, err)
        trace = Trace(self.file)
        self.assertEqual(len(trace.about["nodes_without_trace"]), 1)
        self.assertEqual(len([name for name in trace.tracks if name.startswith("rank")]), 2)
        wait_until(lambda: not any(lives(pid) for pid in pids.values()), "the end of all ranks")

    def test_programs_without_pmix_have_tracks_without_events(self):
        trace = self.trace(*TWO_NODES, "-n", "2", "/bin/true")
        self.assertEqual((trace.tracks["rank 0"], trace.tracks["rank 1"]), ([], []))

    def test_without_the_variable_there_is_no_file_and_ranks_have_no_variable(self):
        del self.env["WEFT_TRACE"]
        done = run("-n", "2", "--oversubscribe", *ALL_CALLS, env=self.env)
        self.assertEqual((done.returncode, done.stderr, os.listdir(self.folder.name)), (0, b"", []))
        self.env["WEFT_TRACE"] = self.file
        for shape in ((), TWO_NODES):
            done = run(*shape, "-n", "2", "--oversubscribe", "sh", "-c", "echo ${WEFT_TRACE-none}", env=self.env)
            self.assertEqual((done.returncode, done.stdout), (0, b"none\nnone\n"))

    def test_a_file_that_cannot_be_written_is_an_error_before_the_job(self):
        for path, why in ((os.path.join(self.folder.name, "none", "t"), "No such file or directory"), (self.folder.name, "it is a folder"),
                          ("/dev/null", "no regular file")):
            done = run("-n", "1", "sh", "-c", "echo ran", env={**self.env, "WEFT_TRACE": path})
            self.assertEqual((done.returncode, done.stdout), (125, b""), path)
            lines = own_lines(done.stderr)
            self.assertEqual(len(lines), 1, lines)
            self.assertIn(f"cannot write the trace to '{path}': ", lines[0])
            self.assertIn(why, lines[0])
        self.assertTrue(stat.S_ISCHR(os.stat("/dev/null").st_mode))

    def test_a_file_that_cannot_be_written_any_more_is_said(self):
        sub = os.path.join(self.folder.name, "sub")
        os.mkdir(sub)
        done = run("-n", "1", "rmdir", sub, env={**self.env, "WEFT_TRACE": os.path.join(sub, "t")})
        self.assertEqual(done.returncode, 125)
        self.assertIn("the trace of the job is lost", own_lines(done.stderr)[-1])

    def test_jobs_of_a_service_are_not_traced_and_that_is_said(self):
        done = run("--attach", "1", "-n", "1", "/bin/true", env=self.env)
        self.assertNotEqual(done.returncode, 0, "there is no such service")
        self.assertIn("WEFT_TRACE has no effect with --dvm and --attach", own_lines(done.stderr)[0])


if __name__ == "__main__":
    assert WEFTRUN
    unittest.main()

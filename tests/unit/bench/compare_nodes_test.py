# SPDX-License-Identifier: BSD-3-Clause
"""What scripts/compare_nodes computes, and how it ends processes. No launcher and no host is started."""
import importlib.machinery
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from types import SimpleNamespace

SCRIPT = Path(__file__).resolve().parents[3] / "scripts" / "compare_nodes"
sys.dont_write_bytecode = True
sys.path.insert(0, str(SCRIPT.parent))
loader = importlib.machinery.SourceFileLoader("compare_nodes", str(SCRIPT))
spec = importlib.util.spec_from_loader("compare_nodes", loader)
nodes = importlib.util.module_from_spec(spec)
sys.modules["compare_nodes"] = nodes
loader.exec_module(nodes)
from comparison import launch_count, launchers, node_targets, pretend, slurm  # noqa: E402
from comparison.results import Results  # noqa: E402
from comparison.runner import Runner  # noqa: E402


def line(bench, ranks, size, median):
    return json.dumps({"bench": bench, "ranks": ranks, "bytes": size, "median_ns": median, "max_ns": median,
                       "library": "lib"}, separators=(",", ":"))


class Verdicts(unittest.TestCase):
    def setUp(self):
        self.results = Results()

    def add(self, side, bench, job, value, size=0):
        self.results.add(side, bench, job, size, value)

    def verdicts(self, what, job):
        return {r["rule"]: r["met"] for r in node_targets.judged(self.results) if (r["what"], r["job"]) == (what, job)}

    def test_jobs_of_equally_many_ranks_are_kept_apart(self):
        self.results.add_lines("weft", line("barrier", 8, 0, 10), "4x2")
        self.results.add_lines("weft", line("barrier", 8, 0, 30), "2x4")
        self.assertEqual(self.results.median("weft", "barrier", "4x2"), 10)
        self.assertEqual(self.results.libraries, {"weft": "lib"})

    def test_the_better_peer_and_the_better_floor_count(self):
        for bench, value in (("floor_nodes_barrier_read", 100), ("floor_nodes_barrier_epoll", 80)):
            self.add("floor", bench, "4x2", value)
        self.add("mpirun", "barrier", "4x2", 600)
        self.add("slurm", "barrier", "4x2", 330)
        self.add("weft", "barrier", "4x2", 115)
        self.assertEqual(self.verdicts("Barrier", "4x2"), {"1.5 x floor": True, "1/3 of the best peer": False})
        row = next(r for r in node_targets.judged(self.results) if r["what"] == "Barrier")
        self.assertAlmostEqual(row["best_by_weft"], 330 / 115)

    def test_one_peer_is_enough_and_none_gives_no_verdict(self):
        self.add("weft", "barrier", "2x2", 50)
        self.assertEqual(self.verdicts("Barrier", "2x2"), {"1.5 x floor": None, "1/2 of the best peer": None})
        self.add("slurm", "barrier", "2x2", 100)
        self.assertEqual(self.verdicts("Barrier", "2x2"), {"1.5 x floor": None, "1/2 of the best peer": True})

    def test_the_floor_of_a_touch_is_a_get_and_a_hand_off(self):
        self.add("floor", "floor_tcp_get_sleep_paused", 2, 50, 256)
        self.assertIsNone(node_targets.touch_floor(self.results))
        self.add("floor", "floor_handoff_two_cores_paused", 2, 40)
        self.assertEqual(node_targets.touch_floor(self.results), 90)
        self.add("weft", "first_touch_alone", "4x2", 117, 256)
        self.add("mpirun", "first_touch_alone", "4x2", 150, 256)
        self.assertEqual(self.verdicts("First touch, 256 B, alone", "4x2"),
                         {"1.3 x floor": True, "3/4 of the best peer": False})

    def test_a_fence_is_compared_with_the_own_barrier_and_the_own_first_one(self):
        self.add("weft", "barrier", "2x2", 50)
        self.add("weft", "full_fence", "2x2", 101, 256)
        self.assertEqual(self.verdicts("Full fence, 256 B", "2x2"), {"2 x own barrier": False, "2 x own barrier, timed alike": None})
        self.add("weft", "repeated_fence_new_first", "2x2", 100, 256)
        self.add("weft", "repeated_fence_new_last", "2x2", 120, 256)
        self.assertEqual(self.verdicts("20th full fence in a row, with a new commit each", "2x2"),
                         {"1.2 x the first": True})

    def test_peers_alone_make_rows_without_a_verdict(self):
        self.add("mpirun", "launch_init", "8x4", 4e8)
        self.assertEqual(self.verdicts("Launch + Init + exit, wall", "8x4"), {"1/2 of the best peer": None})
        text = "\n".join(nodes.table(node_targets.judged(self.results)))
        self.assertIn("| 8x4 | - | 400 ms | - |", text)
        self.assertNotIn("yes", text)

    def test_a_job_is_hosts_and_ranks(self):
        for job in ("2x2", "8x4"):
            hosts, ranks = node_targets.shape_of(job)
            self.assertEqual(node_targets.ranks_of(job), hosts * ranks)
        for bad in ("2", "2x", "1x2", "2x0", "x"):
            self.assertRaises(ValueError, nodes.job_list, bad)
        self.assertEqual(nodes.job_list("2x2,8x4"), ["2x2", "8x4"])


class Launches(unittest.TestCase):
    OUT = "weft_trivial: rank 1 of 2\nweft_trivial: rank 0 of 2\n"

    def test_a_good_launch_has_no_fault(self):
        self.assertEqual(launch_count.faults(self.OUT, 0, 0, 2), [])
        self.assertEqual(launch_count.faults(self.OUT, 7, 7, 2), [])

    def test_a_rank_without_a_line_is_lost(self):
        self.assertEqual(launch_count.faults(self.OUT, 0, 0, 3), ["lost ranks"])
        self.assertEqual(launch_count.faults("", 0, 0, 2), ["lost ranks"])
        self.assertEqual(launch_count.faults("weft_trivial: rank 0 of 1\n" * 2, 0, 0, 2), ["lost ranks"])

    def test_a_status_is_right_or_wrong(self):
        self.assertEqual(launch_count.faults(self.OUT, 0, 7, 2), ["wrong status"])
        self.assertEqual(launch_count.faults(self.OUT, 1, 0, 2), ["wrong status"])
        # Ended by a launcher that saw the failure.
        self.assertEqual(launch_count.faults("", 0, 7, 2), ["wrong status"])

    def test_what_is_counted(self):
        said = iter([("", 0), None, (self.OUT, 0), (self.OUT, 0), (self.OUT, 7)])
        wanted = []

        def outcome(command, _):
            wanted.append(command[-1])
            return next(said)

        comparison = SimpleNamespace(bin=Path("/bin"), runner=SimpleNamespace(outcome=outcome),
                                     inside=SimpleNamespace(sweep=lambda _: len(wanted) == 4))
        launcher = SimpleNamespace(name="weft", command=lambda *_: [])
        seen = launch_count.count(comparison, launcher, "2x1", 5)
        self.assertEqual(wanted, [0, 0, 0, 0, 7])
        self.assertEqual([seen[fault] for fault in launch_count.WRONG], [1, 1, 0, 1])
        self.assertEqual(seen["wrong"], 3)


class CommandLines(unittest.TestCase):
    inside = SimpleNamespace(names=["a0", "a1", "a2"], agent="/agent")

    def test_hosts_and_ranks_are_told_as_each_launcher_wants_them(self):
        for launcher, part in ((launchers.Weft(self.inside, "weftrun"), ["--host", "a0:4,a1:4"]),
                               (launchers.OpenMpi(self.inside, "mpirun"), ["--host", "a0:4,a1:4"]),
                               (launchers.Slurm(self.inside, "srun"), ["-w", "a0,a1"])):
            words = launcher.command(2, 4)
            at = words.index(part[0])
            self.assertEqual(words[at:at + 2], part)
            self.assertEqual(words[words.index("-n") + 1], 8)

    def test_why_a_launcher_cannot_be_used(self):
        launcher = SimpleNamespace(command=lambda *_: ["/bin/sh", "-c", "echo no such option >&2; exit 2; #"])
        self.assertEqual(launchers.why_not(launcher, "p", {}), "exit status 2: no such option")
        launcher.command = lambda *_: ["/bin/true"]
        self.assertIsNone(launchers.why_not(launcher, "p", {}))
        launcher.command = lambda *_: ["/nowhere/srun"]
        self.assertEqual(launchers.why_not(launcher, "p", {}), "there is no /nowhere/srun")
        launcher.command = lambda *_: ["/bin/sleep", "60"]
        self.assertRegex(launchers.why_not(launcher, "0", {}, 0.1), "not done within")

    def test_slurms_configuration_names_every_host_and_its_own_folder(self):
        texts = slurm.configuration(["a0", "a1"], Path("/f"), ["PMIxFenceBarrier=true"], ["SchedulerType=sched/builtin"])
        for host, address in (("a0", "10.77.0.1"), ("a1", "10.77.0.2")):
            self.assertIn(f"NodeName={host} NodeHostname={host} NodeAddr={address} ", texts["slurm.conf"])
        self.assertIn("SlurmdSpoolDir=/f/own/spool\n", texts["slurm.conf"])
        self.assertIn("SchedulerType=sched/builtin\n", texts["slurm.conf"])
        self.assertIn("PMIxFenceBarrier=true", texts["mpi.conf"])


class Processes(unittest.TestCase):
    def test_of_programs_that_run_together_the_first_ones_output_counts(self):
        runner = Runner(20, False)
        self.assertEqual(runner.run_together("floor", [["/bin/echo", "one"], ["/bin/echo", "two"]]), "one\n")
        self.assertEqual(runner.failures, {})

    def test_one_that_fails_or_stays_fails_all(self):
        runner = Runner(1, False)
        self.assertIsNone(runner.run_together("floor", [["/bin/true"], ["/bin/false"]]))
        self.assertIsNone(runner.run_together("floor", [["/bin/true"], ["/bin/sleep", "60"]]))
        self.assertEqual(sum(runner.failures.values()), 2)

    def test_an_outcome_is_output_and_status_or_nothing(self):
        runner = Runner(20, False)
        self.assertEqual(runner.outcome(["/bin/sh", "-c", "echo x; exit 3"], 20), ("x\n", 3))
        self.assertIsNone(runner.outcome(["/bin/sleep", "60"], 0.1))
        self.assertEqual(runner.failures, {})

    def test_what_a_launch_leaves_is_found_and_ended(self):
        inside = pretend.Inside.__new__(pretend.Inside)
        inside.networks = {os.stat("/proc/self/ns/net").st_ino}
        with tempfile.TemporaryDirectory() as folder:
            program = Path(folder) / "left_by_a_launch"
            shutil.copy("/bin/sleep", program)
            with subprocess.Popen([program, "60"]) as child:
                self.assertEqual(inside.left_behind({program.name}), [child.pid])
                self.assertEqual(inside.left_behind({"somebody_else"}), [])
                self.assertEqual(inside.sweep({program.name}, 0), 1)
            self.assertEqual(inside.left_behind({program.name}), [])
            self.assertEqual(inside.sweep({program.name}, 0), 0)

    def test_the_agent_knows_its_hosts_only(self):
        inside = pretend.Inside.__new__(pretend.Inside)
        inside.names, inside.holders = ["a0"], [1]
        with tempfile.TemporaryDirectory() as folder:
            inside.agent = Path(folder) / "agent"
            inside.write_agent()
            done = subprocess.run([inside.agent, "b0", "true"], text=True, capture_output=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (255, "agent: no host b0\n"))


if __name__ == "__main__":
    unittest.main()

# SPDX-License-Identifier: BSD-3-Clause
"""The arithmetic of scripts/compare_peers: medians, limits, verdicts. No launcher is started."""
import importlib.machinery
import importlib.util
import json
import sys
import unittest
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[3] / "scripts" / "compare_peers"
sys.dont_write_bytecode = True
sys.path.insert(0, str(SCRIPT.parent))
loader = importlib.machinery.SourceFileLoader("compare_peers", str(SCRIPT))
spec = importlib.util.spec_from_loader("compare_peers", loader)
peers = importlib.util.module_from_spec(spec)
sys.modules["compare_peers"] = peers
loader.exec_module(peers)


def line(bench, ranks, size, median, largest=0.0, unit="ns"):
    return json.dumps({"bench": bench, "ranks": ranks, "bytes": size, f"median_{unit}": median,
                       f"max_{unit}": largest, "library": "lib"}, separators=(",", ":"))


def rows(results, what, n):
    return [r for r in peers.judged(results) if r["what"] == what and r["ranks"] == n]


class Lines(unittest.TestCase):
    def test_other_output_is_ignored_and_repeats_give_medians(self):
        results = peers.Results()
        for value in (5, 1, 3):
            text = "hello\n" + line("barrier", 16, 0, value) + "\nbye\n"
            self.assertEqual(results.add_lines("weft", text), 1)
        self.assertEqual(results.median("weft", "barrier", 16), 3)

    def test_of_init_the_slowest_rank_counts(self):
        results = peers.Results()
        results.add_lines("weft", line("init", 16, 0, 10, 90))
        self.assertEqual(results.median("weft", "init", 16), 90)

    def test_floors_do_not_name_a_library(self):
        results = peers.Results()
        results.add_lines("floor", line("floor_get", 1, 64, 20))
        self.assertEqual(results.libraries, {})


class Verdicts(unittest.TestCase):
    def setUp(self):
        self.results = peers.Results()
        self.results.add_lines("floor", line("floor_barrier_yield", 16, 0, 20) + "\n"
                               + line("floor_barrier_futex", 16, 0, 50))
        self.results.add_lines("peer", line("barrier", 16, 0, 600))

    def verdicts(self, weft):
        self.results.add_lines("weft", line("barrier", 16, 0, weft))
        return {r["rule"]: r["met"] for r in rows(self.results, "Barrier", 16)}

    def test_both_limits_are_met_at_the_edge_of_the_tighter_one(self):
        self.assertEqual(self.verdicts(30), {"1.5 x floor": True, "1/6 of the peer": True})

    def test_the_better_floor_counts(self):
        self.assertEqual(self.verdicts(40), {"1.5 x floor": False, "1/6 of the peer": True})

    def test_slower_than_the_peer_allows(self):
        self.assertEqual(self.verdicts(101), {"1.5 x floor": False, "1/6 of the peer": False})

    def test_without_a_reference_there_is_no_verdict(self):
        self.results = peers.Results()
        self.assertEqual(self.verdicts(1), {"1.5 x floor": None, "1/6 of the peer": None})

    def test_a_limit_of_zero_can_be_missed(self):
        self.results.add("weft", "maps_libhwloc", 16, 0, 1, "count")
        self.assertEqual([r["met"] for r in rows(self.results, "Client maps hwloc", 16)], [False])


class Processes(unittest.TestCase):
    def test_what_outstays_its_time_is_ended_and_counted(self):
        runner = peers.Runner(1, False)
        self.assertIsNone(runner.run("weft", ["/bin/sh", "-c", "exec sleep 60"]))
        self.assertIsNone(runner.wall("weft", ["/bin/sleep", "60"], 1))
        self.assertEqual(sum(runner.failures.values()), 2)
        self.assertEqual(runner.failed_sides(), {"weft"})

    def test_a_wrong_status_is_a_failure(self):
        runner = peers.Runner(10, False)
        self.assertIsNone(runner.run("weft", ["/bin/false"]))
        self.assertIsNone(runner.wall("peer", ["/bin/false"], 10))
        self.assertEqual(runner.failed_sides(), {"weft", "peer"})
        self.assertGreater(runner.wall("weft", ["/bin/true"], 10), 0)


if __name__ == "__main__":
    unittest.main()

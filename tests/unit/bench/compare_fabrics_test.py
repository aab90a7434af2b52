# SPDX-License-Identifier: BSD-3-Clause
"""How scripts/compare_fabrics reads what tools print, and its verdicts. No fabric is used."""
import argparse
import importlib.machinery
import importlib.util
import json
import sys
import tempfile
import unittest
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[3] / "scripts" / "compare_fabrics"
sys.dont_write_bytecode = True
sys.path.insert(0, str(SCRIPT.parent))
loader = importlib.machinery.SourceFileLoader("compare_fabrics", str(SCRIPT))
spec = importlib.util.spec_from_loader("compare_fabrics", loader)
fabrics = importlib.util.module_from_spec(spec)
sys.modules["compare_fabrics"] = fabrics
loader.exec_module(fabrics)

PINGPONG = """bytes   #sent   #ack     total       time     MB/sec    usec/xfer   Mxfers/sec
1k      20k     =20k     2.4m        3.30s      0.78      82.50       0.01
"""
PERFTEST = """+--------------+--------------+------------------------------+---------------------+-----------------------+
|     Test     | # iterations | 50.0%ile | average | overall |  average |  overall |  average  |  overall  |
                       20000      6.558    48.925    70.264        1.25       0.87       20439       14232
"""


def line(bench, size, median):
    return json.dumps({"bench": bench, "ranks": 2, "bytes": size, "median_ns": median}, separators=(",", ":"))


class Lines(unittest.TestCase):
    def test_tools(self):
        self.assertEqual(fabrics.pingpong_us(PINGPONG), 82.5)
        self.assertEqual(fabrics.perftest_ns(PERFTEST, 2), 2 * 6558)
        for text in ("", "connection refused\n", PINGPONG.splitlines()[0], PERFTEST.splitlines()[1]):
            self.assertIsNone(fabrics.pingpong_us(text))
            self.assertIsNone(fabrics.perftest_ns(text, 2))

    def test_programs_of_ours(self):
        results = fabrics.Results()
        for results.round, value in enumerate((5, 1, 3)):
            text = line("fabric_get_sleep", 256, value) + "\nUCX  WARN  something\n" + line("fabric_rtt_poll", 64, 9)
            self.assertEqual(results.add_lines("one host", "ucx", "ours", text), 2)
        self.assertEqual(results.median("one host", "ucx", "get", "sleep", 256, "ours"), 3)
        self.assertIsNone(results.median("two hosts", "ucx", "get", "sleep", 256, "ours"))


class Pairs(unittest.TestCase):
    def setUp(self):
        self.runner = fabrics.Runner(argparse.Namespace(nice=0, verbose=False))
        self.runner.limit_s = 1

    def pair(self, server, client, **more):
        return self.runner.pair(("here", [], [], "127.0.0.1", "lo"), server, client, **more)

    def test_the_client_is_told_where_the_server_is(self):
        self.assertRegex(self.pair(["true"], ["echo", "AT", "PORT", "AT:PORT"]), r"^127.0.0.1 (2\d{4}) 127.0.0.1:\1$")

    def test_a_client_that_does_not_wait_is_tried_again(self):
        with tempfile.TemporaryDirectory() as folder:
            mark = Path(folder) / "listens"
            server = f"sleep 0.2; touch {mark}; while test -e {mark}; do sleep 0.01; done"
            self.runner.limit_s = 20
            client = f"test -e {mark} && rm {mark} && echo met"
            out = self.pair(["sh", "-c", server], ["sh", "-c", client], patient=False)
        self.assertEqual(out, "met\n")

    def test_what_fails_or_outstays_its_time_is_counted_and_ended(self):
        self.assertIsNone(self.pair(["true"], ["false"]))
        self.assertIsNone(self.pair(["true"], ["sleep", "60"]))
        self.assertIsNone(self.pair(["sleep", "60"], ["false"], patient=False))
        self.assertEqual(sum(self.runner.failures.values()), 3)


class Ratios(unittest.TestCase):
    def test_runs_of_one_round_are_compared(self):
        results = fabrics.Results()
        for results.round, (mine, theirs) in enumerate(((10, 10), (22, 20), (12, None), (36, 30))):
            results.add(("mine",), mine)
            if theirs is not None:
                results.add(("theirs",), theirs)
        self.assertAlmostEqual(results.ratio(("mine",), ("theirs",)), 1.1)
        self.assertIsNone(results.ratio(("mine",), ("nobody's",)))


    def test_to_the_sum_of_parts(self):
        results = fabrics.Results()
        for results.round, (whole, *parts) in enumerate(((30, 10, 10), (20, 10, 10), (50, 20, 30))):
            for name, value in zip(("whole", "one", "other"), (whole, *parts)):
                results.add((name,), value)
        self.assertAlmostEqual(results.ratio(("whole",), ("one",), ("other",), combine=sum), 1.0)


class Card(unittest.TestCase):
    """Verdicts over an RDMA device."""

    def rows(self, values, fabric="ofi"):
        results = fabrics.Results()
        for key, value in values.items():
            results.add(("rxe0", *key), value)
        rows = fabrics.card.judged(results, ["rxe0"], [fabric])
        return {r["what"].split(",")[0]: (r["ratio"], r["met"]) for r in rows if r["ratio"] is not None}

    def test_a_barrier_has_one_and_a_half_times_its_messages_and_its_local_part(self):
        parts = {("ofi", "rtt", "sleep", 64, "bare"): 60, ("shm", "barrier", "sleep", 0, "two nodes"): 40}
        for whole, met in ((150, True), (151, False)):
            rows = self.rows({("ofi", "barrier", "sleep", 0, "two nodes"): whole, **parts})
            self.assertEqual(rows, {"barrier of two nodes": (whole / 100, met)})

    def test_a_first_touch_has_those_of_its_read_and_its_local_hand_off(self):
        parts = {("ucx", "get", "paused", 256, "bare"): 60, ("shm", "first_touch", "paused", 256, "ours"): 40}
        rows = self.rows({("ucx", "first_touch", "paused", 256, "ours"): 151, **parts}, "ucx")
        self.assertEqual(rows, {"first touch": (1.51, False)})

    def test_messages_and_reads_have_1_2(self):
        rows = self.rows({("ofi", "get", "sleep", 256, side): value for side, value in (("ours", 120), ("bare", 100))})
        self.assertEqual(rows, {"get": (1.2, True)})
        rows = self.rows({("ucx", "rtt", "sleep", 64, side): value for side, value in (("ours", 121), ("bare", 100))}, "ucx")
        self.assertEqual(rows, {"there and back": (1.21, False)})


class Verdicts(unittest.TestCase):
    def rows(self, ours, reference, mode, wait, size, side):
        results = fabrics.Results()
        for whose, value in (("ours", ours), (side, reference)):
            if value is not None:
                results.add(("one host", "ofi", mode, wait, size, whose), value)
        rows = fabrics.judged(results, ["one host"], ["ofi"])
        return [(r["ratio"], r["met"]) for r in rows if r["ratio"] is not None]

    def test_a_target_is_met_at_its_edge_and_not_above(self):
        self.assertEqual(self.rows(125, 100, "rtt", "poll", 64, "fi_pingpong"), [(1.25, True)])
        self.assertEqual(self.rows(126, 100, "rtt", "poll", 64, "fi_pingpong"), [(1.26, False)])
        self.assertEqual(self.rows(125, 100, "get", "sleep", 1024, "bare"), [(1.25, True)])
        self.assertEqual(self.rows(100, 90, "bandwidth", "poll", 64 << 20, "bare"), [(100 / 90, True)])
        self.assertEqual(self.rows(112, 100, "bandwidth", "poll", 64 << 20, "bare"), [(1.12, False)])

    def test_tcp_is_compared_with_the_better_library_of_the_same_round(self):
        results = fabrics.Results()
        for results.round, (tcp, ofi, ucx) in enumerate(((110, 100, 200), (220, 400, 200), (130, 100, 100))):
            for fabric, value in (("tcp", tcp), ("ofi", ofi), ("ucx", ucx)):
                results.add(("one host", fabric, "rtt", "poll", 64, "ours"), value)
        rows = [r for r in fabrics.judged(results, ["one host"], ["ofi", "ucx", "tcp"]) if r["fabric"] == "tcp"]
        found = [(r["side"], r["ratio"], r["limit"], r["met"]) for r in rows if r["ratio"] is not None]
        self.assertEqual(found, [("better of ofi and ucx", 1.1, 1.15, True)])

    def test_what_has_no_target_or_was_not_measured_is_not_judged(self):
        self.assertEqual(self.rows(900, 100, "connect", "poll", 0, "bare"), [(9, None)])
        self.assertEqual(self.rows(900, None, "connect", "poll", 0, "bare"), [])
        lines = "\n".join(fabrics.table(fabrics.judged(fabrics.Results(), ["one host"], ["ofi", "ucx"])))
        self.assertIn("| ? |", lines)
        self.assertNotIn("yes", lines)


if __name__ == "__main__":
    unittest.main()

# SPDX-License-Identifier: BSD-3-Clause
"""bench/plot: what is read, which curves a picture has, and what gnuplot is told. python3 plot_test.py"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[3]
PLOT = ROOT / "bench" / "plot"
sys.dont_write_bytecode = True
sys.path.insert(0, str(PLOT))

import figures  # noqa: E402  pylint: disable=wrong-import-position
import gnuplot  # noqa: E402  pylint: disable=wrong-import-position
import page  # noqa: E402  pylint: disable=wrong-import-position
from measured import BadLine, Measured  # noqa: E402  pylint: disable=wrong-import-position

WEFT, OPEN, BARE = "4.2.2 Weft 0.1.0 (PMIx Standard 4.2)", "OpenPMIx 4.2.2 (PMIx Standard: 4.2)", "none (bare processes)"


def line(bench, ranks, value, library=WEFT, launcher="weftrun", hosts=1, size=0):
    return {"bench": bench, "ranks": ranks, "hosts": hosts, "bytes": size, "median_ns": value, "max_ns": 2 * value, "library": library, "launcher": launcher,
            "machine": "a machine", "commit": "abc"}


def measured(*records):
    out = Measured()
    for record in records:
        out.add(record)
    return out


def figure(name):
    return next(one for one in figures.FIGURES if one.name == name)


class Reading(unittest.TestCase):
    def read(self, text):
        with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
            file.write(text)
            file.flush()
            out = Measured()
            out.read(file.name)
            return out

    def test_runs_of_the_same_are_one_point(self):
        found = self.read("\n\n".join(json.dumps(line("barrier", 2, value)) for value in (10, 30, 20)))
        self.assertEqual(found.points("Weft 0.1.0, weftrun", "barrier"), {("barrier", 1, 2, 0): (20, 10, 30)})

    def test_of_some_the_slowest_rank_counts(self):
        found = self.read(json.dumps(line("init", 2, 10)))
        self.assertEqual(found.points("Weft 0.1.0, weftrun", "init"), {("init", 1, 2, 0): (20, 20, 20)})

    def test_series(self):
        found = measured(line("barrier", 2, 1, OPEN, "slurmstepd"), line("barrier", 2, 1), line("barrier", 2, 1, OPEN, "mpirun"), line("floor_x", 2, 1, BARE, "sh"))
        self.assertEqual(found.series(), ["Weft 0.1.0, weftrun", "OpenPMIx 4.2.2, mpirun", "OpenPMIx 4.2.2, Slurm"])

    def test_bad_lines_are_named(self):
        good = json.dumps(line("barrier", 2, 1))
        for text, where in ((good + "\nno JSON\n", ":2: "), ("", "no line"), ("[1]", ":1: "), ('{"bench": "x"}', ":1: no line of weftbench --json: no field median_ns"), ("3", ":1: "),
                            (json.dumps({**line("x", 2, 1), "ranks": 0}), ":1: "), (json.dumps({**line("x", 2, 1), "median_ns": "much"}), ":1: "),
                            ('{"bench":"x","ranks":2,"bytes":0,"median_ns":Infinity}', ":1: "), ('{"ranks":2,"bytes":0,"median_ns":1}', ":1: ")):
            with self.subTest(text), self.assertRaises(BadLine) as raised:
                self.read(text)
            self.assertIn(where, str(raised.exception))


class Curves(unittest.TestCase):
    def test_one_host_and_several_are_two_pictures(self):
        found = measured(*(line("barrier", ranks, ranks) for ranks in (2, 4)), *(line("barrier", 4 * hosts, hosts, hosts=hosts) for hosts in (2, 4, 8)))
        drawn = {one.name: curves for one, curves, _ in figures.drawn(found)}
        self.assertEqual(list(drawn), ["barrier_ranks", "barrier_hosts"])
        self.assertEqual(drawn["barrier_ranks"]["Weft 0.1.0, weftrun"], [(2, 2, 2, 2), (4, 4, 4, 4)])
        self.assertEqual([point[0] for point in drawn["barrier_hosts"]["Weft 0.1.0, weftrun"]], [2, 4, 8])

    def test_one_point_is_no_curve(self):
        self.assertEqual(list(figures.drawn(measured(line("barrier", 2, 1)))), [])

    def test_of_several_jobs_the_largest(self):
        found = measured(*(line("full_fence", ranks, 10 * ranks, size=size) for ranks in (2, 16) for size in (64, 256)))
        self.assertEqual(figures.curve(figure("full_fence_bytes"), found, "Weft 0.1.0, weftrun"), [(64, 160, 160, 160), (256, 160, 160, 160)])
        self.assertEqual(figures.curve(figure("full_fence_ranks"), found, "Weft 0.1.0, weftrun"), [(2, 20, 20, 20), (16, 160, 160, 160)])

    def test_against_bytes_all_is_of_one_job(self):
        found = measured(line("full_fence", 64, 9, size=256), *(line("full_fence", 16, size, size=size) for size in (64, 1024)))
        self.assertEqual([point[0] for point in figures.curve(figure("full_fence_bytes"), found, "Weft 0.1.0, weftrun")], [64, 1024])

    def test_the_fastest_floor(self):
        bare = [line("floor_barrier_yield", 2, 5, BARE), line("floor_barrier_futex", 2, 3, BARE), line("floor_barrier_yield", 4, 6, BARE)]
        self.assertEqual(figures.floor(figure("barrier_ranks"), measured(*bare), [2, 4, 8]), [(2, 3), (4, 6)])

    def test_a_floor_of_two_parts_is_level(self):
        bare = [line("floor_tcp_get_sleep_paused", 2, 5, BARE, size=256), line("floor_tcp_get_sleep_paused", 2, 1, BARE, size=4096),
                line("floor_handoff_two_cores_paused", 2, 3, BARE)]
        self.assertEqual(figures.floor(figure("first_touch_hosts"), measured(*bare), [2, 8]), [(2, 8), (8, 8)])
        self.assertEqual(figures.floor(figure("first_touch_hosts"), measured(bare[0]), [2, 8]), [], "a part that was not measured is not nothing")


class Pictures(unittest.TestCase):
    def test_what_gnuplot_is_told_holds_no_text_that_it_would_obey(self):
        text = gnuplot.quoted("a 'b' {/Bold c} `d` \\n e_f\n")
        self.assertEqual(text.count("'") % 2, 0)
        for letter in "{}\\_\n":
            self.assertNotIn(letter, text)

    def test_pictures_and_page(self):
        found = [line("barrier", ranks, ranks * 400 + run, library, launcher) for ranks in (2, 4, 8) for run in range(3)
                 for library, launcher in ((WEFT, "weftrun"), ("Open 'PMIx' <b>_x", "mpirun"))]
        found += [line("floor_barrier_yield", ranks, ranks * 300, BARE) for ranks in (2, 4, 8)]
        with tempfile.TemporaryDirectory() as folder:
            lines = pathlib.Path(folder, "lines.jsonl")
            lines.write_text("\n".join(map(json.dumps, found)), encoding="utf-8")
            out = pathlib.Path(folder, "out")
            done = subprocess.run([PLOT / "weftplot", out, lines], capture_output=True, text=True, check=False)
            if "gnuplot is not there" in done.stderr:
                self.skipTest(done.stderr.strip())
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(sorted(os.listdir(out)), ["barrier_ranks.png", "barrier_ranks.svg", "index.html"])
            words = "".join(xml.etree.ElementTree.parse(out / "barrier_ranks.svg").getroot().itertext())
            for word in ("Barrier on one host", "Weft 0.1.0, weftrun", "floor: bare processes", "ranks", "1 us"):
                self.assertIn(word, words)
            self.assertEqual((out / "barrier_ranks.png").read_bytes()[:8], b"\x89PNG\r\n\x1a\n")
            text = (out / "index.html").read_text(encoding="utf-8")
            self.assertIn("&lt;b&gt;", text)
            self.assertNotIn("<b>", text)

    def test_what_is_wrong_is_said(self):
        for words, status in (([], 2), (["out"], 2), (["out", "/no/such/file"], 1), (["--no-such-option", "x"], 2)):
            done = subprocess.run([PLOT / "weftplot", *words], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, status)
            self.assertEqual(len(done.stderr.splitlines()), 1)

    def test_units(self):
        self.assertEqual([page.shown(value) for value in (3, 999.9, 1500, 2.5e6, 3e9)], ["3 ns", "1 us", "1.5 us", "2.5 ms", "3 s"])
        self.assertEqual([page.shown(value, "bytes") for value in (3, 2**20, 2**30 - 1, 1.5 * 2**40)], ["3 B", "1 MiB", "1020 MiB", "1540 GiB"])


if __name__ == "__main__":
    unittest.main()

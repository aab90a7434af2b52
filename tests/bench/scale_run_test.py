#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""scripts/report --scale --small: that each picture and each table is made, that --check takes what it has
written, and names what is not so.

  python3 scale_run_test.py BUILD

Status 77: no gnuplot here.
"""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "scripts"))

from comparison import scale, sweep  # noqa: E402  pylint: disable=wrong-import-position

BUILD = pathlib.Path(sys.argv.pop(1))


class Scale(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.held = tempfile.TemporaryDirectory()
        cls.out = pathlib.Path(cls.held.name)
        cls.path = cls.out / "scale"
        cls.path.mkdir()
        shutil.copy(ROOT / "docs" / "performance" / "scale" / scale.HOSTS, cls.path)
        cls.folder = scale.Folder(cls.path, False)
        cls.measured = cls.folder.measured()
        cls.made = scale.make(BUILD / "bin" / "weftsim", "scripts/report --small --scale", cls.measured, True)
        cls.folder.write(cls.made)

    @classmethod
    def tearDownClass(cls):
        cls.held.cleanup()

    def test_lines_are_of_each_operation_size_and_network(self):
        lines = [json.loads(line) for line in (self.path / "lines.jsonl").read_text(encoding="utf-8").splitlines()]
        networks = sweep.Weftsim(BUILD / "bin" / "weftsim").networks()
        self.assertGreaterEqual(set(networks), {"ndr", "slingshot"})
        self.assertNotIn("here", networks)
        found = {(line["network"], line["nodes"], line["operation"]) for line in lines if not line["collective"]}
        self.assertEqual(found, {(network, nodes, operation) for network in networks for nodes in scale.FEW_NODES for operation in sweep.OPERATIONS})
        self.assertTrue(all(line["time_ns"] > 0 for line in lines))
        again = lines[0]["command"].split()[1:]
        self.assertEqual(json.loads(sweep.Weftsim(BUILD / "bin" / "weftsim").text([*again, "--json"]))["operations"][0]["time_ns"], lines[0]["time_ns"])

    def test_each_picture_and_block_is_there(self):
        names = {*scale.TITLES, "memory", "overview", "hosts"}
        self.assertEqual({path.stem for path in self.path.glob("*.svg")}, names)
        page = (self.path / "README.md").read_text(encoding="utf-8")
        for name in names:
            self.assertIn(f"({name}.svg)", page)
        for name in scale.PAGES:
            text = (self.path / "pages" / name).read_text(encoding="utf-8")
            for match in scale.MARKS.finditer(text):
                self.assertIn(self.made.blocks[match[2]], match[0])
        used = {match[2] for name in scale.PAGES for match in scale.MARKS.finditer((ROOT / name).read_text(encoding="utf-8"))}
        self.assertEqual(used, set(self.made.blocks))

    def test_check_takes_what_was_written_and_names_what_was_not(self):
        self.assertEqual(list(self.folder.stale(self.made)), [])
        command = [ROOT / "scripts" / "report", "--scale", "--small", "--check", "--build", BUILD, "--out", self.out]
        self.assertEqual(subprocess.run(command, stdin=subprocess.DEVNULL, check=False).returncode, 0)
        page = self.path / "pages" / "README.md"
        for path, old in ((self.path / "README.md", "| 64 |"), (self.path / "lines.jsonl", '"nodes": 64'), (page, "published or assumed")):
            text = path.read_text(encoding="utf-8")
            self.assertIn(old, text)
            path.write_text(text.replace(old, "another"), encoding="utf-8")
            self.assertEqual([str(line).split(":", 1)[0] for line in self.folder.stale(self.made)], [str(path)])
            path.write_text(text, encoding="utf-8")
        picture = self.path / "memory.svg"
        kept = picture.read_bytes()
        picture.unlink()
        self.assertEqual(list(self.folder.stale(self.made)), [f"{picture} is not there"])
        picture.write_bytes(kept)

    def test_a_page_without_marks_or_with_an_unknown_one_is_refused(self):
        with self.assertRaisesRegex(sweep.Failed, "there is no line"):
            scale.with_blocks("a page", self.made.blocks, "page.md")
        unknown = f"{scale.MARK.format('nothing')}\n<!-- end -->\n"
        with self.assertRaisesRegex(sweep.Failed, "page.md: nothing is made for .*nothing"):
            scale.with_blocks(unknown, self.made.blocks, "page.md")

    def test_what_weftsim_refuses_is_said(self):
        with self.assertRaisesRegex(sweep.Failed, "no-such"):
            sweep.Weftsim(BUILD / "bin" / "weftsim").lines(16, "no-such", ("barrier",))

    def test_the_range_of_errors_leaves_out_what_was_fitted(self):
        line = {"operation": "barrier", "measured_ns": 100}
        records = [{**line, "predicted_ns": 90, "is_fitted": False}, {**line, "predicted_ns": 120, "is_fitted": False}, {**line, "predicted_ns": 300, "is_fitted": True}]
        self.assertEqual(scale.range_off(records, "barrier"), "-10 to +20 %")


if __name__ == "__main__":
    if not shutil.which("gnuplot"):
        print("skipped: there is no gnuplot")
        sys.exit(77)
    unittest.main()

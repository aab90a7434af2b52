#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""scripts/make_settings_docs: that it reads the table as the programs have it, and says when a page is out of
date.

usage: make_settings_docs_test.py PATH_TO_WEFTINFO
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

WEFTINFO = sys.argv.pop(1)
ROOT = pathlib.Path(__file__).resolve().parents[3]
SCRIPT = ROOT / "scripts/make_settings_docs"


def run(*command, **options):
    return subprocess.run(command, text=True, capture_output=True, check=False, **options)


class MakeSettingsDocs(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.root = pathlib.Path(self.folder.name)
        for name in ("base/settings.cpp", "docs/guide.md", "docs/man/weft.7"):
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, self.root / name)

    def tearDown(self):
        self.folder.cleanup()

    def change(self, name, old, new):
        text = (self.root / name).read_text()
        self.assertIn(old, text)
        (self.root / name).write_text(text.replace(old, new, 1))

    def script(self, *options):
        return run(SCRIPT, "--root", self.root, *options)

    def test_pages_are_up_to_date(self):
        result = run(SCRIPT, "--check")
        self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_the_table_is_read_as_the_programs_have_it(self):
        clean = {name: value for name, value in os.environ.items() if not name.startswith("WEFT_")}
        shown = json.loads(run(WEFTINFO, "--settings", "--json", env=clean).stdout)
        self.assertEqual(shown["complaints"], [])
        read = json.loads(run(SCRIPT, "--json").stdout)
        self.assertGreater(len(read), 15)
        fields = ("name", "default", "accepted", "text", "internal")
        self.assertEqual(read, [{field: row[field] for field in fields} for row in shown["settings"]])

    def test_a_change_of_the_table_makes_both_pages_stale(self):
        self.assertEqual(self.script("--check").returncode, 0)
        self.change("base/settings.cpp", "most bytes that one rank", "most octets that one rank")
        stale = self.script("--check")
        self.assertEqual(stale.returncode, 1)
        self.assertIn("docs/guide.md is out of date", stale.stderr)
        self.assertIn("docs/man/weft.7 is out of date", stale.stderr)
        self.assertEqual(self.script().returncode, 0)
        self.assertEqual(self.script("--check").returncode, 0)
        self.assertIn("most octets", (self.root / "docs/guide.md").read_text())
        self.assertIn("most octets", (self.root / "docs/man/weft.7").read_text())

    def test_what_stands_around_the_tables_stays(self):
        before = (self.root / "docs/guide.md").read_text()
        self.change("docs/guide.md", "| `WEFT_FENCE`", "| `WEFT_FENCED`")
        self.assertEqual(self.script("--check").returncode, 1)
        self.assertEqual(self.script().returncode, 0)
        self.assertEqual((self.root / "docs/guide.md").read_text(), before)

    def test_what_cannot_be_read_is_named(self):
        self.change("docs/guide.md", "<!-- settings: internal", "<!-- settings of: internal")
        result = self.script("--check")
        self.assertEqual(result.returncode, 1)
        self.assertIn("marks", result.stderr)
        self.change("docs/guide.md", "<!-- settings of: internal", "<!-- settings: internal")
        self.change("base/settings.cpp", ".kind = Kind::number", ".kind_ = Kind::number")
        result = self.script("--check")
        self.assertEqual(result.returncode, 1)
        self.assertIn("a row lacks", result.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)

#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""scripts/checks/check_headers on small trees made here: which headers it accepts, and which it names."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[3] / "scripts" / "checks" / "check_headers"
GOOD = "#pragma once\n#include <string>\nnamespace weft { struct Card { std::string text; }; }\n"


class CheckHeaders(unittest.TestCase):
    def run_on(self, files, *options):
        """files: {path: text}. Returns (exit status, what the script printed)."""
        with tempfile.TemporaryDirectory() as tree:
            for name, text in files.items():
                path = pathlib.Path(tree) / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
            done = subprocess.run([sys.executable, str(SCRIPT), "--root", tree, *options], text=True, capture_output=True,
                                  check=False, timeout=120)
            return done.returncode, done.stdout

    def test_a_header_that_includes_what_it_uses(self):
        user = '#pragma once\n#include "weft/card.hpp"\nnamespace weft { inline Card card() { return {}; } }\n'
        status, out = self.run_on({"include/weft/card.hpp": GOOD, "core/data/user.hpp": user})
        self.assertEqual(status, 0, out)
        self.assertIn("2 headers", out)

    def test_a_missing_include_is_named(self):
        status, out = self.run_on({"core/data/card.hpp": GOOD.replace("#include <string>\n", "")})
        self.assertEqual(status, 1, out)
        self.assertIn("core/data/card.hpp: does not compile alone", out)

    def test_a_header_without_a_guard_is_named(self):
        status, out = self.run_on({"transport/shm/card.hpp": GOOD.replace("#pragma once\n", "")})
        self.assertEqual(status, 1, out)
        self.assertIn("transport/shm/card.hpp", out)

    def test_a_guard_is_looked_for_in_every_header(self):
        status, out = self.run_on({"core/data/card.hpp": GOOD.replace("#pragma once\n", ""),
                                   "core/data/card.cpp": '#include "core/data/card.hpp"\n'})
        self.assertEqual(status, 1, out)
        self.assertIn("core/data/card.hpp: has no #pragma once", out)

    def test_no_header_is_not_a_success(self):
        self.assertEqual(self.run_on({"core/data/README.md": ""})[0], 2)


if __name__ == "__main__":
    unittest.main()

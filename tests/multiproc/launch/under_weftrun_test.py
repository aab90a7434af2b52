# SPDX-License-Identifier: BSD-3-Clause
"""What docs/API.md says in its column "under weftrun" is what a rank of weftrun's gets.

  python3 under_weftrun_test.py
"""
import os
import pathlib
import re
import unittest

from weftrun_common import run

PAGE = pathlib.Path(__file__).resolve().parents[3] / "docs" / "API.md"
PROGRAM = os.environ["UNDER_WEFTRUN"]


class Column(unittest.TestCase):
    def check(self, *options):
        page = dict(re.findall(r"^\| `(PMIx_\w+)` \| [^|]* \| [^|]* \| ([^|]*) \|$", PAGE.read_text(encoding="utf-8"), re.M))
        done = run(*options, "--stdin", "push", "-n", "1", PROGRAM)
        self.assertEqual(done.returncode, 0, done.stderr)
        told = dict(line.split() for line in done.stdout.decode().splitlines())
        self.assertGreater(len(told), 15)
        for call, status in told.items():
            with self.subTest(call):
                self.assertEqual(status in ("PMIX_SUCCESS", "PMIX_OPERATION_SUCCEEDED"), page[call].startswith("yes"), f"{status}; the page: {page[call]}")
                if not page[call].startswith("yes"):
                    self.assertEqual(status, "PMIX_ERR_NOT_SUPPORTED")

    def test_on_one_node(self):
        self.check()

    def test_on_two(self):
        self.check("--virtual-nodes", "2")


if __name__ == "__main__":
    unittest.main()

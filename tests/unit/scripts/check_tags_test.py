#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""scripts/checks/check_tags on small trees made here: which tags it accepts, and which it misses."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[3] / "scripts" / "checks" / "check_tags"
STORE = "a.store(1, std::memory_order_release);"
LOAD = "return a.load(std::memory_order_acquire);"
PAGE = "| from -> to | what |\n|---|---|\n| KL.P1 -> P2 | the log |\n"


class CheckTags(unittest.TestCase):
    def run_on(self, code, page=PAGE, path="core/store/log.hpp"):
        """Returns (exit status, lines that the script printed but for the last)."""
        with tempfile.TemporaryDirectory() as tree:
            for name, text in ((path, code), ("docs/design/segment.md", page)):
                file = pathlib.Path(tree) / name
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text, encoding="utf-8")
            done = subprocess.run([sys.executable, str(SCRIPT), "--root", tree], text=True, capture_output=True,
                                  check=False, timeout=60)
            return done.returncode, done.stdout.splitlines()[:-1]

    def assert_good(self, *arguments, **keywords):
        self.assertEqual(self.run_on(*arguments, **keywords), (0, []))

    def assert_bad(self, complaints, *arguments, **keywords):
        self.assertEqual(self.run_on(*arguments, **keywords), (1, complaints))

    def test_both_ends(self):
        self.assert_good(f"{STORE}  // KL.P1 -> P2: bytes first\n{LOAD}  // KL.P2 <- P1\n")

    def test_a_tag_on_the_statement_or_right_above(self):
        self.assert_good("a.store(1,\n        std::memory_order_release);  // KL.P1 -> P2\n"
                         f"// KL.P2 <- P1: then look\n{LOAD}\n")

    def test_an_ordered_access_without_a_tag(self):
        good = f"{STORE}  // KL.P1 -> P2\n{LOAD}  // KL.P2 <- P1\n"
        self.assert_bad(["core/store/log.hpp:3: an ordered access without a tag"], good + LOAD + "\n")
        self.assert_good(good + "b.store(1, std::memory_order_relaxed);\n")
        self.assert_good(good + f"// not code: {LOAD}\n")

    def test_elsewhere_a_tag_is_no_duty(self):
        self.assert_good(LOAD + "\n", page="", path="core/client/a.cpp")

    def test_one_end_only(self):
        self.assert_bad(["core/store/log.hpp:1: KL.P1 -> KL.P2: its partner is not in the code"],
                        f"{STORE}  // KL.P1 -> P2\n")

    def test_a_tag_without_its_structure(self):
        self.assert_bad(["core/store/log.hpp:1: P1 does not name its structure",
                         "core/store/log.hpp:2: P2 does not name its structure"],
                        f"{STORE}  // P1 -> P2\n{LOAD}  // P2 <- P1\n", page=PAGE.replace("KL.", ""))

    def test_fences_are_alike(self):
        code = "f(std::memory_order_seq_cst);  // DB.D1 <-> D2\nf(std::memory_order_seq_cst);  // DB.D2 <-> D1\n"
        self.assert_good(code, page="| DB.D1 <-> D2 | the bell |\n")
        self.assert_bad(["core/store/log.hpp:1: DB.D1 <-> DB.D2: its partner is not in the code"],
                        code.splitlines()[0] + "\n", page="| DB.D1 <-> D2 | the bell |\n")

    def test_the_page(self):
        code = f"{STORE}  // KL.P1 -> P2\n{LOAD}  // KL.P2 <- P1\n"
        where = "is not in the table of docs/design/segment.md"
        self.assert_bad([f"core/store/log.hpp:1: KL.P1 -> KL.P2 {where}",
                         f"core/store/log.hpp:2: KL.P1 -> KL.P2 {where}"], code, page="")
        self.assert_bad(["docs/design/segment.md:4: KL.F1 -> KL.F2 is not in the code"], code,
                        page=PAGE + "| KL.F1 -> F2 | heads |\n")
        self.assert_bad(["docs/design/segment.md:4: KL.P1 -> KL.P2 has two rows"], code,
                        page=PAGE + "| KL.P1 -> P2 | twice |\n")

    def test_several_partners(self):
        self.assert_good(f"{STORE}  // KL.P1 -> P2\n{STORE}  // KL.P3 -> P2\n{LOAD}  // KL.P2 <- P1, P3\n",
                         page=PAGE + "| KL.P3 -> P2 | the same |\n")

    def test_nothing_to_read_is_not_a_success(self):
        self.assertEqual(self.run_on("", path="docs/none.md")[0], 2)


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""scripts/checks/check_words on small trees made here: which names it accepts, and which it misses."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[3] / "scripts" / "checks" / "check_words"
CODE = {"core/store/board.hpp": "#pragma once\nclass Board { void arrive(); };\n",
        "core/store/board.cpp": 'const char* name = "WEFT_FENCE";\n',
        "core/link/frame.cpp": "int frame;\n"}


class CheckWords(unittest.TestCase):
    def run_on(self, files, *options):
        """files: {path: text}, beside CODE. Returns (exit status, lines that the script printed)."""
        with tempfile.TemporaryDirectory() as tree:
            for name, text in {**CODE, **files}.items():
                path = pathlib.Path(tree) / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
            done = subprocess.run([sys.executable, str(SCRIPT), "--root", tree, *options], text=True,
                                  capture_output=True, check=False, timeout=60)
            return done.returncode, done.stdout.splitlines()

    def assert_good(self, path, text):
        status, lines = self.run_on({path: text})
        self.assertEqual((status, lines[:-1]), (0, []))

    def assert_bad(self, path, text, *complaints):
        status, lines = self.run_on({path: text})
        self.assertEqual((status, lines[:-1]), (1, [f"{path}:{complaint}" for complaint in complaints]))

    def test_paths_that_are_there(self):
        self.assert_good("README.md", "See `core/store/board.hpp`, core/store/, core/{link,store}/*.cpp, (core/store/board.cpp).")
        self.assert_good("README.md", "`core/store/board` means both files, and core/store/<name>_test.cpp is a placeholder.")
        self.assert_good("core/store/README.md", "Start with `board.hpp`, then `board.{hpp,cpp}` and `b*.cpp`.")
        self.assert_good("README.md", "Not of this tree: https://example.org/core/none.hpp, build/core/none.o, ../core/none.")

    def test_paths_that_are_not(self):
        self.assert_bad("README.md", "One\n`core/store/room.hpp`.\n", "2: there is no core/store/room.hpp")
        self.assert_bad("README.md", "core/{link,abi}/*.cpp", "1: there is no core/{link,abi}/*.cpp")
        self.assert_bad("core/store/README.md", "Start with `room.hpp`.", "1: no folder has a file room.hpp")
        self.assert_bad("docs/guide.md", "[here](../core/link/none.md)", "1: there is no core/link/none.md".replace(
            "there is no core/link/none.md", "the link's target ../core/link/none.md is not there"))

    def test_comments_are_read_and_code_is_not(self):
        self.assert_bad("core/link/a.cpp", "int a;  // as in core/link/gone.cpp\n", "1: there is no core/link/gone.cpp")
        self.assert_bad("core/link/a.cpp", "/* One\n   core/link/gone.cpp */\n", "2: there is no core/link/gone.cpp")
        self.assert_bad("scripts/a", "#!/bin/sh\n# core/link/gone.cpp\n", "2: there is no core/link/gone.cpp")
        self.assert_good("core/link/a.cpp", 'const char* a = "core/link/gone.cpp // core/link/gone.hpp";\n')

    def test_variables(self):
        self.assert_good("README.md", "`WEFT_FENCE`, and all of WEFT_*, and NOT_WEFT_AT_ALL.")
        self.assert_bad("README.md", "`WEFT_FENCES=full`", "1: no code uses WEFT_FENCES")
        # A comment is no use of a name.
        self.assert_bad("core/link/a.cpp", "int a;\n// WEFT_OLD decides.\n", "2: no code uses WEFT_OLD")

    def test_members(self):
        self.assert_good("README.md", "`Board::arrive` and `std::string::size`.")
        self.assert_bad("README.md", "`Board::leave`", "1: no source has Board::leave")

    def test_decisions_are_history(self):
        self.assert_good("docs/decisions/0001-a.md", "core/old/gone.cpp and WEFT_OLD")

    def test_a_pronoun_for_a_subject_is_found(self):
        self.assert_bad("core/link/a.cpp", "int a;  // Nobody reads it.\n", "1: 'nobody' names no subject")
        self.assert_bad("core/link/a.cpp", "/* One\n   reads, whoever wrote. */\n", "2: 'whoever' names no subject")
        self.assert_bad("core/link/a.py", "#!/usr/bin/env python3\n# Who asks?\n", "2: 'who' names no subject")
        self.assert_bad("core/link/a.py", 'def f():\n    """Somebody ends it."""\n', "2: 'somebody' names no subject")
        self.assert_bad("scripts/a", "#!/bin/sh\n# For whom?\n", "2: 'whom' names no subject")
        self.assert_bad("CMakeLists.txt", "# Everybody links it.\n", "1: 'everybody' names no subject")
        self.assert_bad("README.md", "One\nFor anyone.\n", "2: 'anyone' names no subject")
        self.assert_bad("docs/man/weft.7", ".PP\nEveryone.\n", "2: 'everyone' names no subject")
        self.assert_bad("docs/decisions/0001-a.md", "Someone decided.\n", "1: 'someone' names no subject")
        self.assert_bad("core/link/a.cpp", "// One\nTEST_F(Link, wakes_who_sleeps) {}\nTEST(A, anybody) {}\n",
                        "2: 'who' names no subject", "3: 'anybody' names no subject")
        self.assert_bad("core/link/a_test.py", "class A:\n    def test_nobody_is_left(self):\n",
                        "2: 'nobody' names no subject")

    def test_code_names_and_quotations_are_no_subjects(self):
        self.assert_good("core/link/a.cpp", 'int nobody = who("everybody"); // The whole of `nobody`; a "who" in quotes.\n')
        self.assert_good("core/link/a.cpp", "TEST(A, of_the_whole) {}\nTEST(A, whose_name_it_is) {}\n")
        self.assert_good("core/link/a.py", "def who(somebody):\n    return somebody\n")
        self.assert_good("README.md", "One\n```\n$ who\nnobody\n```\nThe output of `who`, whose lines are users.\n")

    def test_the_report_counts_pronouns_and_judges_nothing(self):
        status, lines = self.run_on({"core/link/a.cpp": "// Nobody says who it was: somebody did.\nint nobody;\n"},
                                    "--report")
        self.assertEqual(status, 0)
        self.assertIn("| core/link | 1 | 0 | 0 | 1 | 1 | 0 | 0 | 0 | 0 | 0 |", lines)

    def test_long_lines_of_pages_and_comments_are_found(self):
        words = "word " * 21 + "word"  # 109 columns
        self.assert_good("README.md", words + ".\n")
        self.assert_bad("README.md", f"One\n{words} and.\n", "2: more than 110 columns")
        self.assert_bad("core/link/a.cpp", f"int a;\n// {words}\n", "2: more than 110 columns")
        self.assert_bad("core/link/a.cpp", f"/* One\n   {words} */\n", "2: more than 110 columns")
        self.assert_bad("scripts/a", f"#!/bin/sh\n# {words}\n", "2: more than 110 columns")
        self.assert_bad("core/link/a.py", f'def f():\n    """{words}"""\n', "2: more than 110 columns")
        self.assert_bad("core/link/a.py", f"a = 1  # {words}\n", "1: more than 110 columns")

    def test_what_cannot_be_broken_may_be_long(self):
        words = "word " * 30
        self.assert_good("README.md", f"| a | b |\n|---|---|\n| {words} | b |\n\n    {words}\n\n```\n{words}\n```\n")
        self.assert_good("README.md", f"[{words}](https://example.org/a)\n")
        self.assert_good("core/link/a.cpp", f"// | {words} |\n// NOLINTNEXTLINE(a): {words}\n// https://example.org/{words}\n")
        self.assert_good("core/link/a.cpp", f'const char* a = "// {words}";\n')
        self.assert_good("core/link/a.py", f'a = "# {words}"\n')
        self.assert_good("docs/API.md", words)

    def test_the_report_counts_sentences_without_a_noun(self):
        text = ("// The board ends. It wakes\n// all members. Of these one is lost.\nint a;\n"
                "/// The same for a group.\nint b;\n// One of the boards is full.\n")
        _, lines = self.run_on({"core/link/a.cpp": text}, "--report")
        self.assertIn("| core/link | 5 | 3 | 60 |", lines)
        status, lines = self.run_on({"core/link/a.cpp": text}, "--sentences")
        self.assertEqual((status, lines), (0, ["core/link/a.cpp:1: It wakes all members",
                                               "core/link/a.cpp:2: Of these one is lost",
                                               "core/link/a.cpp:4: The same for a group"]))

    def test_nothing_to_read_is_not_a_success(self):
        with tempfile.TemporaryDirectory() as tree:
            done = subprocess.run([sys.executable, str(SCRIPT), "--root", tree], capture_output=True, check=False,
                                  timeout=60)
        self.assertEqual(done.returncode, 2)


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""packaging/completion.bash: bash offers every option that a program's --help lists, and nothing that it does
not.

usage: completion_test.py PROGRAM... with weftrun among them
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

PROGRAMS = {pathlib.Path(path).name: pathlib.Path(path) for path in sys.argv[1:]}
ROOT = pathlib.Path(__file__).resolve().parents[3]
COMPLETE = """
. "$1"
shift
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_weft "$1"
printf '%s\\n' "${COMPREPLY[@]}"
"""


class Completion(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "here").mkdir()

    def offered(self, *words):
        """What bash offers for the last of the words."""
        # weftbench has no run path of its own: a tree has the library beside the programs' folder.
        env = {**os.environ, "LD_LIBRARY_PATH": str(PROGRAMS["weftrun"].parent.parent / "lib"), "IN_THE_ENVIRONMENT": ""}
        done = subprocess.run(["bash", "-c", COMPLETE, "bash", ROOT / "packaging/completion.bash", PROGRAMS[words[0]], *words[1:]], text=True,
                              capture_output=True, check=True, cwd=self.folder, env=env)
        self.assertEqual(done.stderr, "")
        return set(done.stdout.split())

    def test_every_option_of_the_help_and_no_other(self):
        for name, path in PROGRAMS.items():
            with self.subTest(name):
                env = {**os.environ, "LD_LIBRARY_PATH": str(path.parent.parent / "lib")}
                text = subprocess.run([path, "--help"], text=True, capture_output=True, check=True, env=env).stdout
                lists = re.findall(r"^  ((?:-[\w-]+, ?)*-[\w-]+)", text, re.M)
                options = {option for words in lists for option in re.split(", ?", words)}
                self.assertIn("--help", options)
                self.assertEqual(self.offered(name, "-"), options)
                self.assertEqual(self.offered(name, "--h"), {option for option in options if option.startswith("--h")})

    def test_the_words_that_an_option_accepts(self):
        self.assertEqual(self.offered("weftrun", "--bind-to", ""), {"none", "core", "l2cache", "l3cache", "numa", "socket", "hwthread"})
        self.assertEqual(self.offered("weftrun", "-n", "4", "--pmi", "o"), {"on", "off"})
        self.assertEqual(self.offered("weftrun", "--on-failure", ""), {"end", "continue"})
        self.assertEqual(self.offered("weftrun", "--stdin", ""), {"all", "none", "push"})
        self.assertEqual(self.offered("weftrun", "-x", "IN_THE_ENV"), {"IN_THE_ENVIRONMENT"})
        self.assertEqual(self.offered("weftrun", "--wdir", "h"), {"here"})
        self.assertEqual(self.offered("weftrun", "-n", ""), set())

    def test_after_the_options_comes_a_program(self):
        self.assertIn("here", self.offered("weftrun", "-n", "4", "her"))
        self.assertIn("bash", self.offered("weftrun", "--quiet", "bas"))
        # Words after the program are its own.
        self.assertEqual(self.offered("weftrun", "-n", "4", "./a.out", "--bind"), set())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])

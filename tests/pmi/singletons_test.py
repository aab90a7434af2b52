# SPDX-License-Identifier: BSD-3-Clause
"""Ranks that do not find weftrun, and what it says of them. MPICH_PROGRAM: size.c, compiled by MPICH's
compiler; OTHER_PMIX: a program that always loads another libpmix, empty where there is none."""
import os
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "multiproc" / "harness"))
from weftrun_common import CLIENT, own_lines, run  # noqa: E402

MPICH = os.environ["MPICH_PROGRAM"]
OTHER = os.environ["OTHER_PMIX"]
NODES = ([], ["--virtual-nodes", "2"])


class Singletons(unittest.TestCase):
    def line(self, result):
        lines = own_lines(result.stderr)
        self.assertEqual(len(lines), 1, result.stderr)
        return lines[0]

    def test_plain_programs_are_no_singletons(self):
        for words in NODES:
            result = run(*words, "--oversubscribe", "-n", "4", "hostname")
            self.assertEqual((result.returncode, result.stderr), (0, b""))

    def test_programs_of_the_job_are_none(self):
        for words in NODES:
            result = run(*words, "--oversubscribe", "-n", "2", CLIENT, "init", "finalize")
            self.assertEqual((result.returncode, result.stderr), (0, b""))

    def test_a_program_of_mpich_is_served_by_itself(self):
        result = run("--oversubscribe", "-n", "2", MPICH, "2")
        self.assertEqual((result.returncode, result.stderr), (0, b""))

    def test_mpich_that_is_not_served_is_named(self):
        # Each rank expects a job of one, and so ends well.
        for words in NODES:
            result = run(*words, "--oversubscribe", "-n", "2", "--pmi", "off", MPICH, "1")
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertRegex(self.line(result), "none of the 2 ranks called PMIx_Init: .*libmpich.so.12, which speaks PMI-1, and --pmi off")

    def test_one_rank_is_what_it_is(self):
        result = run("-n", "1", "--pmi", "off", MPICH, "1")
        self.assertEqual((result.returncode, result.stderr), (0, b""))

    def test_quiet_says_nothing(self):
        result = run("-q", "--oversubscribe", "-n", "2", "--pmi", "off", MPICH, "1")
        self.assertEqual((result.returncode, result.stderr), (0, b""))

    def test_pmi_on_serves_what_a_script_starts(self):
        script = ["sh", "-c", "exec " + MPICH + " 2"]
        result = run("--oversubscribe", "-n", "2", "--pmi", "on", *script)
        self.assertEqual((result.returncode, result.stderr), (0, b""))

    @unittest.skipUnless(OTHER, "Debian's libpmix-dev is not there")
    def test_another_pmix_library_is_named_with_ours(self):
        for words in NODES:
            result = run(*words, "--oversubscribe", "-n", "2", OTHER)
            self.assertEqual(result.returncode, 3, result.stderr)
            lines = own_lines(result.stderr)
            told = [line for line in lines if "uses the PMIx library" in line]
            self.assertEqual(len(told), 1, result.stderr)
            self.assertRegex(told[0], r"uses the PMIx library .*/pmix2/lib/libpmix\.so\S*, which does not understand weftrun's, "
                                      r".*/libpmix\.so\.2\S*\. What to do: ")


if __name__ == "__main__":
    unittest.main()

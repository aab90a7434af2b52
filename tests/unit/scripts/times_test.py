#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""scripts/checks/times on the logs of a build that never was: what is slowest, was skipped, or has failed."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[3] / "scripts" / "checks" / "times"
NINJA = """# ninja log v5
0\t1000\t1\tcore/CMakeFiles/weft_store.dir/board.cpp.o\ta
1000\t4500\t1\tlib/libpmix.so.2.4.2\tb
1000\t4500\t1\tlib/libpmix.so\tb
4500\t4700\t1\tcore/CMakeFiles/weft_store.dir/board.cpp.o\tc
"""
JUNIT = """<testsuite name="Linux-c++" tests="4">
 <testcase name="unit.core.store" classname="unit.core.store" time="2.5" status="run"><system-out>fine</system-out></testcase>
 <testcase name="multiproc.a" classname="multiproc.a" time="7.25" status="fail"><failure message="no"/>
  <system-out>one
two
</system-out></testcase>
 <testcase name="mpi.b.hosts" classname="mpi.b.hosts" time="0.1" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/>
  <system-out>first
skipped: no pretend hosts here
</system-out></testcase>
</testsuite>
"""
GTEST = """<testsuites><testsuite name="Board">
 <testcase name="fills" status="run" result="completed" time="1.75" classname="Board"/>
 <testcase name="needs_a_card" status="run" result="skipped" time="0" classname="Board">
  <skipped message="a_test.cpp:3&#x0A;there is no card"/></testcase>
 <testcase name="needs_it_too" status="run" result="skipped" time="0" classname="Board">
  <skipped message="a_test.cpp:9&#x0A;there is no card"/></testcase>
</testsuite></testsuites>
"""


class Times(unittest.TestCase):
    def run_on(self, files, *options):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in files.items():
                path = pathlib.Path(folder) / "release" / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
            done = subprocess.run([sys.executable, str(SCRIPT), *options, f"{folder}/release"], text=True,
                                  capture_output=True, check=False, timeout=60)
            return done.returncode, done.stdout

    def test_all_there_is(self):
        status, out = self.run_on({".ninja_log": NINJA, "Testing/junit.xml": JUNIT, "Testing/gtest/unit.core.store.xml": GTEST,
                                   "Testing/gtest/unit.of.yesterday.xml": GTEST, "Testing/gtest/multiproc.a.xml": "<cut"})
        self.assertEqual(status, 0)
        self.assertEqual(out, """\
slowest steps of the build of release (2 in all, 4 s)
      3.5 s  lib/libpmix.so
      0.2 s  core/board.cpp.o
slowest entries of ctest in release (2 in all, 10 s)
      7.2 s  multiproc.a
      2.5 s  unit.core.store
slowest tests inside of these in release (1 in all, 2 s)
      1.8 s  unit.core.store: Board.fills
skipped in release (3)
  mpi.b.hosts: skipped: no pretend hosts here
  unit.core.store: 2 tests: there is no card
""")

    def test_as_many_as_wanted(self):
        _, out = self.run_on({".ninja_log": NINJA}, "--top", "1")
        self.assertEqual(len(out.splitlines()), 2)

    def test_what_failed_tests_said(self):
        status, out = self.run_on({"Testing/junit.xml": JUNIT}, "--failed")
        self.assertEqual((status, out), (0, "multiproc.a failed in release, and said last:\n  one\n  two\n"))
        self.assertEqual(self.run_on({}, "--failed"), (0, ""))

    def test_an_empty_folder_is_not_a_success(self):
        self.assertEqual(self.run_on({"none": ""})[0], 2)


if __name__ == "__main__":
    unittest.main()

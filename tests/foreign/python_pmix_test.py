#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Clients, a host and a tool in Python, by the module pmix that Debian makes of another library's sources, on
this library.

usage: python_pmix_test.py PYTHON

Needs WEFTRUN, and WEFT_TEST_LIBRARY, the libpmix that is to be loaded. Exit status 77: skipped; says why.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
SCRIPTS = HERE / "python_pmix"
PYTHON, WEFTRUN, LIBRARY = sys.argv[1], os.environ["WEFTRUN"], os.environ["WEFT_TEST_LIBRARY"]
WATCHDOG = 120  # seconds; only a hang takes so long
# Where no launcher says which libpmix it is.
ENVIRONMENT = {**os.environ, "LD_LIBRARY_PATH": str(pathlib.Path(LIBRARY).parent)}


def run(*words, **options):
    done = subprocess.run([str(word) for word in words], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=WATCHDOG, check=False, **options)
    if done.returncode != 0:
        raise AssertionError(f"{words}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout.splitlines()


class Module(unittest.TestCase):
    def test_it_has_this_library(self):
        look = "import pmix; print(*{line.split()[-1] for line in open('/proc/self/maps') if '/libpmix.so' in line})"
        [path] = run(PYTHON, "-W", "ignore", "-c", look, env=ENVIRONMENT)
        self.assertTrue(os.path.samefile(path, LIBRARY), path)

    def test_a_client_under_weftrun(self):
        for ranks in (1, 4):
            out = run(WEFTRUN, "--oversubscribe", "-n", ranks, PYTHON, SCRIPTS / "client.py", ranks, "host")
            self.assertEqual(out.count(f"ok client {ranks}"), 1, out)
            self.assertEqual(sorted(line for line in out if "logged" in line), [f"logged by {rank}" for rank in range(ranks)])

    def test_a_client_on_four_nodes(self):
        out = run(WEFTRUN, "--virtual-nodes", "4", "-n", 4, PYTHON, SCRIPTS / "client.py", 4, "host")
        self.assertEqual(out.count("ok client 4"), 1, out)

    def test_a_host_and_its_clients(self):
        out = run(PYTHON, SCRIPTS / "server.py", PYTHON, SCRIPTS / "client.py", 3, env=ENVIRONMENT)
        self.assertEqual((out.count("ok client 3"), out.count("ok server 3")), (1, 1), out)

    def test_a_tool_at_weftrun(self):
        with tempfile.TemporaryDirectory() as folder:
            file = f"{folder}/may_print"
            ranks = f"echo started; until [ -e {file} ]; do sleep 0.05; done; echo line; exec sleep 600"
            job = subprocess.Popen([WEFTRUN, "--oversubscribe", "-n", "2", "sh", "-c", ranks], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE)
            try:
                self.assertEqual([job.stdout.readline() for _ in range(2)], [b"started\n"] * 2)
                self.assertEqual(run(PYTHON, SCRIPTS / "tool.py", job.pid, file, env=ENVIRONMENT)[-1], "ok tool")
            finally:
                job.terminate()
                job.communicate(timeout=WATCHDOG)


if __name__ == "__main__":
    is_there = [PYTHON, "-W", "ignore", "-c", "import pmix"]
    if shutil.which(PYTHON) is None or subprocess.run(is_there, env=ENVIRONMENT, capture_output=True, check=False).returncode != 0:
        print(f"skipped: {PYTHON} has no module pmix (Debian: python3-pmix; Debian 13's: scripts/debian13 --all)")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])

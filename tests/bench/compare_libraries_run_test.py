# SPDX-License-Identifier: BSD-3-Clause
"""scripts/compare_libraries with two ranks: figures of both libraries come out under each launcher, and
nothing stays behind.

usage: compare_libraries_run_test.py BUILD_FOLDER. Exit status 77: skipped, no hosts can be made here.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"
BUILD = sys.argv[1]
LAUNCHERS = {"mpirun"} | ({"slurm"} if shutil.which("slurmctld") else set())


class TwoRanks(unittest.TestCase):
    def test_figures_of_both_sides(self):
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "out.jsonl"
            child = subprocess.Popen([SCRIPTS / "compare_libraries", "--build", BUILD, "--jobs", "1x2", "--repeats", "1", "--budget",
                                      "20", "--json", out], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                     env={**os.environ, "TMPDIR": folder})
            said = child.communicate(timeout=200)[0]
            self.assertEqual(child.returncode, 0, said)
            self.assertEqual(os.listdir(folder), [out.name])
            rows = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
            self.assertEqual({row["launcher"] for row in rows}, LAUNCHERS, said)
            # A rank that ran on the other library ends the script, and a figure that is missing is null.
            for row in rows:
                self.assertGreater(min(row["weft"] or 0, row["debian"] or 0), 1, f"{row}\n{said}")
            listed = subprocess.run([SCRIPTS / "hosts", "list"], text=True, capture_output=True, check=True).stdout
            self.assertNotIn(f"cl{child.pid}x", listed)


if __name__ == "__main__":
    probe = f"clprobe{os.getpid()}x"
    if subprocess.run([SCRIPTS / "hosts", "up", "--set", probe, "1"], check=False).returncode == 3:
        print("skipped: no pretend hosts here")
        sys.exit(77)
    subprocess.run([SCRIPTS / "hosts", "down", "--set", probe], check=True)
    unittest.main(argv=sys.argv[:1])

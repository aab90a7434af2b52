# SPDX-License-Identifier: BSD-3-Clause
"""scripts/compare_nodes on two pretend hosts, with mpirun: figures come out and nothing stays behind.

usage: compare_nodes_run_test.py BUILD_FOLDER. Exit status 77: skipped, no hosts can be made here.
"""
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"
BUILD = sys.argv[1]


def hosts():
    done = subprocess.run([SCRIPTS / "hosts", "list"], text=True, capture_output=True, check=True)
    return {line.split()[0] for line in done.stdout.splitlines()}


class TwoHosts(unittest.TestCase):
    def compare(self, *words):
        """Records, and the names of hosts that are still there."""
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "out.jsonl"
            child = subprocess.Popen([SCRIPTS / "compare_nodes", "--build", BUILD, "--jobs", "2x1", "--repeats", "1",
                                      "--without", "weft", "--without", "slurm", "--json", out, *words],
                                     text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                     env={**os.environ, "TMPDIR": folder})
            said = child.communicate(timeout=200)[0]
            self.assertEqual(child.returncode, 0, said)
            self.assertEqual(os.listdir(folder), [out.name])
            self.assertEqual({host for host in hosts() if host.startswith(f"cn{child.pid}x")}, set())
            return [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()], said

    def test_a_group(self):
        records, said = self.compare("--only", "barrier")
        values = {(r["side"], r["bench"]): r["values"] for r in records if r["kind"] == "run"}
        self.assertEqual({key for key in values if key[0] == "floor"},
                         {("floor", "floor_nodes_barrier_read"), ("floor", "floor_nodes_barrier_epoll")})
        self.assertGreater(values["mpirun", "barrier"][0], 1e3)
        self.assertEqual(values["mpirun", "barrier_left_early"], [0])
        self.assertIn("| barrier | 2x1 |", said)

    def test_launches_in_a_row(self):
        records, _ = self.compare("--launches", "5")
        counted, = [r for r in records if r["kind"] == "launches"]
        self.assertEqual((counted["side"], counted["job"], counted["launches"]), ("mpirun", "2x1", 5))


if __name__ == "__main__":
    probe = f"cnprobe{os.getpid()}x"
    if subprocess.run([SCRIPTS / "hosts", "up", "--set", probe, "1"], check=False).returncode == 3:
        print("skipped: no pretend hosts here")
        sys.exit(77)
    subprocess.run([SCRIPTS / "hosts", "down", "--set", probe], check=True)
    unittest.main(argv=sys.argv[:1])

# SPDX-License-Identifier: BSD-3-Clause
"""The floors of several processes, for real, over loopback: that figures come out, and what ends badly.

usage: floors_test.py FOLDER_OF_THE_PROGRAMS
"""
import json
import os
import subprocess
import sys
import unittest
from pathlib import Path

FOLDER = Path(sys.argv[1])
PATIENCE_S = 60
# Below the ephemeral ports; each run of this test has its own two.
PORT = 20000 + os.getpid() % 5000 * 2


def records(text):
    return [json.loads(line) for line in text.splitlines() if line.startswith('{"bench":')]


def run(program, *words):
    return subprocess.run([FOLDER / program, *map(str, words)], text=True, capture_output=True, check=False,
                          timeout=PATIENCE_S)


class NodesBarrier(unittest.TestCase):
    def copies(self, hosts, numbers, words=()):
        """(exit status, output) of one copy for each of the numbers, the first of which is waited for
        first."""
        at = ",".join(f"127.0.0.{i + 1}" for i in range(hosts))
        started = [subprocess.Popen([FOLDER / "weft_floor_nodes_barrier", "--at", at, "--me", str(me), "--ranks", "2",
                                     "--batches", "5", "--port", str(PORT), "--json", *words], text=True,
                                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT) for me in numbers]
        try:
            return [(child.communicate(timeout=PATIENCE_S)[0], child.returncode)[::-1] for child in started]
        finally:
            for child in started:
                child.kill()
                child.wait()

    def test_the_first_host_prints_both_ways_to_wait(self):
        for hosts in (1, 2, 3, 5):
            ended = self.copies(hosts, range(hosts))
            self.assertEqual([status for status, _ in ended], [0] * hosts, ended)
            self.assertEqual([records(out) for _, out in ended[1:]], [[]] * (hosts - 1))
            seen = records(ended[0][1])
            self.assertEqual([(r["bench"], r["ranks"], r["runs"], r["batch"]) for r in seen],
                             [("floor_nodes_barrier_read", 2 * hosts, 5, 10),
                              ("floor_nodes_barrier_epoll", 2 * hosts, 5, 10)])
            for record in seen:
                self.assertGreater(record["min_ns"], 1e3)

    def test_a_host_that_leaves_early_ends_the_others(self):
        at = "127.0.0.1,127.0.0.2"
        common = [FOLDER / "weft_floor_nodes_barrier", "--at", at, "--port", str(PORT), "--json", "--me"]
        leaves = subprocess.Popen([*common, "1", "--batches", "2"], stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL)
        try:
            stays = subprocess.run([*common, "0", "--batches", "4000"], text=True, capture_output=True, check=False,
                                   timeout=PATIENCE_S)
        finally:
            leaves.kill()
            leaves.wait()
        self.assertEqual((stays.returncode, records(stays.stdout)), (1, []))
        self.assertRegex(stays.stderr, "left in the middle|send: ")

    def test_bad_command_lines(self):
        for words in ([], ["--at", "a,b"], ["--at", "127.0.0.1", "--me", "1"],
                      ["--at", "a", "--me", "0", "--ranks", "0"]):
            done = run("weft_floor_nodes_barrier", *words)
            self.assertEqual((done.returncode, done.stdout), (2, ""), words)


class Handoff(unittest.TestCase):
    def test_three_places(self):
        done = run("weft_floor_handoff", "--json", 2)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([r["bench"] for r in records(done.stdout)],
                         [name + paused for name in ("floor_handoff", "floor_handoff_one_core",
                                                     "floor_handoff_two_cores", "floor_message")
                          for paused in ("", "_paused")])

    def test_no_rank_is_left_without_a_partner(self):
        done = run("weft_floor_handoff", "--json", 3)
        self.assertEqual((done.returncode, done.stdout), (2, ""))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])

# SPDX-License-Identifier: BSD-3-Clause
"""PMIx_Process_monitor and PMIx_Heartbeat under weftrun, on one node and on several."""
import os
import tempfile
import unittest

from weftrun_common import run

CLIENT = os.environ["KNOWLEDGE_CLIENT"]
NODES = ((), ("--virtual-nodes", "2"))


class Monitors(unittest.TestCase):
    def do(self, *words, options=("-n", "1")):
        done = run(*options, CLIENT, *words)
        self.assertEqual(done.returncode, 0, done.stderr.decode())

    def test_all_ranks_hear_of_a_silent_one(self):
        for nodes in NODES:
            self.do("miss_heartbeats", options=("-n", "4", *nodes))

    def test_all_ranks_hear_of_a_file_that_does_not_grow(self):
        for nodes in NODES:
            with tempfile.NamedTemporaryFile() as file:
                self.do("miss_a_file", file.name, options=("-n", "4", *nodes))

    def test_bad_input(self):
        self.do("misuse_monitors")


if __name__ == "__main__":
    unittest.main()

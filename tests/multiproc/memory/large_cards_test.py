# SPDX-License-Identifier: BSD-3-Clause
"""Cards as large as a rank may have them, on several nodes: fences bring them, and where a node has no room
for them its Gets do."""
import os
import unittest

from weftrun_common import run

CLIENT = os.environ["MEMORY_CLIENT"]
LARGE = 12_000_000
# A node's memory for what others put is then 16 MiB: not enough for two large cards.
SMALL_SEGMENT = str(128 << 20)
LINE = b"WEFT_SEGMENT_BYTES"


class LargeCards(unittest.TestCase):
    def run_ranks(self, *words, **env):
        """Three nodes, of which the first has two ranks: what comes from others differs."""
        return run("--virtual-nodes", "3", "-n", "4", CLIENT, "init", *words, "finalize", env=dict(os.environ, **env))

    def check(self, *words, says_so, **env):
        result = self.run_ranks(*words, **env)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(LINE in result.stderr, says_so, result.stderr)

    def test_there_is_room_for_what_ranks_may_put(self):
        self.check("put:1000", f"put:{LARGE}", "collect", f"get:{LARGE}", "get:1000", says_so=False)

    def test_without_room_gets_bring_what_is_asked_for(self):
        self.check("put:1000", f"put:{LARGE}", "collect", "get:1000", f"get:{LARGE}", says_so=True, WEFT_SEGMENT_BYTES=SMALL_SEGMENT)

    def test_what_came_before_and_after_is_there(self):
        self.check("put:1000", "collect", f"put:{LARGE}", "collect", "get:1000", "put:2000", "collect", "get:2000",
                   "fence", f"get:{LARGE}", "get:1000", says_so=True, WEFT_SEGMENT_BYTES=SMALL_SEGMENT)

    def test_nothing_older_hides_what_is_left_out(self):
        self.check("put:1000", "put:2000", "collect", "get:1000", "fence", "age:1", f"put:{LARGE}", "put:1000", "collect", "get:1000",
                   "fence", "age:2", "put:2000", "collect", "get:2000", says_so=True, WEFT_SEGMENT_BYTES=SMALL_SEGMENT)

    def test_the_line_says_the_limit(self):
        result = self.run_ranks(f"put:{LARGE}", "collect", WEFT_SEGMENT_BYTES=SMALL_SEGMENT)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(b"16 MiB", result.stderr)
        self.assertLessEqual(result.stderr.count(LINE), 3, "a line a node")


if __name__ == "__main__":
    unittest.main()

# SPDX-License-Identifier: BSD-3-Clause
"""A rank is not a server: events that look like orders, reports or losses, in the name of a server, change
nothing."""
import unittest

from weftrun_common import CLIENT, run

SERVERS = range(3)  # two daemons and weftrun
NODES = ["--virtual-nodes", "2", "-N", "1"]


class Forged(unittest.TestCase):
    """The mark that rank 0 raises after the forgery goes the same way: a rank that has had the mark has had
    the forgery."""

    def check(self, kind, *where):
        words = [f"forge:{kind}:{number}" for number in SERVERS]
        result = run(*where, "-n", "2", CLIENT, "init", "watch", "fence", "only:0", *words, "mark", "all", "marked", "fence",
                     "only:1", "say:as ever", "all", "finalize")
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, b"as ever\n", b""))

    def test_between_nodes(self):
        for kind in ("object", "signal", "ended", "node_down", "end"):
            with self.subTest(kind=kind):
                self.check(kind, *NODES)

    def test_on_one_node(self):
        for kind in ("object", "signal", "ended", "node_down", "end"):
            with self.subTest(kind=kind):
                self.check(kind)


if __name__ == "__main__":
    unittest.main()

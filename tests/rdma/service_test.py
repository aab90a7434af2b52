# SPDX-License-Identifier: BSD-3-Clause
"""Jobs in a service whose daemons speak over a real card."""
import os
import pathlib
import sys
import unittest

from rdma_common import CARD, FABRICS, has_card
from weftrun_common import CLIENT, finish, kill_quietly, run, start


def packets_sent():
    """By the card, so far."""
    return int(pathlib.Path(f"/sys/class/infiniband/{CARD}/ports/1/hw_counters/sent_pkts").read_text())


class Jobs(unittest.TestCase):
    """One after the other, on the same connections."""

    def check(self, fabric):
        words = ["init", "put:300", "commit", "fence", "get:0", "get:3", "collect", "get:1", "fence", "finalize"]
        name = f"card-{fabric}-{os.getpid()}"
        service = start(f"--dvm={name}", "--virtual-nodes", "2:2", env={**os.environ, "WEFT_TRANSPORT": FABRICS[fabric]})
        try:
            self.assertTrue(service.stderr.readline(), "it is ready")
            before = packets_sent()
            for _ in range(3):
                done = run(f"--attach={name}", "-n", "4", CLIENT, *words)
                self.assertEqual(done.returncode, 0, done)  # on a slow machine it may say that it waits
            self.assertGreater(packets_sent(), before)
            self.assertEqual(run(f"--stop-dvm={name}").returncode, 0)
            status, _, _ = finish(service)
            self.assertEqual(status, 0)
        finally:
            kill_quietly(service)

    def test_over_ofi(self):
        self.check("ofi")

    def test_over_ucx(self):
        self.check("ucx")


if __name__ == "__main__":
    if not has_card():
        raise SystemExit(f"there is no {CARD} here: scripts/rdma_lab run ...")
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])

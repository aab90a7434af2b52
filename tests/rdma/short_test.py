# SPDX-License-Identifier: BSD-3-Clause
"""What ctest runs without being asked for the long entries: some tests of cards_test.py, service_test.py,
hosts_test.py and stranger_test.py, in one pair of guests, because starting a guest takes longer than most
tests.

usage: short_test.py FILE.CLASS[.TEST]...
"""
import os
import signal
import subprocess
import sys
import unittest

from rdma_common import CARD, has_card

if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: os._exit(1))
    if not has_card():
        raise SystemExit(f"there is no {CARD} here: scripts/rdma_lab hosts ...")
    # The stranger is another user, and may use the card.
    subprocess.run(["chmod", "666", *(f"/dev/infiniband/{device}" for device in os.listdir("/dev/infiniband"))], check=True)
    unittest.main(module=None, argv=[sys.argv[0], "--verbose", *sys.argv[1:]])

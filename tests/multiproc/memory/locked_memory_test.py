# SPDX-License-Identifier: BSD-3-Clause
"""Ranks that lock their memory (mlockall): the node segment costs them what is used of it."""
import ctypes
import os
import resource
import unittest

from weftrun_common import run

CLIENT = os.environ["MEMORY_CLIENT"]
MOST = 500  # MiB, of addresses: stacks and heaps of threads are among them
# What a rank would lock that had all of a segment mapped: more than MOST, and less than this machine has.
SEGMENT = str(2 << 30)
WORK = ["put:1000", "put:1000000", "fence", "get:1000000", "collect", "get:1000", "put:2000", "fence", "get:2000"]


def may_lock():
    """Without a limit."""
    libc = ctypes.CDLL(None, use_errno=True)
    return resource.getrlimit(resource.RLIMIT_MEMLOCK)[0] == resource.RLIM_INFINITY or libc.mlockall(1) == 0


def may_raise_the_limit():
    pid = os.fork()
    if pid == 0:
        try:
            resource.setrlimit(resource.RLIMIT_MEMLOCK, (MOST << 20, MOST << 20))
        except (OSError, ValueError):
            os._exit(1)
        os._exit(0)
    return os.waitpid(pid, 0)[1] == 0


@unittest.skipIf(os.environ.get("WEFT_TEST_SANITIZE"), "a sanitizer maps more addresses than can be locked")
class LockedMemory(unittest.TestCase):
    def check(self, *words):
        for nodes in ([], ["--virtual-nodes", "2"]):
            with self.subTest(nodes=nodes):
                result = run(*nodes, "-n", "4", CLIENT, *words, "finalize", env=dict(os.environ, WEFT_SEGMENT_BYTES=SEGMENT))
                self.assertEqual(result.returncode, 0, result.stderr)

    def test_without_a_limit(self):
        if not may_lock():
            self.skipTest("memory cannot be locked: CAP_IPC_LOCK, ulimit -l")
        below = f"locked_below:{MOST}"
        self.check("init", "lock", below, *WORK, below)
        self.check("init", "put:1000000", "fence", "get:1000000", "lock", *WORK, below)
        self.check("lock", "init", *WORK, below)

    def test_with_a_limit(self):
        if not may_raise_the_limit():
            self.skipTest("the limit on locked memory cannot be raised: CAP_SYS_RESOURCE, ulimit -H -l")
        limit = ["unprivileged", f"memlock:{MOST}"]
        self.check(*limit, "init", "lock", *WORK)
        self.check(*limit, "init", "put:1000000", "fence", "get:1000000", "lock", *WORK)
        self.check(*limit, "lock", "init", *WORK)

    def test_of_what_cannot_be_mapped_the_server_is_asked(self):
        """No byte more can be mapped from some moment on, and so no card that is longer than its first
        page."""
        if not may_lock():
            self.skipTest("memory cannot be locked: CAP_IPC_LOCK, ulimit -l")
        self.check("init", "listen", "put:20000", "fence", "reserve:1000000", "lock", "memlock:0", "unprivileged", "get:20000", "fence")


if __name__ == "__main__":
    unittest.main()

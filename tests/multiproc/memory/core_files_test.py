# SPDX-License-Identifier: BSD-3-Clause
"""Core files of a job's processes: the node segment, which is mostly addresses without memory, is in none of
them."""
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import tempfile
import unittest

from weftrun_common import finish, run, start, wait_until

CLIENT = os.environ["MEMORY_CLIENT"]
MOST_CORE = 64 << 20  # what a core may write here, whatever is wrong
SMALL_CORE = 48 << 20
LARGE = 1 << 20  # of a mapping


def shared_mappings(pid):
    """[(name, bytes, flags)] of all mappings that the process shares with others."""
    found = []
    with open(f"/proc/{pid}/smaps", encoding="utf-8") as smaps:
        for line in smaps:
            if head := re.match(r"([0-9a-f]+)-([0-9a-f]+) ...([sp]) \S+ \S+ \S+ *(.*)", line):
                name, is_shared = head[4], head[3] == "s"
                size = int(head[2], 16) - int(head[1], 16)
            elif line.startswith("VmFlags:") and is_shared:
                found.append((name, size, line.split()[1:]))
    return found


def processes_below(pid):
    """The process and all that it started, directly or not."""
    found = [pid]
    for one in found:
        for task in os.listdir(f"/proc/{one}/task"):
            with open(f"/proc/{one}/task/{task}/children", encoding="utf-8") as children:
                found += [int(child) for child in children.read().split()]
    return found


def name_of(pid):
    with open(f"/proc/{pid}/comm", encoding="utf-8") as comm:
        return comm.read().strip()


class CoreFiles(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)

    def file(self, name):
        return os.path.join(self.folder, name)

    def test_the_segment_is_left_out_of_dumps(self):
        """In the ranks, the daemons and the launcher, read-only and writable parts, with cards in use."""
        for transport in os.environ["TRANSPORTS"].split(","):
            with self.subTest(transport):
                words = ["init", "put:10000", "collect", "get:10000", "say:ready", "wait:" + self.file("go." + transport), "finalize"]
                job = start("--virtual-nodes", "2", "-n", "4", CLIENT, *words, env=dict(os.environ, WEFT_TRANSPORT=transport))
                try:
                    ready = [job.stdout.readline().split() for _ in range(4)]
                    self.assertEqual([line[2:] for line in ready], [[b"ready"]] * 4, ready)
                    seen = set()
                    for pid in processes_below(job.pid):
                        segment = [m for m in shared_mappings(pid) if "weft-" in m[0]]
                        if segment:
                            seen.add(name_of(pid))
                        for name, size, flags in segment:
                            self.assertIn("dd", flags, f"{name_of(pid)}: {name}, {size} bytes")
                    self.assertLessEqual({"weftrun", "weftd", "memory_client"}, seen)
                finally:
                    pathlib.Path(self.file("go." + transport)).touch()
                    status, _, err = finish(job)
                self.assertEqual(status, 0, err)

    def cores(self):
        return [name for name in os.listdir(self.folder) if name.startswith("core")]

    @unittest.skipIf(os.environ.get("WEFT_TEST_SANITIZE"), "a sanitizer allows no core, and has terabytes of addresses")
    def test_a_core_of_a_rank_is_small(self):
        with open("/proc/sys/kernel/core_pattern", encoding="utf-8") as pattern:
            elsewhere = pattern.read().startswith(("/", "|"))
        hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
        if elsewhere or resource.RLIM_INFINITY != hard < MOST_CORE:
            self.skipTest("no core in the working directory: kernel.core_pattern, or the hard limit of ulimit -c")
        words = " ".join([CLIENT, "init", "put:10000", "fence", "get:10000", "abort:0"])
        result = run("-n", "1", "sh", "-c", f"ulimit -c {MOST_CORE // 512} && exec {words}", cwd=self.folder)
        self.assertEqual(result.returncode, 128 + signal.SIGABRT, result.stderr)
        sizes = [os.stat(self.file(name)).st_size for name in self.cores()]
        self.assertEqual(len(sizes), 1, result.stderr)
        self.assertLess(sizes[0], SMALL_CORE)

    @unittest.skipIf(os.environ.get("WEFT_TEST_SANITIZE"), "a sanitizer allows no core, and has terabytes of addresses")
    @unittest.skipUnless(shutil.which("gcore"), "no gcore")
    def test_a_debuggers_core_of_a_live_rank_is_small(self):
        job = start("-n", "2", CLIENT, "init", "put:10000", "fence", "get:10000", "say:ready", "wait:" + self.file("go"), "finalize")
        try:
            pid = int(job.stdout.readline().split()[1])
            limit = (MOST_CORE, MOST_CORE)
            subprocess.run(["gcore", "-o", self.file("core"), str(pid)], capture_output=True, timeout=60, check=False,
                           preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, limit))
            sizes = [os.stat(self.file(name)).st_size for name in self.cores()]
            self.assertEqual(len(sizes), 1)
            self.assertLess(sizes[0], SMALL_CORE)
        finally:
            pathlib.Path(self.file("go")).touch()
            status, _, err = finish(job)
        self.assertEqual(status, 0, err)


if __name__ == "__main__":
    unittest.main()

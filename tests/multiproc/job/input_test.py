# SPDX-License-Identifier: BSD-3-Clause
"""Standard input: the ranks that get it, every byte, the end, and readers that do not read."""
import hashlib
import os
import random
import subprocess
import tempfile
import threading
import unittest

from weftrun_common import WATCHDOG, WEFTRUN, finish, kill_quietly, python, read_lines, run, start, wait_until

DIGEST = ("import sys,hashlib,os\n"
          "print(os.environ['PMIX_RANK'], hashlib.sha256(sys.stdin.buffer.read()).hexdigest())")
NOTHING = hashlib.sha256(b"").hexdigest()


def digests(result):
    return dict((int(r), d) for r, d in (line.split() for line in result.stdout.decode().splitlines()))


class Input(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.data = random.Random(5).randbytes(5_000_000)
        cls.digest = hashlib.sha256(cls.data).hexdigest()

    def check(self, expected, *args, **options):
        result = run("-n", "3", *args, *python(DIGEST), **options)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(digests(result), expected)

    def test_default_is_rank_0(self):
        self.check({0: self.digest, 1: NOTHING, 2: NOTHING}, data=self.data)

    def test_one_rank(self):
        self.check({0: NOTHING, 1: NOTHING, 2: self.digest}, "--stdin", "2", data=self.data)

    def test_all(self):
        self.check({0: self.digest, 1: self.digest, 2: self.digest}, "--stdin", "all", data=self.data)
        self.check({0: NOTHING, 1: NOTHING, 2: NOTHING}, "--stdin", "all", data=b"")

    def test_none(self):
        self.check({0: NOTHING, 1: NOTHING, 2: NOTHING}, "--stdin", "none", data=self.data)

    def test_from_a_file(self):
        for target in ("0", "all"):
            with tempfile.TemporaryFile() as file:
                file.write(b"skipped" + self.data)
                file.flush()
                file.seek(len(b"skipped"))
                result = run("--stdin", target, "-n", "2", *python(DIGEST), stdin=file)
            self.assertEqual(digests(result), {0: self.digest, 1: self.digest if target == "all" else NOTHING})

    def test_from_dev_null(self):
        for target in ("0", "all", "none"):
            result = run("--stdin", target, "-n", "2", *python(DIGEST), stdin=subprocess.DEVNULL)
            self.assertEqual(digests(result), {0: NOTHING, 1: NOTHING})

    def test_what_is_not_read_is_left_for_the_next_command(self):
        with tempfile.TemporaryFile() as file:
            file.write(b"one\ntwo\n")
            file.flush()
            file.seek(0)
            run("-n", "2", "true", stdin=file)
            self.assertEqual(file.read(), b"one\ntwo\n")

    def test_interactive_exchange(self):
        for target in ("0", "all"):
            job = start("--stdin", target, "-n", "1", "cat", stdin=subprocess.PIPE)
            for word in (b"a\n", b"b\n"):
                job.stdin.write(word)
                job.stdin.flush()
                self.assertEqual(job.stdout.readline(), word)
            job.stdin.close()
            job.stdin = None
            self.assertEqual(finish(job)[:2], (0, b""))

    def test_a_reader_that_leaves_does_not_stop_the_others(self):
        code = ("import sys,os,hashlib\n"
                "if os.environ['PMIX_RANK'] == '1': os.read(0, 10); os._exit(0)\n"
                "if os.environ['PMIX_RANK'] == '2': os.close(0)\n"
                "else: print(hashlib.sha256(sys.stdin.buffer.read()).hexdigest())\n")
        result = run("--stdin", "all", "-n", "3", *python(code), data=self.data)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stdout.decode().split(), [self.digest])

    def test_job_ends_though_input_does_not(self):
        for target in ("0", "all"):
            read_end, write_end = os.pipe()
            job = start("--stdin", target, "-n", "2", "true", stdin=read_end)
            os.close(read_end)
            self.assertEqual(finish(job)[0], 0)
            os.close(write_end)

    def test_no_rank_reads_and_memory_is_bounded(self):
        job = start("--stdin", "all", "-n", "2", "sh", "-c", "echo ready; exec sleep 1000",
                    stdin=subprocess.PIPE)
        read_lines(job.stdout, 2)
        os.set_blocking(job.stdin.fileno(), False)
        taken = 0

        def is_full():
            nonlocal taken
            try:
                taken += os.write(job.stdin.fileno(), b"x" * 65536)
            except BlockingIOError:
                return True
            return False

        full = 0
        while full < 20:  # stays full, however often weftrun gets the processor
            full = full + 1 if is_full() else 0
            threading.Event().wait(0.002)
        self.assertLess(taken, 1_000_000)
        kill_quietly(job)

    def test_terminal(self):
        master, slave = os.openpty()
        job = start("-n", "2", "sh", "-c", "test -t 0 && echo terminal; cat", stdin=slave,
                    start_new_session=True,
                    preexec_fn=lambda: __import__("fcntl").ioctl(0, __import__("termios").TIOCSCTTY, 0))
        os.write(master, b"typed\n")
        self.assertEqual(job.stdout.readline(), b"typed\n")
        os.write(master, b"\x04")  # end of file at the start of a line
        self.assertEqual(finish(job)[:2], (0, b""))
        os.close(master)
        os.close(slave)

    def test_interrupt_from_the_terminal(self):
        master, slave = os.openpty()
        job = start("-n", "2", "sh", "-c", "echo ready; exec sleep 1000", stdin=slave, start_new_session=True,
                    preexec_fn=lambda: __import__("fcntl").ioctl(0, __import__("termios").TIOCSCTTY, 0))
        read_lines(job.stdout, 2)
        os.write(master, b"\x03")
        status, _, err = finish(job)
        self.assertEqual(status, 130, err)
        os.close(master)
        os.close(slave)


if __name__ == "__main__":
    unittest.main()

# SPDX-License-Identifier: BSD-3-Clause
"""Standard output and error: every byte, in order, whatever the reader does, within bounded memory."""
import contextlib
import fcntl
import glob
import hashlib
import os
import re
import signal
import subprocess
import tempfile
import unittest

from weftrun_common import (CLIENT, PYTHON, WATCHDOG, WEFTRUN, finish, kill_quietly, own_lines, parent, python, read_lines, run,
                            start, wait_until)

# Bytes that follow from a seed, so that the test can make the same: all values, no period that fits a buffer.
MAKE = ("import random,sys,os\n"
        "def make(seed, size): return random.Random(seed).randbytes(size)\n"
        "def put(fd, data):\n"
        "    view = memoryview(data)\n"
        "    while view: view = view[os.write(fd, view):]\n")
F_SETPIPE_SZ = 1031  # fcntl has it from Python 3.10 on
exec(MAKE)  # pylint: disable=exec-used


class Output(unittest.TestCase):
    def test_binary_output_and_error(self):
        size = 6_000_000
        result = run("-n", "1", *python(MAKE + f"put(1, make(1, {size})); put(2, make(2, {size}))"))
        self.assertEqual(result.returncode, 0)
        self.assertEqual(hashlib.sha256(result.stdout).hexdigest(), hashlib.sha256(make(1, size)).hexdigest())
        self.assertEqual(hashlib.sha256(result.stderr).hexdigest(), hashlib.sha256(make(2, size)).hexdigest())

    def test_no_newline_no_byte_added(self):
        self.assertEqual(run("-n", "1", "printf", "a\\0b").stdout, b"a\0b")
        self.assertEqual(run("-n", "1", "true").stdout, b"")

    def test_output_of_many_ranks_is_complete(self):
        size = 300_000
        code = f"put(1, bytes([65 + int(os.environ['PMIX_RANK'])]) * {size})"
        result = run("-n", "16", *python(MAKE + code))
        for rank in range(16):
            self.assertEqual(result.stdout.count(bytes([65 + rank])), size)

    def test_to_a_file_at_its_offset(self):
        with tempfile.TemporaryFile() as file:
            file.write(b"before ")
            file.flush()
            status = subprocess.run([WEFTRUN, "-n", "1", "sh", "-c", "echo out; echo err >&2"],
                                    stdin=subprocess.DEVNULL,
                                    stdout=file, stderr=file, timeout=WATCHDOG).returncode
            self.assertEqual(status, 0)
            file.write(b"after")
            file.flush()
            file.seek(0)
            text = file.read()
        self.assertIn(text, (b"before out\nerr\nafter", b"before err\nout\nafter"))

    def test_to_a_socket(self):
        import socket
        here, there = socket.socketpair()
        size = 3_000_000
        job = start("-n", "1", *python(MAKE + f"put(1, make(3, {size}))"), stdout=there.fileno())
        there.close()
        received = bytearray()
        here.settimeout(WATCHDOG)
        while chunk := here.recv(65536):
            received += chunk
        self.assertEqual(finish(job)[0], 0)
        self.assertEqual(bytes(received), make(3, size))
        here.close()

    def test_blocking_mode_of_our_streams_is_left_alone(self):
        read_end, write_end = os.pipe()
        job = start("-n", "1", "sh", "-c", "echo x; sleep 1000", stdout=write_end, stderr=write_end)
        self.assertEqual(os.read(read_end, 2), b"x\n")
        self.assertTrue(os.get_blocking(write_end))
        job.terminate()
        finish(job)
        os.close(read_end)
        os.close(write_end)

    def test_an_error_stream_that_is_not_read_stops_no_fence(self):
        """The library's own lines wait for their reader as those of ranks do, and the launcher's server goes
        on meanwhile."""
        with tempfile.TemporaryDirectory() as folder:
            go, over = os.path.join(folder, "go"), os.path.join(folder, "over")
            os.mkfifo(go)
            read_end, write_end = os.pipe()
            fcntl.fcntl(write_end, F_SETPIPE_SZ, 4096)
            rank = (f'if [ $PMIX_RANK = 0 ]; then head -c 1048576 /dev/zero >&2 & else read x < {go}; fi; '
                    f'{CLIENT} init fence finalize && touch {over}.$PMIX_RANK')
            job = start("--virtual-nodes", "2", "-n", "2", "sh", "-c", rank, stderr=write_end,
                        env={**os.environ, "WEFT_STUCK_AFTER": "1"})
            os.close(write_end)

            def reports():
                """A server of the job has something to say, and says it on a thread of its own."""
                for comm in glob.glob("/proc/[0-9]*/task/*/comm"):
                    pid = int(comm.split("/")[2])
                    with contextlib.suppress(OSError), open(comm, encoding="ascii") as name:
                        if name.read() == "weft-log\n" and job.pid in (pid, parent(pid)):
                            return True
                return False

            wait_until(lambda: os.path.exists(go) and reports(), "a report of the stuck fence")
            with open(go, "w", encoding="ascii") as fifo:
                fifo.write("go\n")
            wait_until(lambda: os.path.exists(f"{over}.0") and os.path.exists(f"{over}.1"),
                       "the end of the fence while standard error is not read")
            text = b""
            while chunk := os.read(read_end, 65536):
                text += chunk
            os.close(read_end)
            self.assertEqual(finish(job)[0], 0, text.replace(b"\0", b""))
            self.assertIn(b"missing: 1", text)

    def test_tagged_lines_are_whole(self):
        # Long lines in small pieces from all ranks at once, on both streams into one pipe.
        code = ("import os,sys\nr = os.environ['PMIX_RANK']\n"
                "for i in range(200):\n"
                "    for part in range(10): os.write(1 + i % 2, (r * 50).encode())\n"
                "    os.write(1 + i % 2, b'\\n')\n")
        result = subprocess.run([WEFTRUN, "--tag-output", "-n", "8", *python(code)], stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=WATCHDOG)
        lines = result.stdout.decode().splitlines()
        self.assertEqual(len(lines), 8 * 200)
        for line in lines:
            self.assertRegex(line, r"^\[(\d)\] \1{500}$")

    def test_tagged_line_without_newline(self):
        self.assertEqual(run("--tag-output", "-n", "1", "printf", "a\\nb").stdout, b"[0] a\n[0] b\n")

    def test_output_directory(self):
        size = 1_000_000
        with tempfile.TemporaryDirectory() as directory:
            target = os.path.join(directory, "new", "place")
            result = run("--output-dir", target, "-n", "3",
                         *python(MAKE + "r = int(os.environ['PMIX_RANK'])\n"
                                 f"put(1, make(r, {size})); put(2, b'e%d' % r)"))
            self.assertEqual((result.returncode, result.stdout, result.stderr), (0, b"", b""))
            self.assertEqual(sorted(os.listdir(target)),
                             sorted(f"rank.{r}.{s}" for r in range(3) for s in ("out", "err")))
            for rank in range(3):
                with open(os.path.join(target, f"rank.{rank}.out"), "rb") as file:
                    self.assertEqual(file.read(), make(rank, size))
                with open(os.path.join(target, f"rank.{rank}.err"), "rb") as file:
                    self.assertEqual(file.read(), b"e%d" % rank)

    def test_failure_names_the_file(self):
        with tempfile.TemporaryDirectory() as directory:
            result = run("--output-dir", directory, "-n", "1", "false")
            self.assertIn(f"see {directory}/rank.0.err", own_lines(result.stderr)[0])

    def test_slow_reader_bounds_memory_and_loses_nothing(self):
        ranks, each = 8, 16_000_000
        job = start("-n", str(ranks), *python(MAKE + f"put(1, b'x' * {each})"))
        fd = job.stdout.fileno()
        seen = 0
        # No process reads: the ranks must come to rest, all of them, with weftrun small.
        wait_until(lambda: self.is_asleep(job.pid), "weftrun at rest")
        largest = 0
        while chunk := os.read(fd, 1 << 20):
            seen += len(chunk)
            if seen % 16 == 0:
                largest = max(largest, self.resident_bytes(job.pid))
        self.assertEqual(finish(job)[0], 0)
        self.assertEqual(seen, ranks * each)
        if not os.environ.get("WEFT_TEST_SANITIZE"):  # AddressSanitizer keeps for a while what was freed
            self.assertLess(largest, 64 << 20)  # half of what passed through

    def test_reader_that_leaves(self):
        job = start("-n", "2", "yes")
        read_lines(job.stdout, 3)
        job.stdout.close()
        job.stdout = None
        status, _, err = finish(job)
        self.assertEqual(status, 128 + signal.SIGPIPE)
        self.assertEqual(len(own_lines(err)), 1, err)
        self.assertIn("SIGPIPE", err.decode())

    @unittest.skipIf(os.geteuid() != 0, "mounting a file system needs root")
    def test_output_directory_on_a_full_disk(self):
        """A rank that does not look at what its writes say: the job has not ended well all the same."""
        with tempfile.TemporaryDirectory() as folder:
            mount = f"mount -t tmpfs -o size=64k none {folder} && exec \"$@\""
            for size, status in ((1000, 0), (1_000_000, 125)):
                with self.subTest(size=size):
                    result = subprocess.run(
                        ["unshare", "-m", "--propagation", "private", "sh", "-c", mount, "sh", WEFTRUN, "-n", "2",
                         "--output-dir", folder, "sh", "-c", f"head -c {size} /dev/zero; exit 0"],
                        capture_output=True, timeout=WATCHDOG, stdin=subprocess.DEVNULL, check=False)
                    self.assertEqual(result.returncode, status, result.stderr)
                    self.assertEqual(b"No space left on device" in result.stderr, status != 0, result.stderr)

    def test_full_disk(self):
        with open("/dev/full", "wb") as full:
            result = subprocess.run([WEFTRUN, "-n", "2", "sh", "-c", "echo x; sleep 1000"],
                                    stdin=subprocess.DEVNULL,
                                    stdout=full, stderr=subprocess.PIPE, timeout=WATCHDOG)
        self.assertEqual(result.returncode, 125)
        self.assertEqual(len(own_lines(result.stderr)), 1, result.stderr)
        self.assertIn("cannot write standard output: No space left", result.stderr.decode())

    def test_closed_streams(self):
        code = "import os,sys; os.close(0); os.close(1); os.execv(sys.argv[1], sys.argv[1:])"
        result = subprocess.run([PYTHON, "-c", code, WEFTRUN, "-n", "2", "sh", "-c",
                                 "cat; echo x; echo y >&2"],
                                stderr=subprocess.PIPE, timeout=WATCHDOG)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stderr, b"y\ny\n")

    def test_on_a_terminal(self):
        master, slave = os.openpty()
        job = start("-n", "1", "sh", "-c", "test -t 1 || echo not a terminal", stdout=slave)
        os.close(slave)
        text = b""
        try:
            while chunk := os.read(master, 1000):
                text += chunk
        except OSError:  # the terminal's other side has closed
            pass
        os.close(master)
        self.assertEqual(finish(job)[0], 0)
        self.assertEqual(text.replace(b"\r", b""), b"not a terminal\n")

    @staticmethod
    def is_asleep(pid):
        """True when weftrun has handled some output and does not get any more processor time."""
        def ticks():
            with open(f"/proc/{pid}/stat", "rb") as stat:
                fields = stat.read().rsplit(b")", 1)[1].split()
            return fields[0], int(fields[11]) + int(fields[12])
        with open(f"/proc/{pid}/io", "rb") as io:
            has_read = int(io.readline().split()[1]) > 100_000
        return has_read and ticks()[0] == b"S"

    @staticmethod
    def resident_bytes(pid):
        with open(f"/proc/{pid}/statm", "rb") as statm:
            return int(statm.read().split()[1]) * 4096


if __name__ == "__main__":
    unittest.main()

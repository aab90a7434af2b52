# SPDX-License-Identifier: BSD-3-Clause
"""What is wrong with a command line costs one clear line and starts nothing."""
import os
import resource
import stat
import subprocess
import tempfile
import unittest

from weftrun_common import PYTHON, WATCHDOG, WEFTRUN, own_lines, python, run, with_variable


class CommandLine(unittest.TestCase):
    def refused(self, status, text, *args, **options):
        with tempfile.TemporaryDirectory() as directory:
            mark = os.path.join(directory, "mark")
            # Where the line names a second program, the first one must not have run either.
            result = run(*[mark if a == "MARK" else a for a in args], **options)
            self.assertEqual(result.returncode, status, result.stderr)
            self.assertEqual(len(own_lines(result.stderr)), 1, result.stderr)
            self.assertEqual(result.stderr.count(b"\n"), 1, result.stderr)
            self.assertIn(text, result.stderr.decode())
            self.assertEqual(result.stdout, b"")
            self.assertFalse(os.path.exists(mark))

    def test_bad_options(self):
        self.refused(2, "there is no option '--bogus'", "--bogus", "true")
        self.refused(2, "no program is named")
        self.refused(2, "-n 'x'", "-n", "x", "true")
        self.refused(2, "there is no option '-hosts'; mpiexec has one; write --host LIST", "-hosts", "x", "touch", "MARK")
        self.refused(2, "-n has an empty value", "-n", "", "touch", "MARK")
        self.refused(2, "there is no option '--tune'; mpirun has one; write --mca NAME VALUE for each", "--tune", "f", "touch", "MARK")
        self.refused(2, "--timeout speaks of the whole job", "-n", "1", "touch", "MARK", ":", "-n", "1", "--timeout", "5", "true")
        for name in ("a,b", "x" * 256):
            self.refused(2, f"--pset '{name}' is no name of a process set", "--pset", name, "true")
        self.refused(2, "--stdin 4 is not a rank", "-n", "4", "--stdin", "4", "true")

    def test_a_reader_that_has_gone_changes_no_status(self):
        """weftrun ... 2>&1 | head -1"""
        read_end, write_end = os.pipe()
        os.close(read_end)
        result = subprocess.run([WEFTRUN, "-n", "1", "--wdir", "/no/such/place", "true"], stdin=subprocess.DEVNULL,
                                stdout=write_end, stderr=write_end, timeout=WATCHDOG, check=False)
        os.close(write_end)
        self.assertEqual(result.returncode, 125)

    def test_program_not_found(self):
        self.refused(127, "'no-such-program'", "-n", "2", "no-such-program")
        self.refused(127, "'./no-such-program' does not exist", "./no-such-program")
        self.refused(127, "no-such-program", "-n", "1", "touch", "MARK", ":", "-n", "1", "no-such-program")

    def test_program_not_executable(self):
        with tempfile.TemporaryDirectory() as directory:
            plain = os.path.join(directory, "plain")
            open(plain, "w").close()
            self.refused(126, "cannot be run", plain)
            self.refused(126, "it is a directory", directory)

    def test_program_of_a_wrong_format(self):
        with tempfile.TemporaryDirectory() as directory:
            for text, reason in ((b"\x00\x01", "Exec format error"),
                                 (b"#!/no/such/interpreter\n",
                                  "the interpreter that its first line names, '/no/such/interpreter': No such file"),
                                 (b"#! /no/such/interpreter -x\n", "'/no/such/interpreter': No such file"),
                                 (b"#!/etc/passwd\n", "'/etc/passwd': Permission denied"),
                                 (b"#!/bin/sh\r\ntrue\r\n", "'/bin/sh\\r': No such file")):
                odd = os.path.join(directory, "odd")
                with open(odd, "wb") as file:
                    file.write(text)
                os.chmod(odd, stat.S_IRWXU)
                result = run("-n", "3", odd)
                self.assertEqual(result.returncode, 126)
                self.assertEqual(len(own_lines(result.stderr)), 1, result.stderr)
                self.assertIn(reason, result.stderr.decode())
                self.assertIn("rank 0 on", result.stderr.decode())
                self.assertEqual("end with CR LF" in result.stderr.decode(), b"\r" in text)

    def test_bad_directories(self):
        self.refused(125, "--wdir '/no/such/place'", "--wdir", "/no/such/place", "true")
        self.refused(125, "--wdir '/dev/null'", "--wdir", "/dev/null", "true")
        self.refused(125, "/dev/null/x", "--output-dir", "/dev/null/x", "true")

    @unittest.skipIf(os.environ.get("WEFT_TEST_SANITIZE"),
                     "the sanitizer needs a pipe of its own to look at memory")
    def test_out_of_descriptors(self):
        code = ("import resource,os,sys; resource.setrlimit(resource.RLIMIT_NOFILE,(40,40)); "
                "os.execv(sys.argv[1],sys.argv[1:])")
        with tempfile.TemporaryDirectory() as mark:
            result = subprocess.run([PYTHON, "-c", code, WEFTRUN, "-n", "64", "-x", "WEFT_TEST_MARK=" + mark,
                                     "sh", "-c",
                                     "setsid sleep 1000"], capture_output=True, timeout=WATCHDOG,
                                    stdin=subprocess.DEVNULL)
            self.assertEqual(result.returncode, 125, result.stderr)
            self.assertEqual(len(own_lines(result.stderr)), 1, result.stderr)
            self.assertIn("ulimit -n", result.stderr.decode())
            self.assertEqual(with_variable("WEFT_TEST_MARK=" + mark), [])

    @unittest.skipIf(os.environ.get("WEFT_TEST_SANITIZE"),
                     "the sanitizer needs a pipe of its own to look at memory")
    def test_too_few_descriptors_say_what_to_do(self):
        """Wherever the start of a job of several nodes meets the limit."""
        code = ("import resource,os,sys; n=int(sys.argv[1]); resource.setrlimit(resource.RLIMIT_NOFILE,(n,n)); "
                "os.execv(sys.argv[2],sys.argv[2:])")
        failed = 0
        # From 28 on the last of them is lacking while the nodes meet, and a node seems to be lost after this
        # time.
        env = dict(os.environ, WEFT_LOST_AFTER="4")
        for limit in (*range(8, 28, 2), *range(28, 38)):
            result = subprocess.run([PYTHON, "-c", code, str(limit), WEFTRUN, "--virtual-nodes", "2", "-n", "2", "true"],
                                    capture_output=True, timeout=WATCHDOG, stdin=subprocess.DEVNULL, env=env)
            said = result.stderr.decode()
            self.assertIn(result.returncode, (0, 125), said)
            failed += result.returncode != 0
            if result.returncode != 0:
                self.assertTrue(any("ulimit -n" in line for line in said.splitlines()), f"{limit}: {said}")
                self.assertNotIn("defect", said)
        self.assertGreater(failed, 3)

    def test_descriptor_limit_of_ranks_is_theirs(self):
        soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        result = run("-n", "1",
                     *python("import resource; print(resource.getrlimit(resource.RLIMIT_NOFILE)[0])"))
        self.assertEqual(int(result.stdout), soft)

    def test_help_and_version(self):
        self.assertIn(b"--output-dir", run("--help").stdout)
        version = run("--version")
        self.assertEqual(version.returncode, 0)
        self.assertTrue(version.stdout.startswith(b"weftrun "))


if __name__ == "__main__":
    unittest.main()

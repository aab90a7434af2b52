# SPDX-License-Identifier: BSD-3-Clause
"""Ranks in network namespaces of their own, as in a container without the host's network: they reach their
server by its socket in WEFT_SOCKET_DIR. Needs the right to make namespaces; skipped (77) elsewhere."""
import os
import pathlib
import socket
import stat
import subprocess
import sys
import tempfile
import unittest

from weftrun_common import CLIENT, PYTHON, run, start

STEPS = ("init", "fence", "collect", "commit", "fence", "finalize")
SHAPES = ((), ("--virtual-nodes", "2"))


class InANamespace(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="weftrun-sockets-", dir="/tmp")
        self.env = {**os.environ, "WEFT_SOCKET_DIR": self.folder}

    def tearDown(self):
        self.assertEqual(os.listdir(self.folder), [], "a socket is left")
        os.rmdir(self.folder)

    def check(self, *words, env=None):
        result = run("--oversubscribe", *words, *STEPS, env=env or self.env)
        self.assertEqual((result.returncode, result.stderr.decode()), (0, ""), words)

    def test_of_the_network(self):
        for shape in SHAPES:
            self.check(*shape, "-n", "4", "unshare", "-n", CLIENT)
            self.check(*shape, "-n", "4", "unshare", "-r", "-n", CLIENT)

    def test_of_processes_as_well(self):
        """The segment comes with the server's welcome: /proc shows other processes there."""
        for shape in SHAPES:
            self.check(*shape, "-n", "4", "unshare", "-n", "-p", "-f", "--mount-proc", CLIENT)

    def test_beside_ranks_that_are_in_none(self):
        script = 'if [ "$PMIX_RANK" = 1 ]; then exec unshare -n "$@"; else exec "$@"; fi'
        for shape in SHAPES:
            self.check(*shape, "-n", "4", "sh", "-c", script, "sh", CLIENT)

    def test_without_the_folder(self):
        env = {**os.environ}
        env.pop("WEFT_SOCKET_DIR", None)
        result = run("-n", "1", "unshare", "-n", CLIENT, "init", env=env)
        self.assertNotEqual(result.returncode, 0)
        self.assertIn(b"another network namespace, where it is reached through a folder (WEFT_SOCKET_DIR, which was not set)",
                      result.stderr)

    def test_a_folder_that_is_none(self):
        result = run("-n", "1", CLIENT, "init", "finalize", env={**os.environ, "WEFT_SOCKET_DIR": self.folder + "/none"})
        self.assertNotEqual(result.returncode, 0)
        self.assertIn(f"WEFT_SOCKET_DIR={self.folder}/none: No such file or directory".encode(), result.stderr)

    def test_the_same_checks_as_at_the_other_socket(self):
        """A token is asked for there, too; and the folder's other files stay as they are."""
        other = pathlib.Path(self.folder, "weft-1-0123456789abcdef")
        other.write_text("a file of a name like a socket's")
        code = ("import glob, socket, struct, os\n"
                "path, = [f for f in glob.glob(os.environ['WEFT_SOCKET_DIR'] + '/weft-*') if not os.path.isfile(f)]\n"
                "assert os.environ['WEFT_SERVER_FILE'] == path, path\n"
                "s = socket.socket(socket.AF_UNIX); s.connect(path)\n"
                "s.sendall(struct.pack('<IHHQ', 0, 19, 0, 1))\n"  # a query, before a hello
                "assert s.recv(1) == b''\n")
        result = run("-n", "1", PYTHON, "-c", code, env=self.env)
        self.assertEqual((result.returncode, result.stderr.decode()), (0, ""))
        self.assertEqual(other.read_text(), "a file of a name like a socket's")
        other.unlink()

    def test_what_a_killed_server_has_left_goes_with_the_next(self):
        left = start("-n", "1", PYTHON, "-c", "import time; print('up', flush=True); time.sleep(600)", env=self.env,
                     start_new_session=True)
        left.stdout.readline()
        names = os.listdir(self.folder)
        self.assertEqual([stat.S_ISSOCK(os.stat(os.path.join(self.folder, name)).st_mode) for name in names], [True])
        left.kill()
        left.wait()
        for stream in (left.stdout, left.stderr):
            stream.close()
        self.assertEqual(os.listdir(self.folder), names)
        beside = socket.socket(socket.AF_UNIX)  # a server that lives
        path = os.path.join(self.folder, "weft-2-0123456789abcdef")
        beside.bind(path)
        beside.listen()
        self.check("-n", "2", "unshare", "-n", CLIENT)
        self.assertEqual(os.listdir(self.folder), [os.path.basename(path)])
        beside.close()
        os.unlink(path)


def can_make_namespaces():
    return subprocess.run(["unshare", "-n", "-p", "-f", "--mount-proc", "true"], capture_output=True, check=False).returncode == 0


if __name__ == "__main__":
    if not can_make_namespaces():
        print("skipped: needs the right to make network and process namespaces (root)")
        sys.exit(77)
    unittest.main()

# SPDX-License-Identifier: BSD-3-Clause
"""Credentials under weftrun: the servers' own tokens, and munge's where a daemon of munge runs.

The tests of munge start a daemon of their own (`munged`), and are skipped where there is none.
"""
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from weftrun_common import WATCHDOG, run, wait_until

CLIENT = os.environ["KNOWLEDGE_CLIENT"]
NODES = ((), ("--virtual-nodes", "2"))


def ask(*words, options=("-n", "1"), env=None):
    """The lines of a job that does so."""
    done = run(*options, CLIENT, *words, env=env)
    if done.returncode != 0:
        raise AssertionError(done.stderr.decode())
    return done.stdout.decode().splitlines()


class RunTokens(unittest.TestCase):
    def test_every_rank_validates_those_of_all_others(self):
        for nodes in NODES:
            ask("exchange_credentials", "weft", "weft", options=("-n", "4", *nodes))

    def test_another_run_refuses_it(self):
        for nodes in NODES:
            token, = ask("show_credential", "weft", options=("-n", "2", *nodes))
            self.assertRegex(token, r"^WEFT:[A-Za-z0-9+/=]+$")
            self.assertEqual(ask("check_credential", token, options=("-n", "1", *nodes)), ["PMIX_ERR_INVALID_CRED"])

    def test_bad_input(self):
        ask("misuse_credentials")

    def test_stands_in_where_there_is_no_munge(self):
        env = {**os.environ, "WEFT_MUNGE_SOCKET": "/nonexistent/socket"}
        self.assertRegex(ask("show_credential", env=env)[0], "^WEFT:")
        self.assertEqual(ask("show_credential", "munge", env=env), ["PMIX_ERR_NOT_SUPPORTED"])
        self.assertEqual(ask("check_credential", "MUNGE:AwQDAAB:", env=env), ["PMIX_ERR_NOT_SUPPORTED"])


@unittest.skipUnless(shutil.which("munged"), "there is no munged")
class Munge(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        folder = pathlib.Path(cls.folder.name)
        os.chmod(folder, 0o755)  # munged refuses a socket that other users cannot reach
        (folder / "key").write_bytes(os.urandom(128))
        (folder / "key").chmod(0o600)
        socket = folder / "socket"
        cls.daemon = subprocess.Popen(["munged", "--foreground", "--force", f"--socket={socket}", f"--key-file={folder}/key",
                                       f"--pid-file={folder}/pid", f"--seed-file={folder}/seed", f"--log-file={folder}/log"],
                                      stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_until(socket.exists, "munged listens")
        cls.env = {**os.environ, "WEFT_MUNGE_SOCKET": str(socket)}

    @classmethod
    def tearDownClass(cls):
        cls.daemon.terminate()
        cls.daemon.wait(timeout=WATCHDOG)
        cls.folder.cleanup()

    def test_is_what_a_rank_gets_first(self):
        for nodes in NODES:
            ask("exchange_credentials", "-", "munge", options=("-n", "4", *nodes), env=self.env)

    def test_names_the_user_in_every_run_and_the_process_in_its_own(self):
        credential, = ask("show_credential", env=self.env)
        self.assertRegex(credential, "^MUNGE:")
        for _ in range(2):  # it is not used up
            self.assertEqual(ask("check_credential", credential, env=self.env), ["PMIX_SUCCESS"])
        changed = credential[:40] + ("A" if credential[40] != "A" else "B") + credential[41:]
        self.assertEqual(ask("check_credential", changed, env=self.env), ["PMIX_ERR_INVALID_CRED"])

    def test_the_order_of_types_is_the_callers(self):
        self.assertRegex(ask("show_credential", "weft,munge", env=self.env)[0], "^WEFT:")


if __name__ == "__main__":
    unittest.main()

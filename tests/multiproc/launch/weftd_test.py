# SPDX-License-Identifier: BSD-3-Clause
"""weftd with start messages made by hand: what it refuses, in which words, and that it leaves nothing."""
import os
import subprocess
import unittest

from weftrun_common import WATCHDOG

WEFTD = os.environ["WEFTD"]
HOST = os.uname().nodename
RELEASE = subprocess.run([WEFTD, "--version"], capture_output=True, check=True, text=True).stdout.split()[1]


def message(release=RELEASE, host=HOST, kind="fork", audience="one", contact="00"):
    return (f"weft start 5 {release}\nnspace weft-by-hand\nservers 2 0\nlauncher 1 {HOST}\nkey {'ab' * 32}\n"
            f"transport \ncontact {contact}\nagent {kind} 0\nweftd {WEFTD}\naudience {audience}\n"
            f"node 0 {host}\nend\n")


def weftd(text, **variables):
    env = {**os.environ, **variables}
    return subprocess.run([WEFTD], input=text, capture_output=True, text=True, timeout=WATCHDOG, env=env)


class Start(unittest.TestCase):
    def refused(self, result, *texts):
        self.assertEqual((result.returncode, result.stdout), (125, ""), result.stderr)
        self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
        self.assertTrue(result.stderr.startswith(f"weftd: [{HOST}] "), result.stderr)
        for text in texts:
            self.assertIn(text, result.stderr)

    def test_another_release_names_both(self):
        self.refused(weftd(message(release="99.1")), "99.1", RELEASE)
        # Whatever else another release may write behind its first line.
        self.refused(weftd("weft start 77 99.1\nwhatever comes\nend\n"), "99.1", RELEASE)

    def test_a_wrong_host_names_both(self):
        result = weftd(message(host="another-one", kind="slurm", audience="all"), SLURMD_NODENAME="")
        self.refused(result, HOST, "another-one")

    def test_damaged_messages(self):
        text = message()
        self.refused(weftd(""), "0 bytes")
        self.refused(weftd(text[:len(text) // 2]), "ended before")
        self.refused(weftd("hello\n"), "no start message")
        self.refused(weftd("hello\nend\n"), "line 1", "weft start")
        self.refused(weftd(text.replace("servers 2", "servers two")), "line 3")

    def test_a_contact_that_is_none(self):
        result = weftd(message())
        self.assertEqual(result.returncode, 123, result.stderr)  # the launcher is not reached
        self.assertIn(f"weftd: [{HOST}] ", result.stderr)

    def test_words_of_its_own(self):
        self.assertIn("Usage: weftd", subprocess.run([WEFTD, "--help"], capture_output=True, text=True).stdout)
        wrong = subprocess.run([WEFTD, "--no-such"], capture_output=True, text=True)
        self.assertEqual(wrong.returncode, 2)
        self.assertIn("--no-such", wrong.stderr)


if __name__ == "__main__":
    unittest.main()

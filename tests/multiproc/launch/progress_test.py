# SPDX-License-Identifier: BSD-3-Clause
"""A start that takes long says on a terminal how far it is, and nothing in a pipe.

  python3 progress_test.py
"""
import os
import pty
import select
import subprocess
import tempfile
import time
import unittest

from weftrun_common import WATCHDOG, WEFTRUN, kill_quietly


class Progress(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.go = os.path.join(folder.name, "go")

    def start(self, errors):
        agent = os.path.join(os.path.dirname(self.go), "agent")
        with open(agent, "w", encoding="ascii") as script:
            script.write(f'while test $1 = 1 && ! test -e {self.go}; do sleep 0.05; done\nshift\nexec "$@"\n')
        words = [WEFTRUN, "--host", "no-such-host-0,no-such-host-1", "--agent", f"sh {agent} {{node}} {{command}}", "-n", "2", "true"]
        return subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors)

    def let_go(self):
        with open(self.go, "w", encoding="ascii"):
            pass

    def test_on_a_terminal(self):
        mine, theirs = pty.openpty()
        self.addCleanup(os.close, mine)
        job = self.start(theirs)
        self.addCleanup(kill_quietly, job)
        os.close(theirs)
        heard, end = b"", time.monotonic() + WATCHDOG
        while b"1 of 2 daemons have reported after" not in heard:
            self.assertLess(time.monotonic(), end, heard)
            if select.select([mine], [], [], 1)[0]:
                heard += os.read(mine, 65536)
        self.assertRegex(heard, rb"not yet: no-such-host-1")
        self.let_go()
        self.assertEqual(job.wait(WATCHDOG), 0)

    def test_in_a_pipe(self):
        job = self.start(subprocess.PIPE)
        self.addCleanup(kill_quietly, job)
        time.sleep(5)  # longer than a terminal would have waited for the first line
        self.let_go()
        self.assertEqual(job.communicate(timeout=WATCHDOG)[1], b"")
        self.assertEqual(job.returncode, 0)


if __name__ == "__main__":
    unittest.main()

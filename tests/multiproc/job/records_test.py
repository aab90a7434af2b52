# SPDX-License-Identifier: BSD-3-Clause
"""PMIx_Log under weftrun: the terminal, the syslog of the run's gateway, channels that are not there.

usage: records_test.py            the tests
       records_test.py --inside   what runs in a mount namespace with a syslog of the test's own
"""
import os
import re
import shutil
import socket
import subprocess
import sys
import unittest

from weftrun_common import WATCHDOG, run

CLIENT = os.environ["KNOWLEDGE_CLIENT"]
NODES = ((), ("--virtual-nodes", "2"))
# A folder /dev with nothing but what ranks need, so that a socket `log` there is this test's.
OWN_DEVICES = """
set -e
mount --make-rprivate /
mkdir -p "$1"
mount -t tmpfs none "$1"
for device in null zero random urandom; do : > "$1/$device"; mount --bind /dev/$device "$1/$device"; done
mkdir "$1/shm"
mount --bind /dev/shm "$1/shm"
mount --rbind "$1" /dev
shift
exec "$@"
"""


def log_inside():
    """One node and two; prints each record that the syslog gets."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    listener.bind("/dev/log")
    listener.setblocking(False)
    for nodes in NODES:
        done = run("-n", "2", *nodes, CLIENT, "log_to_gateway")
        print("status", done.returncode, *done.stdout.decode().split())
        while True:
            try:
                print("record", listener.recv(4096).decode())
            except BlockingIOError:
                break


class Records(unittest.TestCase):
    def test_reach_the_terminal_once(self):
        for nodes in NODES:
            done = run("-n", "2", *nodes, CLIENT, "log_to_terminal")
            self.assertEqual(done.returncode, 0)
            self.assertEqual((done.stdout, done.stderr), (b"a record for stdout\n", b"a record for stderr\n"))

    def test_bad_input(self):
        for nodes in NODES:
            done = run("-n", "2", *nodes, CLIENT, "misuse_records")
            self.assertEqual(done.returncode, 0, done.stderr.decode())

    @unittest.skipUnless(os.geteuid() == 0 and shutil.which("unshare"), "a mount namespace takes root")
    def test_reach_the_syslog_of_the_gateway_once(self):
        place = f"/tmp/devices.{os.getpid()}"
        try:
            done = subprocess.run(["unshare", "-m", "sh", "-c", OWN_DEVICES, "sh", place, sys.executable, __file__, "--inside"],
                                  capture_output=True, text=True, timeout=WATCHDOG, check=False)
        finally:
            if os.path.isdir(place):
                os.rmdir(place)
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = done.stdout.splitlines()
        # Of one node PMIX_LOG_SYSLOG is the caller's own record; of two it goes to the first.
        good = "status 0 PMIX_SUCCESS PMIX_SUCCESS PMIX_ERR_PARTIAL_SUCCESS"
        self.assertEqual([line for line in lines if line.startswith("status")], [good, good])
        records = [line for line in lines if line.startswith("record")]
        self.assertEqual(len(records), 6, records)
        for first in (records[0], records[3]):
            self.assertRegex(first, r"^record <11>.* \S+:1 on \S+: a global record$")
        for own in records[1:3]:
            self.assertRegex(own, r"^record <14>.*: a record$")
        for far in records[4:]:
            self.assertRegex(far, r"^record <14>.* \S+:1 on \S+: a record$")


if __name__ == "__main__":
    log_inside() if "--inside" in sys.argv else unittest.main()

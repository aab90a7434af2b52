# SPDX-License-Identifier: BSD-3-Clause
"""Two processes that measure each other, for real, over loopback: that figures come out, and what ends badly.

usage: pair_test.py PROGRAM TRANSPORT
"""
import json
import socket
import subprocess
import sys
import unittest

PROGRAM, TRANSPORT = sys.argv[1:3]
PATIENCE_S = 60
BYTES_OF_ALL = 64 << 20


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as found:
        return found.getsockname()[1]


class Pair(unittest.TestCase):
    def pair(self, *words):
        """Records of the client; both must end well."""
        at = f"127.0.0.1:{free_port()}"
        common = [PROGRAM, "--transport", TRANSPORT, "--at", at, "--limit", str(PATIENCE_S), *words]
        with subprocess.Popen([*common, "--serve"], text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT) as server:
            try:
                client = subprocess.run([*common, "--json", "--budget-ms", "5", "--commit", "abc"], text=True,
                                        capture_output=True, check=False, timeout=2 * PATIENCE_S)
                self.assertEqual(client.returncode, 0, client.stderr)
                out = server.communicate(timeout=PATIENCE_S)[0]
                self.assertEqual(server.returncode, 0, out)
            finally:
                server.kill()
        return [json.loads(text) for text in client.stdout.splitlines() if text.startswith('{"bench":')]

    def test_each_mode_gives_its_figures(self):
        for wait in ("poll", "sleep"):
            records = self.pair("--mode", "rtt,get,bandwidth", "--bytes", "8,1024", "--wait", wait)
            seen = [(*r["bench"].split("_")[-2:], r["bytes"]) for r in records]
            self.assertEqual(seen, [("rtt", wait, 8), ("rtt", wait, 1024), ("get", wait, 8), ("get", wait, 1024),
                                    ("bandwidth", wait, BYTES_OF_ALL)])
            for record in records:
                self.assertEqual((record["library"], record["commit"], record["ranks"]), (TRANSPORT, "abc", 2))
                self.assertGreater(record["min_ns"], 1e6 if record["bytes"] == BYTES_OF_ALL else 1e3)
                self.assertLessEqual(record["min_ns"], record["median_ns"])
                self.assertLessEqual(record["median_ns"], record["max_ns"])

    def test_first_contact_is_made_several_times(self):
        record, = self.pair("--mode", "connect")
        self.assertGreaterEqual(record["runs"], 5)

    def test_bad_command_lines(self):
        for words in (["--mode", "rtt,connect"], ["--mode", "put"], ["--bytes", "0"], ["--wait", "nap"], ["--no"]):
            done = subprocess.run([PROGRAM, *words], text=True, capture_output=True, check=False, timeout=PATIENCE_S)
            self.assertEqual((done.returncode, done.stdout), (2, ""), words)

    def test_a_transport_that_is_not_there_is_named(self):
        done = subprocess.run([PROGRAM, "--serve", "--transport", "nowhere"], text=True, capture_output=True,
                              check=False, timeout=PATIENCE_S)
        self.assertEqual(done.returncode, 1)
        self.assertNotEqual(done.stderr, "")

    def test_a_server_that_no_client_reaches_ends_itself(self):
        alone = [PROGRAM, "--serve", "--transport", TRANSPORT, "--at", f"127.0.0.1:{free_port()}", "--limit", "3"]
        done = subprocess.run(alone, capture_output=True, check=False, timeout=PATIENCE_S)
        self.assertEqual(done.returncode, -14)  # SIGALRM


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])

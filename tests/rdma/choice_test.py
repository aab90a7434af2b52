# SPDX-License-Identifier: BSD-3-Clause
"""What a user may ask of a card that it cannot do: one line that says so, before anything is started."""
import os
import subprocess
import unittest

from rdma_common import CARD, LONGEST, has_card
from weftrun_common import CLIENT, WEFTRUN

CALLS = ["init", "put:300", "commit", "fence", "get:0", "get:1", "collect", "finalize"]


def weftrun(*words, env=(), before=()):
    return subprocess.run([*before, WEFTRUN, "--virtual-nodes", "2", "-n", "2", *words], capture_output=True, stdin=subprocess.DEVNULL,
                          timeout=LONGEST, check=False, env={**os.environ, **dict(env)})


class Refused(unittest.TestCase):
    def check(self, transport, text, env=()):
        ended = weftrun(CLIENT, "say:started", env={"WEFT_TRANSPORT": transport, **dict(env)})
        self.assertEqual((ended.returncode, ended.stdout), (125, b""), ended)
        lines = [line for line in ended.stderr.decode().splitlines() if line.startswith("weft: ")]
        self.assertEqual(len(lines), 1, ended)
        self.assertIn(text, lines[0])

    def test_reliable_connections_alone(self):
        for transports in ("rc_verbs", "rc_verbs,self", "rc_verbs,tcp,self"):
            self.check("ucx:" + transports, f"'{transports}' has reliable connections (rc) and nothing that sets them up")
            self.check("ucx", f"'{transports}' has reliable connections (rc) and nothing that sets them up", {"UCX_TLS": transports})

    def test_queues_that_are_too_long(self):
        self.check("ofi", "fi_enable fails over verbs;ofi_rxm", {"FI_UNIVERSE_SIZE": "1000"})

    def test_a_device_that_is_not_there(self):
        self.check("ofi", "WEFT_NET=mlx5_7 matches none of", {"WEFT_NET": "mlx5_7"})
        self.check("ucx:^tcp", "WEFT_NET=mlx5_7 matches none of", {"WEFT_NET": "mlx5_7"})


class OneOfTwoCards(unittest.TestCase):
    """A second card; WEFT_NET names the one that is used."""

    def setUp(self):
        for words in (("ip", "link", "add", "v2", "mtu", "4200", "type", "veth", "peer", "name", "v3", "mtu", "4200"), ("ip", "link", "set", "v3", "up"),
                      ("ip", "link", "set", "v2", "up"), ("ip", "addr", "add", "10.98.0.1/24", "dev", "v2"),
                      ("rdma", "link", "add", "rxe1", "type", "rxe", "netdev", "v2")):
            subprocess.run(words, check=True)
        self.addCleanup(subprocess.run, ["ip", "link", "delete", "v2"], check=True)
        self.addCleanup(subprocess.run, ["rdma", "link", "delete", "rxe1"], check=True)

    def test_by_its_name(self):
        for transport in ("ofi", "ucx:^tcp"):
            for card in (CARD, "rxe1"):
                ended = weftrun(CLIENT, *CALLS, env={"WEFT_TRANSPORT": transport, "WEFT_NET": card, "WEFT_LOG": "info:transport"})
                self.assertEqual(ended.returncode, 0, ended)
                line = next(line for line in ended.stderr.decode().splitlines() if "other nodes are reached by" in line)
                self.assertIn(card, line)
                self.assertNotIn("rxe1" if card == CARD else CARD, line)


class LittleLockedMemory(unittest.TestCase):
    """A user without privileges, with so many KiB that may be locked."""

    def run_with(self, kib, transport):
        subprocess.run(["chmod", "666", *(f"/dev/infiniband/{name}" for name in os.listdir("/dev/infiniband"))], check=True)
        return weftrun(CLIENT, *CALLS, env={"WEFT_TRANSPORT": transport, "HOME": "/tmp", "TMPDIR": "/tmp"},
                       before=("prlimit", f"--memlock={1024 * kib}", "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all"))

    def test_the_usual_eight_mib_are_enough_for_ofi(self):
        ended = self.run_with(8192, "ofi")
        self.assertEqual(ended.returncode, 0, ended)

    def test_with_sixty_four_kib_the_reason_is_said(self):
        for transport in ("ofi", "ucx:^tcp"):
            ended = self.run_with(64, transport)
            self.assertEqual(ended.returncode, 125, ended)
            self.assertIn("ulimit -l", ended.stderr.decode())


if __name__ == "__main__":
    if not has_card():
        raise SystemExit(f"there is no {CARD} here: scripts/rdma_lab run ...")
    unittest.main(verbosity=2)

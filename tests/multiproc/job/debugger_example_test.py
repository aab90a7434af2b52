# SPDX-License-Identifier: BSD-3-Clause
"""examples/debugger.c, of programs of PMIx and, where MPI_PROGRAM names one, of MPI."""
import os
import re
import subprocess
import unittest

from weftrun_common import WATCHDOG, finish, kill_quietly, server_of_ranks, start

DEBUGGER, CLIENT = os.environ["EXAMPLE_DEBUGGER"], os.environ["DEBUG_CLIENT"]
# tests/mpi/hello.c, which takes the numbers of ranks, in all and on a node.
MPI_PROGRAM = os.environ.get("MPI_PROGRAM")
SHAPES = ((1, ()), (2, ("--virtual-nodes", "2:2")))


class Debugger(unittest.TestCase):
    def debug(self, option, nodes, shape):
        program = [MPI_PROGRAM, "4", str(4 // nodes)] if MPI_PROGRAM else [CLIENT, "init", "say:on", "finalize"]
        job = start(*shape, "--oversubscribe", option, "-n", "4", *program)
        try:
            line = job.stderr.readline().decode()
            self.assertIn("for a debugger", line)
            nspace = re.search(r"ranks of (\S+)", line).group(1)
            debugger = subprocess.run([DEBUGGER, str(server_of_ranks(job)), nspace], capture_output=True, timeout=WATCHDOG, check=False)
            self.assertEqual((debugger.returncode, debugger.stderr), (0, b""))
            status, out, err = finish(job)
        finally:
            kill_quietly(job)
        self.assertEqual(status, 0, err.decode())
        table = debugger.stdout.decode().splitlines()
        self.assertEqual((table[0], table[-1]), (f"4 processes of {nspace}", "released"))
        ranks = [re.fullmatch(r"rank (\d): pid (\d+), (\S+) on (\S+), .*", line).groups() for line in table[1:-1]]
        self.assertEqual([rank for rank, *_ in ranks], ["0", "1", "2", "3"])
        lines = [line for line in out.decode().splitlines() if line.startswith("daemon ")]
        seen = [re.fullmatch(r"daemon (\d): rank (\d) is pid (\d+), state (\w), (\S+) on (\S+)", line).groups() for line in lines]
        self.assertEqual(sorted((rank, pid, program, host) for _, rank, pid, _, program, host in seen), sorted(ranks))
        self.assertEqual(len({daemon for daemon, *_ in seen}), nodes)
        self.assertEqual({state for _, _, _, state, _, _ in seen} - set("DRST" if option == "--stop-in-init" else "T"), set())

    def test_it_sees_all_processes_and_lets_them_go_on(self):
        for nodes, shape in SHAPES:
            for option in ("--stop-in-init", "--stop-on-exec"):
                with self.subTest(nodes=nodes, option=option):
                    self.debug(option, nodes, shape)


if __name__ == "__main__":
    unittest.main(verbosity=2)

# SPDX-License-Identifier: BSD-3-Clause
"""Where ranks go on machines that are not here: --dry-run over topologies that lstopo has saved
(topologies/)."""
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

from weftrun_common import WATCHDOG, WEFTRUN

TOPOLOGIES = pathlib.Path(__file__).resolve().parent / "topologies"
# 2 sockets of 8 cores with an L3 cache each; the threads of core c are processors c and c+16.
TWO_SOCKETS = "two_sockets.xml"
# 2 sockets of 2 NUMA nodes, each with 2 L3 caches of 4 cores of one thread.
FOUR_NUMA = "four_numa.xml"
# 2 sockets of 6 cores of one thread; a virtual machine that tells of no caches.
NO_THREADS = "no_threads.xml"
# The first machine, of which a cgroup allows cores 4-7 of the first socket and cores 4-5 of the second.
CGROUP = "cgroup.xml"


def dry(machine, *args):
    result = subprocess.run([WEFTRUN, "--dry-run", *args, "true"], capture_output=True, text=True, timeout=WATCHDOG,
                            env={**os.environ, "WEFT_TOPOLOGY": str(TOPOLOGIES / machine)}, stdin=subprocess.DEVNULL,
                            check=False)
    return result


class SavedMachines(unittest.TestCase):
    def places(self, machine, *args):
        """What the ranks are bound to, in their order: (label, processors)."""
        result = dry(machine, *args)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        found = {int(rank): (label, processors) for rank, label, processors in
                 re.findall(r"rank (\d+) \(true\): slot \d+, (.*?)(?: \(processors ([\d,-]+)\))?$", result.stdout, re.M)}
        return [found[rank] for rank in range(len(found))]

    def processors(self, machine, *args):
        return [processors for _, processors in self.places(machine, *args)]

    def refused(self, text, machine, *args):
        result = dry(machine, *args)
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        self.assertIn(text, result.stderr)

    def with_file(self, text, check):
        with tempfile.NamedTemporaryFile("w") as file:
            file.write(text)
            file.flush()
            check(file.name)

    def test_slots_are_the_cores_of_the_described_machine(self):
        for machine, cores in ((TWO_SOCKETS, 16), (FOUR_NUMA, 32), (NO_THREADS, 12), (CGROUP, 6)):
            self.assertEqual(len(self.places(machine)), cores, machine)

    def test_cores_for_each_rank(self):
        self.assertEqual(self.processors(TWO_SOCKETS, "-n", "3", "--map-by", "slot:pe=4"),
                         ["0-3,16-19", "4-7,20-23", "8-11,24-27"])
        self.assertEqual(self.processors(TWO_SOCKETS, "-n", "3", "--map-by", "socket:pe=2"),
                         ["0-1,16-17", "8-9,24-25", "2-3,18-19"])
        self.assertEqual(self.processors(TWO_SOCKETS, "-n", "2", "--map-by", "slot:pe=2", "--bind-to", "hwthread"),
                         ["0,16", "1,17"])
        self.assertEqual(self.processors(FOUR_NUMA, "-n", "4", "--cpus-per-rank", "3", "--map-by", "numa"),
                         ["0-2", "8-10", "16-18", "24-26"])
        self.assertEqual(self.places(FOUR_NUMA, "-n", "2", "--map-by", "l3cache:pe=4"),
                         [("cores 0-3", "0-3"), ("cores 4-7", "4-7")])
        # One rank for each 4 cores, where -n does not say how many.
        self.assertEqual(len(self.places(FOUR_NUMA, "--cpus-per-rank", "4")), 8)
        self.assertEqual(self.processors(CGROUP, "--cpus-per-rank", "2"), ["4-5,20-21", "6-7,22-23", "12-13,28-29"])

    def test_a_rank_does_not_straddle_numa_nodes_where_it_need_not(self):
        self.assertEqual(self.processors(NO_THREADS, "-n", "2", "--map-by", "slot:pe=4"), ["0-3", "6-9"])
        self.assertEqual(self.processors(NO_THREADS, "-n", "3", "--map-by", "slot:pe=4"), ["0-3", "4-7", "8-11"])
        self.assertEqual(self.processors(FOUR_NUMA, "-n", "2", "--map-by", "slot:pe=12"), ["0-11", "16-27"])

    def test_too_many_cores_for_each_rank(self):
        self.refused("5 ranks of 3 cores each are to run on 'a', which has 12: room for 4", NO_THREADS,
                     "-n", "5", "--host", "a:5", "--cpus-per-rank", "3")
        self.refused("which has 6: room for 0", CGROUP, "-n", "1", "--map-by", "slot:pe=7")
        self.refused("32, dealt by numa: room for 0", FOUR_NUMA, "-n", "1", "--map-by", "numa:pe=9")
        self.assertEqual(self.processors(CGROUP, "-n", "4", "--cpus-per-rank", "2", "--oversubscribe")[3], "4-5,20-21")

    def test_caches(self):
        self.assertEqual(self.places(TWO_SOCKETS, "-n", "2", "--bind-to", "l3cache"),
                         [("L3 cache 0", "0-7,16-23"), ("L3 cache 1", "8-15,24-31")])
        self.assertEqual(self.places(TWO_SOCKETS, "-n", "2", "--bind-to", "l2cache"),
                         [("L2 cache 0", "0,16"), ("L2 cache 1", "1,17")])
        self.assertEqual(self.processors(FOUR_NUMA, "-n", "9", "--bind-to", "l3cache")[-2:], ["28-31", "0-3"])
        self.assertEqual(self.processors(FOUR_NUMA, "-n", "3", "--bind-to", "core", "--map-by", "l3cache"), ["0", "4", "8"])
        self.assertEqual(self.processors(CGROUP, "-n", "2", "--bind-to", "l3cache"), ["4-7,20-23", "12-13,28-29"])
        self.refused("tells of no L3 caches; use numa, socket or core", NO_THREADS, "-n", "2", "--bind-to", "l3cache")
        self.refused("tells of no L2 caches", NO_THREADS, "-n", "2", "--map-by", "l2cache", "--bind-to", "core")

    def test_processor_lists(self):
        self.assertEqual(self.processors(TWO_SOCKETS, "--cpu-list", "2-3,18,8", "--bind-to", "core", "-n", "3"),
                         ["2,18", "3", "8"])
        self.assertEqual(self.processors(FOUR_NUMA, "--cpu-set", "4-11"), [str(core) for core in range(4, 12)])
        self.assertEqual(self.processors(NO_THREADS, "--cpu-list", "4-9", "--cpus-per-rank", "2"), ["4-5", "6-7", "8-9"])
        self.refused("processors 30-32 of each node are not there, or weftrun may not use them; it may use 4-7,12-13,20-23,28-29",
                     CGROUP, "--cpu-list", "4,30-32")
        self.refused("processor 12 of each node is not there", NO_THREADS, "--cpu-list", "11-12", "-n", "1")

    def test_rank_files(self):
        lines = "rank 2=a slot=1:0\nrank 0=b slot=0-1\nrank 1=a slot=0:*\n"

        def check(name):
            self.assertEqual(self.places(TWO_SOCKETS, "--rankfile", name),
                             [("cores 0-1", "0-1,16-17"), ("cores 0-7", "0-7,16-23"), ("core 8", "8,24")])
            self.assertEqual(self.processors(FOUR_NUMA, "-rf", name, "-n", "3"), ["0-1", "0-15", "16"])
            self.assertEqual(self.processors(NO_THREADS, "--rankfile", name, "--host", "a,b"), ["0-1", "0-5", "6"])
            # The cores of a socket that the cgroup allows.
            self.assertEqual(self.processors(CGROUP, "--rankfile", name), ["4-5,20-21", "4-7,20-23", "12,28"])
            text = dry(TWO_SOCKETS, "--rankfile", name, "--explain").stdout
            self.assertIn(f"ranks: --rankfile {name}", text)
            self.assertIn("node 0 'b', 1 slot, a daemon: rank 0\n", text)
            self.assertIn("bind-to core: as the rank file says", text)
            self.refused(f"--rankfile {name} has no line for rank 3", TWO_SOCKETS, "--rankfile", name, "-n", "4")
            self.refused("line 2: host 'b' is none of the 1 node", TWO_SOCKETS, "--rankfile", name, "--host", "a:4")

        self.with_file(lines, check)
        self.with_file("rank 0=a slot=12\n", lambda name: self.refused(
            "rank 0 is to have core 12 of 'a', which has 12 that weftrun may use: 0-11", NO_THREADS, "--rankfile", name))
        self.with_file("rank 0=a slot=1:2\n", lambda name: self.refused(
            "rank 0 is to have core 2 of socket 1 of 'a', which has 2", CGROUP, "--rankfile", name))
        self.with_file("rank 0=a slot=0\nrank 0=a slot=1\n", lambda name: self.refused(
            f"--rankfile {name}, line 2: rank 0 has a place already, in line 1", FOUR_NUMA, "--rankfile", name))

    def test_what_was_there_before(self):
        self.assertEqual(self.processors(TWO_SOCKETS, "-n", "4", "--bind-to", "core", "--map-by", "socket"),
                         ["0,16", "8,24", "1,17", "9,25"])
        self.assertEqual(self.places(FOUR_NUMA, "-n", "5", "--bind-to", "numa")[3:],
                         [("NUMA node 3", "24-31"), ("NUMA node 0", "0-7")])
        self.assertEqual(self.processors(NO_THREADS, "--host", "a:4"), ["0-2", "3-5", "6-8", "9-11"])
        self.assertEqual(self.places(NO_THREADS, "-n", "2"), [("not bound", "")] * 2)


if __name__ == "__main__":
    unittest.main()

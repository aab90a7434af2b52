#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Debian's mpirun on this library, two ranks on each of four pretend hosts.

Exit status 77: skipped, hosts cannot be made here; the reason is printed.
"""
import os

import mpirun_common
from comparison.launchers import OpenMpi
from foreign_common import main, on_hosts

SET = f"mr{os.getpid()}h"
HOSTS = 4


class FourHosts(mpirun_common.MpirunJobs):
    ranks, hosts = 2 * HOSTS, HOSTS
    inside = None
    slots = None  # of each host; None: as many as it has ranks

    def command(self, ranks, options):
        words = OpenMpi(self.inside, mpirun_common.MPIRUN).command(HOSTS, self.slots or ranks // HOSTS)
        words[-1] = ranks
        return self.inside.on(0, *words, "-x", "LD_LIBRARY_PATH", "-x", "WEFT_TEST_LIBRARY", *options)

    def test_16_ranks(self):
        self.runs("hello", ranks=16)

    def test_spawn(self):
        """A parent on each host, all children on the first: on different hosts mpirun starts two as rank 1.
        It has slots for all jobs of the test at a time, as mpirun hears late of the end of one."""
        self.slots = 16
        self.runs("spawn", ranks=HOSTS, options=("--map-by", "node"))


def run(inside):
    FourHosts.inside = inside
    main()


if __name__ == "__main__":
    on_hosts(SET, HOSTS, run)

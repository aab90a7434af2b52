#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Debian's mpirun on this library, on one node."""
import foreign_common
import mpirun_common


class OneNode(mpirun_common.MpirunJobs):
    def command(self, ranks, options):
        return [mpirun_common.MPIRUN, "--oversubscribe", "-n", ranks, *options]

    def test_spawn(self):
        self.runs("spawn")

    def test_16_ranks(self):
        self.runs("ring", ranks=16)

    def test_64_ranks(self):
        self.runs("hello", ranks=64)


if __name__ == "__main__":
    foreign_common.main()

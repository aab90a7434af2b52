#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Debian's Slurm starts programs by its plugin mpi/pmix on this library, with each of its collectives.

Exit status 77: skipped, hosts cannot be made here or there is no Slurm; the reason is printed.
"""
import pathlib

import slurm_common
from comparison.launchers import Slurm

# What Open MPI sends at the first fence of MPI_Init: all cards, or none, and each is fetched when it is first
# used.
LAZY = {"OMPI_MCA_pmix_base_collect_data": "0"}
ASYNC = {**LAZY, "OMPI_MCA_pmix_base_async_modex": "1"}


class PluginJobs(slurm_common.SlurmJobs):
    hosts, ranks = 4, 8

    def command(self, ranks, options):
        return self.inside.on(0, *Slurm(self.inside, "srun").command(self.hosts, ranks // self.hosts), *options)


def by(kind, direct):
    return (f"PMIxCollFence={kind}", f"PMIxDirectConn={direct}", "PMIxFenceBarrier=true")


class Ring(PluginJobs):
    """One of the plugin's collectives, whose messages go directly between nodes or by way of Slurm's daemons.

    By `tree`, with any library, the plugin lets a node go before all have entered the fence; by `mixed` where
    no data travels. MPI programs need more than that (docs/known_limits.md), and run by `ring` below.
    """

    mpi = by("ring", "true")  # by way of Slurm's daemons the plugin takes the tree instead, and says so

    def test_fences_that_follow_each_other(self):
        """No rank leaves before all are through: a node that is early would take the plugin's messages with
        it."""
        over = pathlib.Path(self.cluster.folder) / "over"
        words, last = [], self.ranks - 1
        for size in (3000, 10, 200_000):
            words += ["fence", f"only:{last}", f"put:{size}", "commit", "all", "collect", "fence", f"get:{last}"]
        job = self.start_steps(*words, "say:through", f"until:{over}")
        said = job.lines(self.ranks)
        over.touch()
        self.assertEqual((job.end().status, said), (0, ["through"] * self.ranks), str(job))


class Tree(Ring):
    mpi = by("tree", "true")


class TreeThroughSlurm(Ring):
    mpi = by("tree", "false")


class Mixed(Ring):
    mpi = by("mixed", "true")


class MixedThroughSlurm(Ring):
    mpi = by("mixed", "false")


class FourNodes(PluginJobs):
    def test_full_modex(self):
        self.runs("hello")

    def test_lazy_modex(self):
        self.env.update(LAZY)
        self.runs("hello")

    def test_lazy_modex_without_waiting(self):
        self.env.update(ASYNC)
        self.runs("hello")


class OneNode(PluginJobs):
    hosts, ranks = 1, 4

    def test_collectives(self):
        self.runs("collectives")

    def test_lazy_modex(self):
        self.env.update(LAZY)
        self.runs("ring")

    def test_fences_of_some(self):
        self.fences_of_some()

    def test_abort(self):
        self.ends_with(7, "abort")

    def test_killed_rank(self):
        self.ends_with(137, "killed")


class TwoNodes(PluginJobs):
    hosts, ranks = 2, 4

    def test_collectives(self):
        self.env.update(LAZY)
        self.runs("collectives")

    def test_mpi4py(self):
        self.runs("collectives.py")

    def test_standard_input(self):
        self.standard_input(options=["--input=0"])

    def test_card_after_a_fence_without_data(self):
        self.card_after_a_fence_without_data()

    def test_abort(self):
        self.ends_with(7, "abort")

    def test_killed_rank(self):
        self.ends_with(137, "killed")


if __name__ == "__main__":
    slurm_common.main()

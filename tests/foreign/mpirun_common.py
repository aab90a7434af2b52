# SPDX-License-Identifier: BSD-3-Clause
"""What Debian's mpirun has to do on this library, wherever it starts ranks."""
import pathlib

from foreign_common import LIBRARY, Jobs

MPIRUN = "mpirun.openmpi"  # `mpirun` may be that of another MPI
# What travels at the first fence of MPI_Init: all cards; none, and each is fetched when it is first used; the
# same without waiting for the others.
LAZY = ("--mca", "pmix_base_collect_data", "0")
MODEXES = {"full": (), "lazy": LAZY, "lazy and async": (*LAZY, "--mca", "pmix_base_async_modex", "1")}


class MpirunJobs(Jobs):
    def setUp(self):
        super().setUp()
        self.env["LD_LIBRARY_PATH"] = str(pathlib.Path(LIBRARY).parent)

    def test_hello(self):
        for modex, options in MODEXES.items():
            with self.subTest(modex=modex):
                self.runs("hello", options=options)

    def test_ring(self):
        self.runs("ring", options=MODEXES["lazy and async"])

    def test_collectives(self):
        self.runs("collectives", options=MODEXES["lazy"])

    def test_mpi4py(self):
        self.runs("collectives.py")

    def test_names_and_ports(self):
        self.runs("names")

    def test_abort(self):
        self.ends_with(7, "abort")

    def test_killed_rank(self):
        self.ends_with(137, "killed")

    def test_standard_input(self):
        self.standard_input()

    def test_card_after_a_fence_without_data(self):
        self.card_after_a_fence_without_data()

    def test_fences_of_some(self):
        self.fences_of_some()

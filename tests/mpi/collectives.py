# SPDX-License-Identifier: BSD-3-Clause
"""mpi4py: pickled objects and buffers through collectives. Argument: the number of ranks that must be
there."""
import sys
from array import array

sys.dont_write_bytecode = True
from library import check_library
from mpi4py import MPI

world = MPI.COMM_WORLD
rank, size = world.Get_rank(), world.Get_size()


def check(condition, what):
    if not condition:
        print(f"collectives.py: rank {rank} of {size}: {what}", file=sys.stderr, flush=True)
        world.Abort(1)


check(size == int(sys.argv[1]), f"MPI sees {size} ranks instead of {sys.argv[1]}: singletons?")
check_library(world, check)
card = {"rank": rank, "name": MPI.Get_processor_name(), "text": "x" * (1000 * rank)}
cards = world.allgather(card)
check([c["rank"] for c in cards] == list(range(size)), "allgather mixed the ranks up")
check([len(c["text"]) for c in cards] == [1000 * r for r in range(size)], "allgather cut an object")
check(world.bcast(cards if rank == 0 else None, root=0) == cards, "bcast changed the cards")
check(world.scatter([r * r for r in range(size)] if rank == 0 else None) == rank * rank, "scatter")
check(world.alltoall([(rank, r) for r in range(size)]) == [(r, rank) for r in range(size)], "alltoall")
check(world.reduce(rank + 1, op=MPI.PROD if size < 10 else MPI.SUM, root=size - 1) is not None or rank != size - 1,
      "reduce")

mine, total = array("d", [rank, 1.0, -rank]), array("d", [0.0] * 3)
world.Allreduce(mine, total, op=MPI.SUM)
ranks = size * (size - 1) / 2
check(list(total) == [ranks, size, -ranks], f"Allreduce gave {list(total)}")

request = world.Ibarrier()
half = world.Split(color=rank % 2, key=rank)
check(half.allreduce(rank) == sum(range(rank % 2, size, 2)), "allreduce in a half")
request.Wait()
half.Free()
world.Barrier()
if rank == 0:
    print(f"ok collectives.py {size}", flush=True)

# SPDX-License-Identifier: BSD-3-Clause
"""mpi4py: one-sided and shared-memory windows. Arguments: the number of ranks that must be there, and on each
node."""
import struct
import sys
from array import array

from mpi4py import MPI

world = MPI.COMM_WORLD
rank, size = world.Get_rank(), world.Get_size()


def check(condition, what):
    if not condition:
        print(f"onesided.py: rank {rank} of {size}: {what}", file=sys.stderr, flush=True)
        world.Abort(1)


check(size == int(sys.argv[1]), f"MPI sees {size} ranks instead of {sys.argv[1]}: singletons?")

# Every rank writes its number into every rank's window.
window = MPI.Win.Allocate(8 * size, 8, comm=world)
mine = array("q", [rank + 100])  # must live until the fence
window.Fence()
for target in range(size):
    window.Put(mine, target, target=(rank, 1, MPI.INT64_T))
window.Fence()
check(list(struct.unpack(f"{size}q", window.tomemory())) == [r + 100 for r in range(size)], "Put under a fence")
world.Barrier()  # no rank counts before all have looked

# A counter at rank 0 under locks.
before = array("q", [-1])
for _ in range(10):
    window.Lock(0, MPI.LOCK_SHARED)
    window.Fetch_and_op([array("q", [1]), MPI.INT64_T], [before, MPI.INT64_T], 0, 0, MPI.SUM)
    window.Unlock(0)
world.Barrier()
count = array("q", [-1])
window.Lock(0, MPI.LOCK_SHARED)
window.Get([count, MPI.INT64_T], 0)
window.Unlock(0)
check(count[0] == 100 + 10 * size, f"the counter is {count[0]}")
world.Barrier()
window.Free()

node = world.Split_type(MPI.COMM_TYPE_SHARED)
local_size = int(sys.argv[2])
check(node.Get_size() == local_size, f"{node.Get_size()} ranks share the node instead of {local_size}")
first = rank - node.Get_rank()
shared = MPI.Win.Allocate_shared(8, 8, comm=node)
shared.Lock_all()
shared.tomemory()[:] = struct.pack("q", rank * rank)
shared.Sync()
node.Barrier()
shared.Sync()
for other in range(local_size):
    memory, _ = shared.Shared_query(other)
    check(struct.unpack("q", bytes(memory)[:8])[0] == (first + other) ** 2, f"local rank {other}'s shared memory")
shared.Unlock_all()
shared.Free()
world.Barrier()
if rank == 0:
    print(f"ok onesided.py {size}", flush=True)

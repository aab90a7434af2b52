# SPDX-License-Identifier: BSD-3-Clause
"""library.h for the programs in Python."""
import os


def has_library(process, wanted):
    """True if each libpmix that the process has mapped is the file `wanted`, and there is at least one."""
    with open(f"/proc/{process}/maps", encoding="utf-8") as maps:
        files = {line.split(maxsplit=5)[5].strip() for line in maps if "/libpmix.so" in line}
    return bool(files) and all(os.path.samefile(f"/proc/{process}/root{file}", wanted) for file in files)


def check_library(world, check):
    """Where WEFT_TEST_LIBRARY names a file, each rank and its server (the parent) must have that file as
    their libpmix."""
    wanted = os.environ.get("WEFT_TEST_LIBRARY")
    if wanted is None:
        return
    for process in (os.getpid(), os.getppid()):
        check(has_library(process, wanted), f"process {process} has another libpmix than {wanted}")
    world.Barrier()
    if world.Get_rank() == 0:
        print(f"libpmix of {world.Get_size()} ranks: {wanted}", flush=True)

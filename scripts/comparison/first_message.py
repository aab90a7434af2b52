#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What Open MPI's MPI_Init and first messages cost under weftrun on virtual nodes, by the exchange of
business cards that it is told: all cards before MPI_Init ends, all in the background, or none but what is
asked for. Launches take turns.

usage: scripts/comparison/first_message.py [--build DIR] [--launches N] [--nodes 2,4,8] [--ranks N]

Prints the median of each time, of the slowest rank, and the sums of the library's calls over all ranks: each
PMIx_Get of a peer's key is told apart by whether MPI_Init was over. Exit status: 0; 1 = a launch failed.
"""
import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
LIMIT_S = 120
# pmix_base_async_modex, pmix_base_collect_data
MODES = {"all cards before": ("0", "1"), "all in the background": ("1", "1"), "on demand": ("1", "0")}
TIMES = ("MPI_Init", "first to one", "second", "first to all", "again")
CALLS = ("own", "job", "peers in Init", "peers after", "fences")
OPEN_MPI = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_btl_tcp_if_include": "lo"}


def launched(build, program, nodes, ranks, mode):
    """Numbers of one launch: times in ns, then calls."""
    is_async, collects = MODES[mode]
    environment = {**os.environ, **OPEN_MPI, "OMPI_MCA_pmix_base_async_modex": is_async, "OMPI_MCA_pmix_base_collect_data": collects}
    command = [build / "bin" / "weftrun", "--virtual-nodes", f"{nodes}:{ranks}", "-n", str(nodes * ranks), program]
    done = subprocess.run(command, env=environment, text=True, capture_output=True, check=False, timeout=LIMIT_S, stdin=subprocess.DEVNULL)
    lines = [line.split()[1:] for line in done.stdout.splitlines() if line.startswith("first_message ")]
    if done.returncode != 0 or len(lines) != 1 or len(lines[0]) != len(TIMES) + len(CALLS):
        sys.exit(f"first_message: {nodes} nodes, {mode}: status {done.returncode}: {done.stderr.strip()[-400:]}")
    return [int(word) for word in lines[0]]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "release")
    parser.add_argument("--launches", type=int, default=9, help="of each")
    parser.add_argument("--nodes", default="2,4,8", help="virtual nodes of the jobs")
    parser.add_argument("--ranks", type=int, default=2, help="of each node")
    options = parser.parse_args()
    sizes = [int(word) for word in options.nodes.split(",")]
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder, "first_message")
        subprocess.run(["mpicc.openmpi", "-O1", f"-I{ROOT / 'include'}", "-rdynamic", HERE / "mpi_first_message.c", "-o", program, "-ldl"], check=True)
        for _ in range(options.launches):
            for nodes in sizes:
                for mode in MODES:
                    found.setdefault((nodes, mode), []).append(launched(options.build.resolve(), program, nodes, options.ranks, mode))
    print("| nodes | cards | " + " | ".join(f"{name}, ms" for name in TIMES) + " | " + " | ".join(CALLS) + " |")
    print("|---" * (2 + len(TIMES) + len(CALLS)) + "|")
    for (nodes, mode), runs in found.items():
        middle = [statistics.median(column) for column in zip(*runs)]
        print(f"| {nodes} | {mode} | " + " | ".join(f"{value / 1e6:.3g}" for value in middle[:len(TIMES)]) + " | "
              + " | ".join(f"{value:g}" for value in middle[len(TIMES):]) + " |")


if __name__ == "__main__":
    main()

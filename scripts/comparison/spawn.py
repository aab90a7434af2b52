#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Spawn of 1 and of 4, from the call until parent and children have met: PMIx_Spawn and PMIx_Connect under
weftrun, and MPI_Comm_spawn and disconnect of Open MPI 4.1.4 (Debian 12) and 5.0.7 (Debian 13, after
scripts/debian13 --all) under weftrun and under their own mpirun. All take turns.

usage: scripts/comparison/spawn.py [--build DIR] [--launches N] [--spawns N]

Prints the median, the smallest and the greatest time of each, in ms, over all spawns of all launches.
"""
import argparse
import os
import pathlib
import signal
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
DEBIAN_13 = ROOT / "build" / "debian13"
LIMIT_S = 15
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_btl_tcp_if_include": "lo"}


def compiled(folder, build):
    """{name: path}; those of Open MPI 5 only where it is."""
    folder.mkdir(parents=True, exist_ok=True)
    library = build / "lib" / "libpmix.so.2"
    commands = {"pmix": ["cc", f"-I{ROOT / 'include'}", HERE / "pmix_spawn.c", library], "mpi4": ["mpicc", HERE / "mpi_spawn.c"]}
    if (DEBIAN_13 / "peer").exists():
        commands["mpi5"] = [DEBIAN_13 / "bin" / "mpicc", HERE / "mpi_spawn.c"]
    for name, words in commands.items():
        subprocess.run([*words, "-O1", "-o", folder / name], check=True)
    return {name: folder / name for name in commands}


def seconds(command, environment, spawns):
    """What a launch has printed; None: it failed, or was not over (mpirun of Open MPI 4.1.4 hangs now and
    then)."""
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                               start_new_session=True, env=environment)
    try:
        out, _ = process.communicate(timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return None
    got = [float(line) for line in out.split()]
    return got if process.returncode == 0 and len(got) == spawns else None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "release")
    parser.add_argument("--launches", type=int, default=9)
    parser.add_argument("--spawns", type=int, default=3, help="in one launch")
    options = parser.parse_args()
    build = options.build.resolve()
    programs = compiled(build / "spawn", build)
    slots = ["-H", "localhost:64", "-n", "1"]
    weftrun = [build / "bin" / "weftrun", *slots]
    of_5 = {"OPAL_PREFIX": str(DEBIAN_13 / "root" / "usr")}
    runs = {"PMIx, weftrun": (weftrun, "pmix", {}), "Open MPI 4, weftrun": (weftrun, "mpi4", {}),
            "Open MPI 4, mpirun": (["mpirun", *slots], "mpi4", {}), "Open MPI 5, weftrun": (weftrun, "mpi5", of_5),
            "Open MPI 5, mpirun": ([DEBIAN_13 / "bin" / "mpirun", "--bind-to", "none", *slots], "mpi5", {})}
    times = {}
    print(f"load at the start: {os.getloadavg()[0]:.2f}")
    for _ in range(options.launches):
        for count in (1, 4):
            for name, (launcher, program, environment) in runs.items():
                if program not in programs:
                    continue
                command = [*launcher, programs[program], str(count), str(options.spawns)]
                got = seconds(command, {**os.environ, **AS_ROOT, **environment}, options.spawns)
                if got is None:
                    print(f"{name} of {count}: failed or was not over after {LIMIT_S} s; left out", file=sys.stderr)
                times.setdefault((name, count), []).extend(got or [])
    print(f"load at the end: {os.getloadavg()[0]:.2f}\n\n| | of 1: median (least, most) | of 4 |\n|---|---|---|")
    for name in dict.fromkeys(name for name, _ in times):
        cells = [f"{1e3 * statistics.median(all_of):.1f} ({1e3 * min(all_of):.1f}, {1e3 * max(all_of):.1f})" if all_of else "-"
                 for all_of in (times[name, count] for count in (1, 4))]
        print(f"| {name} | {cells[0]} | {cells[1]} |")


if __name__ == "__main__":
    main()

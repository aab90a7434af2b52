# SPDX-License-Identifier: BSD-3-Clause
"""This library and Debian's under the same launchers, on pretend hosts."""
import subprocess
from pathlib import Path

from comparison.launchers import OpenMpi, Slurm
from comparison.node_targets import shape_of

# The path that Debian's Slurm plugin opens, and the folder of that library.
PLUGIN_LIBRARY = Path("/usr/lib/x86_64-linux-gnu/pmix2/lib/libpmix.so")
SIDES = ("weft", "debian")
# Bench of weftbench: what it may take at most, as a part of what it takes with Debian's library, and its
# bytes.
TARGETS = {
    ("barrier", 0): 1 / 2,
    ("full_fence", 256): 1 / 2,
    ("get_job_alone", 4): 1 / 20,
    ("get_peer_alone", 64): 1 / 20,
    ("get_job", 4): 1 / 100,
    ("get_peer", 64): 1 / 100,
    ("mpi_init_finalize", 0): 1,
}


class Mpirun:
    name = "mpirun"

    def __init__(self, inside, mpirun):
        self.inside, self.launcher = inside, OpenMpi(inside, mpirun)

    def command(self, side, libraries, job, words):
        hosts, ranks = shape_of(job)
        # Exported, and inherited by the daemons: the agent keeps the environment.
        return self.inside.on(0, "env", f"LD_LIBRARY_PATH={libraries[side].parent}", *self.launcher.command(hosts, ranks),
                              "-x", "LD_LIBRARY_PATH", *words)

    def rest(self):
        """Nothing was changed for the run."""


class Srun:
    name = "slurm"

    def __init__(self, inside, cluster):
        self.inside, self.cluster, self.launcher = inside, cluster, Slurm(inside, "srun")
        self.mounted = "debian"

    def command(self, side, libraries, job, words):
        hosts, ranks = shape_of(job)
        self.mount(side, libraries)
        return self.inside.on(0, "env", f"SLURM_CONF={self.cluster.environment['SLURM_CONF']}",
                              f"LD_LIBRARY_PATH={libraries[side].parent}", *self.launcher.command(hosts, ranks), *words)

    def rest(self):
        """After each run: mpirun's runs with Debian's library read that file, too."""
        self.mount("debian", {})

    def mount(self, side, libraries):
        """What the next step's slurmstepd finds on each host; the machine's own file is never touched."""
        if side == self.mounted:
            return
        at = PLUGIN_LIBRARY.resolve()
        words = ["mount", "--bind", libraries["weft"], at] if side == "weft" else ["umount", "--lazy", at]
        for i in range(len(self.inside.names)):
            subprocess.run(self.inside.on(i, *words), check=True)
        self.mounted = side


def init_times(text, ranks):
    """ns of the slowest MPI_Init and the slowest MPI_Finalize together; None if a rank has said nothing."""
    lines = [line.split() for line in text.splitlines() if line.startswith("mpi_init ")]
    if len(lines) != ranks:
        return None
    return max(int(words[1]) for words in lines) + max(int(words[2]) for words in lines)


def judged(results, launchers, jobs):
    """One row per launcher, job and target; `of_debian` is this library's part of Debian's figure."""
    rows = []
    for launcher in launchers:
        for job in jobs:
            for (bench, size), part in TARGETS.items():
                weft, debian = (results.median(f"{launcher}/{side}", bench, job, size) for side in SIDES)
                ratio = weft / debian if weft is not None and debian else None
                rows.append({"launcher": launcher, "job": job, "bench": bench, "weft": weft, "debian": debian,
                             "of_debian": ratio, "limit": part, "met": None if ratio is None else ratio <= part})
    return rows

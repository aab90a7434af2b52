# SPDX-License-Identifier: BSD-3-Clause
"""The command line with which each launcher starts a job on pretend hosts, and whether it can."""
import os
import shutil
import subprocess


class Weft:
    name = "weft"

    def __init__(self, inside, weftrun):
        self.inside, self.weftrun = inside, weftrun

    def command(self, hosts, ranks):
        return [self.weftrun, "--host", listed(self.inside, hosts, ranks), "--agent", self.inside.agent,
                "-n", hosts * ranks]


class OpenMpi:
    name = "mpirun"

    def __init__(self, inside, mpirun):
        self.inside, self.mpirun = inside, mpirun

    def command(self, hosts, ranks):
        return [self.mpirun, *(["--allow-run-as-root"] if os.geteuid() == 0 else []), "--host",
                listed(self.inside, hosts, ranks), "-mca", "plm_rsh_agent", self.inside.agent,
                "-mca", "oob_tcp_if_include", "eth0", "-mca", "btl_tcp_if_include", "eth0", "-n", hosts * ranks]


class Slurm:
    name = "slurm"

    def __init__(self, inside, srun):
        self.inside, self.srun = inside, srun

    def command(self, hosts, ranks):
        return [self.srun, "--mpi=pmix", "-N", hosts, "-w", ",".join(self.inside.names[:hosts]), "-m", "block",
                f"--ntasks-per-node={ranks}", "-n", hosts * ranks]


def listed(inside, hosts, ranks):
    return ",".join(f"{host}:{ranks}" for host in inside.names[:hosts])


def why_not(launcher, program, environment, limit_s=30):
    """None if a launch of one rank on each of two hosts works; else what it said."""
    command = [str(word) for word in (*launcher.command(2, 1), program)]
    if not shutil.which(command[0]):
        return f"there is no {command[0]}"
    try:
        done = subprocess.run(command, env=environment, text=True, capture_output=True, check=False, timeout=limit_s,
                              stdin=subprocess.DEVNULL, start_new_session=True)
    except subprocess.TimeoutExpired:
        return f"a launch of two ranks was not done within {limit_s} s"
    if done.returncode == 0:
        return None
    lines = [line for line in done.stderr.splitlines() if line.strip()] or ["nothing on standard error"]
    return f"exit status {done.returncode}: {lines[0].strip()}"

# SPDX-License-Identifier: BSD-3-Clause
"""Debian's Slurm on pretend hosts: a controller on the first, a slurmd and a munged on each, all as root.

The hosts have all files in common but what lies in `folder`/own, which is a file system of its own on each:
sockets, spools and the plugin's folders have the same names everywhere, as on machines of a cluster.
"""
import os
import shutil
import subprocess
import time

from comparison import pretend

PROGRAMS = {"slurmctld": "slurmctld", "slurmd": "slurmd", "srun": "slurm-client", "munged": "munge"}
START_LIMIT_S = 120  # only a failure takes so long
# More tasks a node than cores is what all sides do here, so a node says that it has many.
CPUS = 64
# A fence without data is no barrier unless it is asked to be one. Ring is the faster of its algorithms here.
MPI = ("PMIxFenceBarrier=true", "PMIxCollFence=ring", "PMIxDirectConn=true")

BUILTIN = ("SchedulerType=sched/builtin",)
# Heterogeneous jobs are its work alone.
BACKFILL = ("SchedulerType=sched/backfill", "SchedulerParameters=bf_interval=1")


def missing():
    """Why it cannot be used here, or None."""
    packages = [package for program, package in PROGRAMS.items() if not shutil.which(program)]
    return f"not installed (Debian: {' '.join(packages)} slurm-wlm-basic-plugins; --install)" if packages else None


def configuration(names, folder, mpi, scheduler):
    """File name to text. mpi: lines of mpi.conf; scheduler: of slurm.conf."""
    own = folder / "own"
    nodes = [f"NodeName={host} NodeHostname={host} NodeAddr={pretend.address(i)} CPUs={CPUS} Boards=1 "
             f"SocketsPerBoard=1 CoresPerSocket={CPUS} ThreadsPerCore=1 State=UNKNOWN" for i, host in enumerate(names)]
    slurm = [
        "ClusterName=pretend", f"SlurmctldHost={names[0]}({pretend.address(0)})", "SlurmUser=root", "SlurmdUser=root",
        "AuthType=auth/munge", f"AuthInfo=socket={own}/munge.socket", f"StateSaveLocation={own}/state",
        f"SlurmdSpoolDir={own}/spool", f"SlurmctldPidFile={own}/slurmctld.pid", f"SlurmdPidFile={own}/slurmd.pid",
        f"SlurmctldLogFile={own}/slurmctld.log", f"SlurmdLogFile={own}/slurmd.log",
        "ProctrackType=proctrack/linuxproc", "TaskPlugin=task/none", "JobAcctGatherType=jobacct_gather/none",
        "SelectType=select/cons_tres", "SelectTypeParameters=CR_CPU", "SlurmdParameters=config_overrides",
        *scheduler, "SwitchType=switch/none", "MpiDefault=pmix", "ReturnToService=2", "KillWait=30", "MessageTimeout=60",
        *nodes, "PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP"]
    texts = {"slurm.conf": slurm, "mpi.conf": [*mpi, f"PMIxCliTmpDirBase={own}"], "cgroup.conf": ["CgroupPlugin=cgroup/v1"]}
    return {name: "\n".join(lines) + "\n" for name, lines in texts.items()}


class Cluster:
    """Up from the constructor to end(). Failure: RuntimeError that says what did not start and where to
    look."""

    def __init__(self, inside, folder, mpi=MPI, scheduler=BUILTIN):
        self.inside, self.folder = inside, folder
        self.environment = {"SLURM_CONF": str(folder / "slurm.conf")}
        self.children = []
        (folder / "own").mkdir()
        key = folder / "munge.key"
        key.touch(mode=0o600)
        key.write_bytes(os.urandom(1024))
        for name, text in configuration(inside.names, folder, mpi, scheduler).items():
            (folder / name).write_text(text, encoding="utf-8")
        try:
            self.start()
        except BaseException:
            self.end()
            raise

    def start(self):
        own = self.folder / "own"
        for i in range(len(self.inside.names)):
            mount = f"mount -t tmpfs -o mode=755 tmpfs {own} && mkdir {own}/spool {own}/state"
            subprocess.run(self.inside.on(i, "sh", "-c", mount), check=True)
            self.daemon(i, "munged", "--foreground", "--force", f"--key-file={self.folder}/munge.key",
                        *(f"--{what}-file={own}/munged.{what}" for what in ("pid", "log", "seed")),
                        f"--socket={own}/munge.socket")
        self.wait_for("munged", lambda: all(
            subprocess.run(self.inside.on(i, "test", "-S", own / "munge.socket"), check=False).returncode == 0
            for i in range(len(self.inside.names))))
        self.daemon(0, "slurmctld", "-D")
        for i, host in enumerate(self.inside.names):
            self.daemon(i, "slurmd", "-D", "-N", host)
        self.wait_for("nodes that are idle", self.all_idle)

    def daemon(self, number, *command):
        self.children.append(subprocess.Popen(
            self.inside.on(number, *command), env={**os.environ, **self.environment}, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True))

    def all_idle(self):
        seen = subprocess.run(self.inside.on(0, "sinfo", "-h", "-N", "-o", "%T"), text=True, capture_output=True,
                              env={**os.environ, **self.environment}, check=False)
        return seen.stdout.split() == ["idle"] * len(self.inside.names)

    def wait_for(self, what, there):
        deadline = time.monotonic() + START_LIMIT_S
        while not there():
            if time.monotonic() > deadline:
                raise RuntimeError(f"no {what} within {START_LIMIT_S} s (logs were in {self.folder}/own of each host)")
            time.sleep(0.1)

    def end(self):
        for child in reversed(self.children):
            child.terminate()
        for child in self.children:
            try:
                child.wait(timeout=10)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()

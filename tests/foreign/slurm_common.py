# SPDX-License-Identifier: BSD-3-Clause
"""Jobs in a Slurm cluster on pretend hosts, whose plugin mpi/pmix finds this library where Debian's was."""
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import foreign_common
from foreign_common import LIBRARY, Jobs, on_hosts
from comparison import slurm
from comparison.libraries import PLUGIN_LIBRARY
from weftrun_common import wait_until

STARTS_PROCESSES = {Path(shutil.which("slurmstepd") or "slurmstepd").resolve().name, "weftd", "weftrun"}
CLUSTER_FILES = ("munge", "slurmctld.", "slurmd.", "spool", "state")
HOSTS = 4


class SlurmJobs(Jobs):
    """Classes below may say what mpi.conf says; each has a cluster of its own."""

    mpi, scheduler = slurm.MPI, slurm.BUILTIN
    inside = folder = cluster = None

    @classmethod
    def setUpClass(cls):
        folder = Path(tempfile.mkdtemp(dir=cls.folder))
        folder.chmod(0o755)
        cls.cluster = slurm.Cluster(cls.inside, folder, cls.mpi, cls.scheduler)
        cls.addClassCleanup(cls.cluster.end)

    @classmethod
    def on_each_host(cls, *command):
        """Its output on each host."""
        return [subprocess.run(cls.inside.on(i, *command), text=True, capture_output=True, check=False).stdout.split()
                for i in range(HOSTS)]

    @classmethod
    def left_in_own_folders(cls):
        """On each host, what is not of the cluster itself."""
        listed = cls.on_each_host("ls", cls.cluster.folder / "own")
        return [[name for name in names if not name.startswith(CLUSTER_FILES)] for names in listed]

    def setUp(self):
        super().setUp()
        self.env.update(self.cluster.environment)
        self.addCleanup(self.cancel_all)

    def cancel_all(self):
        """After a failure: the next test finds an empty cluster."""
        for job in self.answer("squeue", "-h", "-o", "%A").split():
            subprocess.run(self.inside.on(0, "scancel", job), env=self.env, check=False)
        wait_until(lambda: self.answer("squeue", "-h") == "", "the end of the jobs of a test that failed")

    def tearDown(self):
        super().tearDown()
        wait_until(lambda: self.answer("squeue", "-h") == "", "an empty queue")
        wait_until(lambda: not self.inside.left_behind(STARTS_PROCESSES), "the end of all that starts processes")
        self.assertEqual(self.on_each_host("ls", "/dev/shm"), [[]] * HOSTS)
        self.assertEqual(self.on_each_host("grep", "-c", "@weft", "/proc/net/unix"), [["0"]] * HOSTS)
        wait_until(lambda: self.left_in_own_folders() == [[]] * HOSTS, "the end of the plugin's own files")

    def answer(self, *command):
        """What one of Slurm's commands says."""
        return subprocess.run(self.inside.on(0, *command), env=self.env, text=True, capture_output=True, check=True).stdout


def main():
    """Runs these test cases on four hosts; skips where there is no Slurm or there are no hosts."""
    if why := slurm.missing():
        print(f"skipped: Slurm is {why}")
        sys.exit(77)
    if not PLUGIN_LIBRARY.exists():
        print(f"skipped: there is no {PLUGIN_LIBRARY}, which Debian's plugin mpi/pmix opens")
        sys.exit(77)

    def run(inside):
        SlurmJobs.inside, SlurmJobs.folder = inside, inside.agent.parent
        # Each host has mounts of its own: nothing is laid over the machine's library.
        for i in range(HOSTS):
            subprocess.run(inside.on(i, "mount", "--bind", LIBRARY, PLUGIN_LIBRARY.resolve()), check=True)
        foreign_common.main()

    on_hosts(f"sl{os.getpid()}h", HOSTS, run)

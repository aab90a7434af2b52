#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""weftrun in allocations of Debian's Slurm: which nodes and slots it takes, what it ends with, what it
leaves.

Exit status 77: skipped, hosts cannot be made here or there is no Slurm; the reason is printed.
"""
import pathlib
import signal

import slurm_common
from foreign_common import CLIENT, LIMIT_S, program
from weftrun_common import WEFTRUN, own_lines, wait_until

SHELL = "/bin/sh"


class Allocations(slurm_common.SlurmJobs):
    scheduler = slurm_common.slurm.BACKFILL

    def salloc(self, *words, nodes=2, tasks=4, options=()):
        """What runs in an allocation on the first nodes; not ended."""
        hosts = ",".join(self.inside.names[:nodes])
        return self.launch(self.inside.on(0, "salloc", "-w", hosts, "-N", nodes, "-n", tasks, *options, *words))

    def weftrun(self, *words, **more):
        return self.salloc(WEFTRUN, *words, **more).end()

    def test_takes_the_nodes_and_slots_of_the_allocation(self):
        done = self.weftrun(CLIENT, "init", "fence", "keys", "finalize", nodes=3, tasks=6, options=["--ntasks-per-node=2"])
        self.assertEqual(done.status, 0, str(done))
        lines = done.out.splitlines()
        for line, count in (("job_size=6", 6), ("num_nodes=3", 6), ("local_size=2", 6),
                            *((f"hostname={host}", 2) for host in self.inside.names[:3])):
            self.assertEqual(lines.count(line), count, f"{line}\n{done}")

    def test_takes_unequal_numbers_of_tasks(self):
        done = self.weftrun(CLIENT, "init", "fence", "keys", "finalize", nodes=2, tasks=5)
        self.assertEqual(done.status, 0, str(done))
        self.assertEqual(done.out.splitlines().count("job_size=5"), 5, str(done))

    def test_runs_an_mpi_program(self):
        self.env["WEFT_TEST_LIBRARY"] = slurm_common.LIBRARY
        done = self.weftrun(*program("hello"), 8, 2, nodes=4, tasks=8, options=["--ntasks-per-node=2"])
        self.assertEqual(done.status, 0, str(done))
        self.library_was_checked(done, 8)
        self.assertEqual(done.out.splitlines().count("ok hello 8"), 1, str(done))

    def test_ends_with_the_status_of_a_rank(self):
        done = self.weftrun(CLIENT, "init", "fence", "only:3", "exit:9", "all", "finalize")
        self.assertEqual(done.status, 9, str(done))
        killed = self.weftrun(CLIENT, "init", "fence", "only:3", "signal:9", "all", "wait")
        self.assertEqual(killed.status, 137, str(killed))
        self.assertIn("rank 3", "".join(own_lines(killed.err.encode())), str(killed))

    def test_has_a_time_limit_of_its_own(self):
        done = self.weftrun("--timeout", "2", CLIENT, "init", "fence", "wait")
        self.assertEqual(done.status, 124, str(done))

    def batch(self, *words, options=()):
        """Submits `weftrun WORDS` on two nodes; returns the job's id and the file of its output."""
        output = pathlib.Path(self.cluster.folder) / f"{self._testMethodName}.out"
        script = pathlib.Path(self.cluster.folder) / f"{self._testMethodName}.sh"
        script.write_text(f"#!{SHELL}\n{WEFTRUN} {' '.join(words)}\necho status $?\n", encoding="utf-8")
        return self.answer("sbatch", "--parsable", "-N2", "-n4", "-o", output, *options, script).strip(), output

    def has_said(self, output, count, line):
        return output.exists() and output.read_text(encoding="utf-8").splitlines().count(line) == count

    def state_of(self, job):
        return self.answer("scontrol", "-o", "show", "job", job).split("JobState=")[1].split()[0]

    def test_runs_in_a_batch_job(self):
        job, output = self.batch(CLIENT, "init", "fence", "say:there", "finalize")
        wait_until(lambda: self.state_of(job) == "COMPLETED", "the end of the batch job")
        said = [line for line in output.read_text(encoding="utf-8").splitlines() if not line.startswith("weft: ")]
        self.assertEqual(said, ["there"] * 4 + ["status 0"])

    def test_scancel_ends_all_of_it(self):
        job, output = self.batch(CLIENT, "init", "fence", "say:there", "wait")
        wait_until(lambda: self.has_said(output, 4, "there"), "all ranks")
        self.answer("scancel", job)
        wait_until(lambda: self.state_of(job) == "CANCELLED", "the end of the batch job")

    def test_the_time_limit_of_the_allocation_ends_all_of_it(self):
        job, output = self.batch(CLIENT, "init", "fence", "say:there", "wait")
        wait_until(lambda: self.has_said(output, 4, "there"), "all ranks")
        self.answer("scontrol", "update", f"JobId={job}", "EndTime=now+1")
        # Slurm looks at the time of its jobs every 30 seconds.
        wait_until(lambda: self.state_of(job) == "TIMEOUT", "the end of the allocation's time", LIMIT_S)

    def test_ends_with_its_allocation_in_the_foreground(self):
        job = self.salloc(WEFTRUN, CLIENT, "init", "fence", "say:there", "wait")
        self.assertEqual(sorted(job.lines(8)), ["there"] * 4 + ["waiting"] * 4)
        job.process.send_signal(signal.SIGTERM)
        self.assertNotEqual(job.end().status, 0, str(job))

    def test_refuses_a_heterogeneous_allocation(self):
        first, second = self.inside.names[:2]
        job = self.launch(self.inside.on(0, "salloc", "-w", first, "-n1", ":", "-w", second, "-n2", WEFTRUN, "/bin/true")).end()
        self.assertEqual(job.status, 2, str(job))
        self.assertIn("Slurm's allocation is heterogeneous", job.err, str(job))


if __name__ == "__main__":
    slurm_common.main()

# SPDX-License-Identifier: BSD-3-Clause
"""Where ranks would go: --dry-run, --explain, host lists, and what is wrong with them. Nothing is started."""
import os
import subprocess
import tempfile
import unittest

from weftrun_common import WATCHDOG, WEFTRUN, own_lines, run


class Plan(unittest.TestCase):
    def dry(self, *args, env=None, **options):
        """What a dry run prints; its program would leave a mark."""
        with tempfile.TemporaryDirectory() as directory:
            mark = os.path.join(directory, "mark")
            result = subprocess.run([WEFTRUN, "--dry-run", *args, "touch", mark], capture_output=True, text=True,
                                    timeout=WATCHDOG, env={**os.environ, **(env or {})}, stdin=subprocess.DEVNULL,
                                    **options)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual(result.stderr, "")
            self.assertFalse(os.path.exists(mark))
            return result.stdout

    def refused(self, text, *args, env=None):
        result = run(*args, "true", env={**os.environ, **(env or {})})
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertEqual(len(own_lines(result.stderr)), 1, result.stderr)
        self.assertEqual(result.stderr.count(b"\n"), 1, result.stderr)
        self.assertIn(text, result.stderr.decode())

    def test_a_dry_run_starts_nothing(self):
        self.assertIn("3 ranks on 1 node\n", self.dry("-n", "3"))
        # Nodes that do not exist are not looked for.
        text = self.dry("-n", "4", "--host", "no-such-node-a:2,no-such-node-b:2", "--explain")
        self.assertIn("node 1 'no-such-node-b', 2 slots, a daemon: ranks 2-3", text)
        self.assertIn("daemons: agent 'ssh", text)

    def test_explain_goes_to_standard_error_and_the_job_runs(self):
        result = run("--explain", "-n", "1", "echo", "done")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stdout, b"done\n")
        self.assertIn(b"no host list: this machine", result.stderr)

    def test_hostfile(self):
        with tempfile.NamedTemporaryFile("w", suffix=".hosts") as file:
            file.write("# ours\na slots=2\nb:1\n")
            file.flush()
            self.assertIn("node 1 'b', 1 slot, a daemon: rank 2", self.dry("--hostfile", file.name))
            file.write("c slots=many\n")
            file.flush()
            self.refused(f"--hostfile {file.name}, line 4: 'many' is not a number of slots", "--hostfile", file.name)
        self.refused("cannot be read", "--hostfile", "/no/such/file")

    def test_slurm(self):
        env = {"SLURM_JOB_ID": "7", "SLURM_JOB_NODELIST": "n[09-11]", "SLURM_TASKS_PER_NODE": "2(x2),1"}
        text = self.dry("--explain", env=env)
        self.assertIn("5 ranks on 3 nodes", text)
        self.assertIn("Slurm's allocation 7", text)
        self.assertIn("daemons: one srun", text)
        self.assertIn("node 2 'n11', 1 slot, a daemon: rank 4", text)
        # The command line goes before Slurm's allocation.
        self.assertIn("1 rank on 1 node", self.dry("--host", "n10", env=env))
        self.refused("the job has 6 ranks, but the 3 nodes have 5 slots", "-n", "6", env=env)

    def test_described_machine(self):
        text = self.dry("-n", "4", "--map-by", "socket", "--bind-to", "core", "--host", "a:4",
                        env={"WEFT_TOPOLOGY": "pack:2 core:2 pu:1"})
        self.assertIn("rank 1 (touch): slot 1, core 2 (processors 2)", text)

    def test_the_affinity_mask_is_kept(self):
        allowed = sorted(os.sched_getaffinity(0))[-1]
        text = self.dry("-n", "2", "--bind-to", "hwthread",
                        preexec_fn=lambda: os.sched_setaffinity(0, {allowed}))
        self.assertEqual(text.count(f"(processors {allowed})"), 2, text)

    def test_what_does_not_fit_is_refused(self):
        self.refused("the job has 5 ranks, but the 2 nodes have 4 slots", "-n", "5", "--host", "a:2,b:2")
        self.refused("ppr:3:node (-N) puts 3 ranks there", "-N", "3", "--host", "a:2")
        self.refused("'-oProxyCommand=x' is not the name of a host", "--host=-oProxyCommand=x")
        self.refused("run weftrun under salloc", "--agent", "slurm", "--host", "a", env={"SLURM_JOB_ID": ""})


if __name__ == "__main__":
    unittest.main()

# SPDX-License-Identifier: BSD-3-Clause
"""What users of mpirun, mpiexec and srun type, on real ranks."""
import os
import pathlib
import re
import tempfile
import unittest

from weftrun_common import WEFTRUN, own_lines, python, run

ALLOWED = sorted(os.sched_getaffinity(0))
AFFINITY = python("import os; print(','.join(map(str, sorted(os.sched_getaffinity(0)))))")
BOTH = ["sh", "-c", "echo one; echo two >&2; echo three"]
OPENMP = ("OMP_NUM_THREADS", "OMP_PLACES", "OMP_PROC_BIND", "GOMP_CPU_AFFINITY", "KMP_AFFINITY")


def plain_environment(**variables):
    return {**{name: value for name, value in os.environ.items() if name not in OPENMP}, **variables}


class Habits(unittest.TestCase):
    def lines(self, *args, **options):
        result = run(*args, **options)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout.decode().splitlines()

    def variables(self, *args, **options):
        return dict(line.split("=", 1) for line in self.lines(*args, "env", **options) if "=" in line)

    def refused(self, status, text, *args, **options):
        with tempfile.TemporaryDirectory() as folder:
            mark = os.path.join(folder, "mark")
            result = run(*args, "touch", mark, **options)
            self.assertEqual(result.returncode, status, result.stderr)
            self.assertEqual(len(own_lines(result.stderr)), 1, result.stderr)
            self.assertIn(text, result.stderr.decode())
            self.assertFalse(os.path.exists(mark))

    def test_cpus_per_rank_sets_what_openmp_reads(self):
        cores = 2 if len(ALLOWED) > 1 else 1
        made = self.variables("--cpus-per-rank", str(cores), "--bind-to", "hwthread", "-n", "1", env=plain_environment())
        self.assertEqual([made.get(name) for name in OPENMP], [str(cores), "threads", "close", None, None])
        made = self.variables("--cpus-per-rank", "1", "-n", "1", env=plain_environment())
        self.assertEqual([made.get(name) for name in OPENMP], ["1", "cores", "close", None, None])
        # mpirun's own way to say so many cores sets none of them.
        made = self.variables("--map-by", "slot:pe=1", "-n", "1", env=plain_environment())
        self.assertEqual([made.get(name) for name in OPENMP], [None] * 5)

    def test_what_the_user_has_set_for_openmp_stays(self):
        made = self.variables("--cpus-per-rank", "1", "-n", "1", "-x", "OMP_PLACES=sockets", env=plain_environment(OMP_NUM_THREADS="7"))
        self.assertEqual([made.get(name) for name in OPENMP], ["7", "sockets", None, None, None])
        made = self.variables("--cpus-per-rank", "1", "-n", "1", env=plain_environment(GOMP_CPU_AFFINITY="0"))
        self.assertEqual([made.get(name) for name in OPENMP], ["1", None, None, "0", None])
        # Threads of ranks that are not bound would all go to the same places.
        made = self.variables("--cpus-per-rank", "3", "--bind-to", "none", "-n", "1", env=plain_environment())
        self.assertEqual([made.get(name) for name in OPENMP], ["3", None, None, None, None])

    def test_more_cores_than_there_are(self):
        self.refused(2, f"which has {len(ALLOWED)}: room for 0", "-n", "1", "--bind-to", "hwthread",
                     "--cpus-per-rank", str(len(ALLOWED) + 1))

    def test_parameters_of_open_mpi(self):
        made = self.lines("--gmca", "all", "x", "--mca", "one", "y z", "-n", "1", "sh", "-c",
                          "echo a $OMPI_MCA_all $OMPI_MCA_one", ":", "-mca", "two", "w", "-n", "1", "sh", "-c",
                          "echo b $OMPI_MCA_all $OMPI_MCA_one $OMPI_MCA_two")
        self.assertEqual(sorted(made), ["a x y z", "b x w"])
        self.refused(2, "--mca plm_rsh_agent is for another launcher and means nothing here; write --agent COMMAND",
                     "--mca", "plm_rsh_agent", "rsh", "-n", "1")

    def test_path(self):
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder, "weft-test-program")
            program.write_text("#!/bin/sh\necho found\n")
            program.chmod(0o755)
            for nodes in ((), ("--virtual-nodes", "2")):
                self.assertEqual(self.lines(*nodes, "-n", "2", "-path", f"/no/such:{folder}", program.name), ["found"] * 2)
            self.assertEqual(run("-n", "1", program.name).returncode, 127)

    def test_programs_from_a_file(self):
        with tempfile.NamedTemporaryFile("w") as file:
            file.write("# two programs\n-n 2 -x A=1 sh -c 'echo first $A'\n\n-n 1 \\\n  echo second\n")
            file.flush()
            for option in ("--app", "-file", "--configfile"):
                self.assertEqual(sorted(self.lines("--tag-output", option, file.name)),
                                 ["[0] first 1", "[1] first 1", "[2] second"])
            self.assertEqual(len(self.lines("-n", "1", "--app", file.name, "echo", "before")), 4)
            file.write("--bogus true\n")
            file.flush()
            self.refused(2, f"--app {file.name}, line 6: there is no option '--bogus'", "-n", "1", "--app", file.name)

    def test_each_program_on_its_own_host(self):
        here = os.uname().nodename
        self.assertEqual(sorted(self.lines("--tag-output", "-n", "1", "-host", here, "echo", "a", ":", "-n", "2", "-host",
                                           "localhost:2", "echo", "b")), ["[0] a", "[1] b", "[2] b"])
        self.refused(2, "the job has 2 ranks, but node", "-n", "1", "-host", here, "true", ":", "-n", "2", "-host", here)

    def test_time_stamps(self):
        stamp = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3} "
        for nodes in ((), ("--virtual-nodes", "2")):
            for line in self.lines(*nodes, "-n", "2", "--timestamp-output", "echo", "done"):
                self.assertRegex(line, f"^{stamp}done$")
            for line in self.lines(*nodes, "-n", "2", "--timestamp-output", "--tag-output", "echo", "done"):
                self.assertRegex(line, rf"^{stamp}\[[01]\] done$")

    def test_merged_streams_keep_their_order(self):
        for nodes in ((), ("--virtual-nodes", "2")):
            result = run(*nodes, "-n", "2", "--tag-output", "--merge-stderr-to-stdout", *BOTH)
            self.assertEqual((result.returncode, result.stderr), (0, b""))
            for rank in (0, 1):
                own = [line for line in result.stdout.decode().splitlines() if line.startswith(f"[{rank}]")]
                self.assertEqual(own, [f"[{rank}] {word}" for word in ("one", "two", "three")])
        with tempfile.TemporaryDirectory() as folder:
            result = run("-n", "1", "--output-dir", folder, "--merge-stderr-to-stdout", "sh", "-c", "echo one; echo two >&2; exit 3")
            self.assertEqual(result.returncode, 3)
            self.assertEqual(pathlib.Path(folder, "rank.0.out").read_text(), "one\ntwo\n")
            self.assertIn("rank.0.out", result.stderr.decode())

    def test_display(self):
        result = run("--display", "map,allocation", "-n", "1", "echo", "done")
        self.assertEqual((result.returncode, result.stdout), (0, b"done\n"), result.stderr)
        said = result.stderr.decode()
        self.assertRegex(said, r"^1 node, \d+ slots?\n  '.*': \d+ slots?, this machine\n1 rank on 1 node\n")
        self.assertIn("rank 0 (echo): slot 0, not bound", said)
        result = run("--display", "bindings", "-n", "1", "true")
        self.assertRegex(result.stderr.decode(), "rank 0 on .*: not bound")

    def test_prefix_is_where_the_daemon_is(self):
        prefix = str(pathlib.Path(WEFTRUN).resolve().parents[1])
        self.assertEqual(self.lines("--prefix", prefix, "--virtual-nodes", "2", "-n", "2", "echo", "done"), ["done"] * 2)
        result = run("--prefix", "/no/such/place", "--virtual-nodes", "2", "-n", "2", "true")
        self.assertEqual(result.returncode, 125)
        self.assertIn("/no/such/place/bin/weftd", result.stderr.decode())

    def test_processor_list(self):
        last = str(ALLOWED[-1])
        for nodes in ((), ("--virtual-nodes", "2")):
            self.assertEqual(self.lines(*nodes, "--cpu-list", last, "-n", "2", *AFFINITY), [last] * 2)
        missing = ALLOWED[-1] + 1
        for nodes in ((), ("--virtual-nodes", "2")):
            self.refused(2, f"--cpu-list: processor {missing} of ", *nodes, "--cpu-set", f"{last},{missing}", "-n", "1")
        # One rank for each core of the list.
        self.assertEqual(len(self.lines("--cpu-list", last, "echo", "x")), 1)

    def test_rank_file(self):
        here = os.uname().nodename
        with tempfile.NamedTemporaryFile("w") as file:
            file.write(f"rank 1={here} slot=*\nrank 0=localhost slot=0\n")
            file.flush()
            made = dict(re.match(r"\[(\d)\] (.*)", line).groups()
                        for line in self.lines("--tag-output", "--rankfile", file.name, *AFFINITY))
            self.assertEqual(made["1"], ",".join(map(str, ALLOWED)))
            self.assertIn(int(made["0"].split(",")[0]), ALLOWED)
            result = run("--report-bindings", "--rankfile", file.name, "true")
            self.assertRegex(result.stderr.decode(), "rank 0 on .*: bound to core 0 .*; as the rank file says")
            file.write("rank 2=localhost slot=4000\n")
            file.flush()
            self.refused(2, "--rankfile: rank 2 is to have core 4000 of", "--rankfile", file.name)
        with tempfile.NamedTemporaryFile("w") as file:
            file.write("rank 0=+n1 slot=0\nrank 1=+n0\nrank 2=+n1\n")
            file.flush()
            made = self.lines("--tag-output", "--virtual-nodes", "2", "--rankfile", file.name, "sh", "-c", "echo $WEFT_NODE | sed 's/.*[.]//'")
            self.assertEqual(sorted(made), ["[0] 1", "[1] 0", "[2] 1"])

    def test_words_that_are_answered(self):
        for words, answer in ((("-c", "2"), "srun has one; write --cpus-per-rank N"),
                              (("--pmixmca", "a", "b"), "its settings are the variables of weft(7)"),
                              (("-genv", "A", "1"), "mpiexec has one; write -x NAME=VALUE"),
                              (("--nodes", "2"), "(-N N is N ranks on each node here)"),
                              (("--display-allocation",), "write --display allocation")):
            self.refused(2, answer, *words)
        self.refused(2, "srun's -N, a number of nodes, is another thing", "-N", "2", "-n", "8")


if __name__ == "__main__":
    unittest.main()

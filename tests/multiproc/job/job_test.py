# SPDX-License-Identifier: BSD-3-Clause
"""What the ranks get: their number, place, directory, environment, and the job's data over PMIx."""
import os
import pathlib
import shutil
import tempfile
import unittest

from weftrun_common import CLIENT, own_lines, python, run


def environment_without(*names):
    return {k: v for k, v in os.environ.items() if k not in names}


class Job(unittest.TestCase):
    def test_number_of_ranks(self):
        for n in (1, 2, 5, 16):
            result = run("-n", str(n), "sh", "-c", "echo $PMIX_RANK")
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual(sorted(int(r) for r in result.stdout.split()), list(range(n)))
            self.assertEqual(result.stderr, b"")

    def test_default_is_one_rank_a_core(self):
        result = run("echo", "x")
        self.assertGreaterEqual(result.stdout.count(b"x"), 1)
        self.assertLessEqual(result.stdout.count(b"x"), len(os.sched_getaffinity(0)))

    def test_several_programs(self):
        result = run("-n", "2", "-x", "V=a", "sh", "-c", "echo one $PMIX_RANK $V", ":",
                     "-n", "3", "--wdir", "/", "sh", "-c", "echo two $PMIX_RANK $V $PWD")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(sorted(result.stdout.decode().splitlines()),
                         ["one 0 a", "one 1 a", "two 2 /", "two 3 /", "two 4 /"])

    def test_each_program_has_its_own_variables_on_every_node(self):
        programs = ("-n", "4", "-x", "V=a", "-x", "V=b", "sh", "-c", "echo $PMIX_RANK $V-$W", ":",
                    "-n", "4", "-x", "V=", "-x", "W=c d", "sh", "-c", "echo $PMIX_RANK $V-$W", ":",
                    "-n", "2", "sh", "-c", "echo $PMIX_RANK $V-$W")
        wanted = [*(f"{rank} b-" for rank in range(4)), *(f"{rank} -c d" for rank in range(4, 8)), "8 inherited-",
                  "9 inherited-"]
        env = {**environment_without("W"), "V": "inherited"}
        for nodes in ((), ("--virtual-nodes", "3")):
            result = run(*nodes, *programs, env=env)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual(sorted(result.stdout.decode().splitlines()), wanted)
            self.assertEqual(result.stderr, b"")

    def test_the_runtimes_own_variables_are_above_those_of_the_user(self):
        """What a rank needs of weftrun it has, whatever -x says of it."""
        given = {"PMIX_RANK": "77", "OMPI_COMM_WORLD_RANK": "77", "WEFT_NODE": "77", "LD_LIBRARY_PATH": "/77",
                 "JSM_JSRUN_PORT": "77"}
        options = [word for name, value in given.items() for word in ("-x", f"{name}={value}")]
        for nodes in ((), ("--virtual-nodes", "2")):
            result = run(*nodes, "-n", "1", *options, "env")
            self.assertEqual(result.returncode, 0, result.stderr)
            found = dict(line.split("=", 1) for line in result.stdout.decode().splitlines())
            self.assertEqual(found["PMIX_RANK"], "0")
            self.assertEqual(found["OMPI_COMM_WORLD_RANK"], "0")
            self.assertIn("weft-", found["WEFT_NODE"])
            self.assertRegex(found["LD_LIBRARY_PATH"], "^(.+:)?/77$")
            self.assertEqual(found["JSM_JSRUN_PORT"], "77")

    def test_nothing_of_weftruns_own_environment_is_harvested(self):
        """weftrun sets UCX_LOG_FILE for itself; its ranks get their environment as it was before."""
        env = {**environment_without("UCX_LOG_FILE"), "PMIX_MCA_forward_envars": "UCX_*"}
        for nodes in ((), ("--virtual-nodes", "2")):
            result = run(*nodes, "-n", "2", "-x", "A=1", "env", env=env)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertNotIn("UCX_LOG_FILE", result.stdout.decode())
            self.assertEqual(result.stdout.count(b"PMIX_MCA_forward_envars=UCX_*\n"), 2)

    def test_variables(self):
        env = {**environment_without("WEFT_TEST_A"), "WEFT_TEST_B": "there", "PMIX_RANK": "77",
               "PMIX_NAMESPACE": "old",
               "OMPI_COMM_WORLD_RANK": "9"}
        result = run("-n", "1", "-x", "WEFT_TEST_A=a b=c", "-x", "WEFT_TEST_B", "env", env=env)
        lines = result.stdout.decode().splitlines()
        self.assertIn("WEFT_TEST_A=a b=c", lines)
        self.assertIn("WEFT_TEST_B=there", lines)
        self.assertIn("PMIX_RANK=0", lines)
        self.assertIn("OMPI_COMM_WORLD_RANK=0", lines)
        self.assertIn("JSM_JSRUN_PORT=0", lines)
        names = [line.split("=")[0] for line in lines]
        self.assertEqual(names.count("PMIX_NAMESPACE"), 1)
        self.assertNotIn("PMIX_NAMESPACE=old", lines)

    def test_process_sets(self):
        programs = ("-n", "2", "--pset", "ocean", CLIENT, "init", "sets", "finalize", ":",
                    "-n", "3", "--pset", "ice", CLIENT, "init", "sets", "finalize", ":",
                    "-n", "1", CLIENT, "init", "sets", "finalize", ":",
                    "-n", "1", "--pset", "ocean", CLIENT, "init", "sets", "finalize")
        own = ["ocean", "ocean", "ice", "ice", "ice", "PMIX_ERR_NOT_FOUND", "ocean"]
        wanted = [f"{rank} ice,ocean {mine} 2,3,4 0,1,6" for rank, mine in enumerate(own)]
        for nodes in ((), ("--virtual-nodes", "4")):
            for transport in ("ofi", "ucx") if nodes else ("",):
                env = {**os.environ, "WEFT_TRANSPORT": transport} if transport else None
                result = run(*nodes, *programs, env=env)
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertEqual(sorted(result.stdout.decode().splitlines()), wanted)
        result = run("-n", "1", CLIENT, "init", "sets", "finalize")
        self.assertEqual(result.stdout.decode().splitlines(), ["0  PMIX_ERR_NOT_FOUND"])

    def test_unset_variable_is_told(self):
        result = run("-n", "1", "-x", "WEFT_TEST_NONE", "true", env=environment_without("WEFT_TEST_NONE"))
        self.assertEqual(result.returncode, 0)
        self.assertIn("WEFT_TEST_NONE is not set here", result.stderr.decode())
        result = run("--virtual-nodes", "3", "-n", "3", "-x", "WEFT_TEST_NONE", "true",
                     env=environment_without("WEFT_TEST_NONE"))
        self.assertEqual(result.stderr.decode().count("WEFT_TEST_NONE is not set here"), 1, "once, not once a node")

    def test_working_directory(self):
        with tempfile.TemporaryDirectory() as directory:
            shutil.copy("/bin/pwd", os.path.join(directory, "where"))
            result = run("-n", "2", "--wdir", directory, "./where")
            self.assertEqual(result.stdout.decode().splitlines(), [os.path.realpath(directory)] * 2,
                             result.stderr)

    def test_pwd_names_the_working_directory(self):
        shows = python("import os; print(os.environ['PWD'], os.path.samefile(os.environ['PWD'], '.'))")
        with tempfile.TemporaryDirectory() as directory:
            directory = os.path.realpath(directory)
            inner, link = os.path.join(directory, "inner"), os.path.join(directory, "link")
            os.mkdir(inner)
            os.symlink(inner, link)
            for given, named in ((inner, inner), (link, link), ("inner/", inner), ("inner/../link", inner), (".", directory)):
                for nodes in ([], ["--virtual-nodes", "2"]):
                    result = run(*nodes, "-n", "2", "--wdir", given, *shows, cwd=directory)
                    self.assertEqual(result.stdout.decode().splitlines(), [named + " True"] * 2, result.stderr)

    @unittest.skipIf(os.getuid() != 0, "only root can become another user")
    def test_a_rank_that_has_become_another_user_is_told_so(self):
        code = f"import os; os.setgroups([]); os.setgid(54321); os.setuid(54321); os.execv({CLIENT!r}, ['client', 'init'])"
        result = run("-n", "1", *python(code))
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("the server is user 0's and takes no process of user 54321", result.stderr.decode())

    def test_path_of_the_ranks_is_searched(self):
        with tempfile.TemporaryDirectory() as directory:
            shutil.copy("/bin/echo", os.path.join(directory, "weft-test-echo"))
            result = run("-n", "1", "-x", "PATH=" + directory, "weft-test-echo", "found")
            self.assertEqual(result.stdout, b"found\n", result.stderr)

    def test_nothing_is_inherited_but_the_streams(self):
        read_end, write_end = os.pipe()
        os.set_inheritable(write_end, False)
        result = run("-n", "2", *python("import os; print(sorted(os.listdir('/proc/self/fd')))"))
        os.close(read_end)
        os.close(write_end)
        for line in result.stdout.decode().splitlines():
            self.assertEqual(line, "['0', '1', '2', '3']")  # 3: the listing itself

    def test_binding(self):
        result = run("-n", "2", "--bind-to", "core", "--report-bindings",
                     *python("import os; print(os.environ['PMIX_RANK'], sorted(os.sched_getaffinity(0)))"))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(len(own_lines(result.stderr)), 2)
        for line in result.stdout.decode().splitlines():
            rank, processors = line.split(" ", 1)
            self.assertTrue(set(eval(processors)) <= os.sched_getaffinity(0))
            self.assertIn(f"rank {rank} on", "".join(own_lines(result.stderr)))
        free = run("-n", "2", "--bind-to", "none", "--report-bindings",
                   *python("import os; print(sorted(os.sched_getaffinity(0)))"))
        for line in free.stdout.decode().splitlines():
            self.assertEqual(set(eval(line)), os.sched_getaffinity(0))
        self.assertEqual(free.stderr.count(b"not bound"), 2)

    def test_bound_by_default_only_where_all_slots_are_used(self):
        """So a threaded rank, and another run on the machine, is not held on the cores of the first ranks."""
        mine = os.sched_getaffinity(0)
        shows = python("import os; print(sorted(os.sched_getaffinity(0)))")
        for nodes in ([], ["--virtual-nodes", "1:99"], ["--host", "localhost:99"]):
            runs = [run(*nodes, "-n", "1", "--report-bindings", *shows) for _ in range(2)]
            for result in runs:
                self.assertEqual(set(eval(result.stdout)), mine, result.stderr)
                self.assertIn(b"not bound; ", result.stderr)
        if len(mine) < 2:
            self.skipTest("one processor has no parts")
        for nodes in (["--host", "localhost:2"], ["--virtual-nodes", "2:1"], ["--virtual-nodes", "1:2"]):
            result = run(*nodes, "-n", "2", "--report-bindings", *shows)
            parts = [set(eval(line)) for line in result.stdout.decode().splitlines()]
            self.assertEqual(parts[0] | parts[1], mine, result.stderr)
            self.assertFalse(parts[0] & parts[1], result.stderr)
            self.assertEqual(result.stderr.count(b"fill the slots: equal parts"), 2, result.stderr)

    def test_own_affinity_mask_is_respected(self):
        one = min(os.sched_getaffinity(0))
        before = os.sched_getaffinity(0)
        os.sched_setaffinity(0, {one})
        try:
            for bind in ("core", "numa", "none"):
                result = run("-n", "2", "--bind-to", bind,
                             *python("import os; print(sorted(os.sched_getaffinity(0)))"))
                self.assertEqual(result.stdout, b"[%d]\n" % one * 2, result.stderr)
        finally:
            os.sched_setaffinity(0, before)

    def test_verbose_tells_every_variable_and_how_many_ranks_connected(self):
        result = run("--verbose", "-n", "2", CLIENT, "init", "finalize")
        self.assertEqual(result.returncode, 0, result.stderr)
        told = result.stderr.decode()
        self.assertIn("JSM_JSRUN_PORT=0", told)
        self.assertIn("PMIX_NAMESPACE=weft-", told)
        self.assertNotIn("WEFT_TOKEN", told)
        self.assertIn("2 of 2 ranks connected", told)
        self.assertIn("0 of 3 ranks connected", run("-v", "-n", "3", "true").stderr.decode())

    def keys(self, *args):
        """Runs the client's `keys` as several ranks; returns one dictionary a rank."""
        ranks = {}
        result = run(*args)
        self.assertEqual(result.returncode, 0, result.stderr)
        with_tags = [line.split("] ", 1) for line in result.stdout.decode().splitlines()]
        for tag, text in with_tags:
            name, value = text.split("=", 1)
            ranks.setdefault(int(tag[1:]), {})[name] = value
        return ranks

    def test_a_lost_library_is_told(self):
        """Ranks that have loaded another libpmix than weftrun's, for LD_LIBRARY_PATH was lost on the way to
        them."""
        with tempfile.TemporaryDirectory() as prefix:
            for folder in ("bin", "lib"):
                os.mkdir(os.path.join(prefix, folder))
            other = os.path.realpath(os.path.join(prefix, "lib", "libpmix.so.2"))
            open(other, "w").close()
            # A module or conda has put its programs on PATH.
            env = {**os.environ, "PATH": os.path.join(prefix, "bin") + ":" + os.environ["PATH"]}
            loses = f"LD_LIBRARY_PATH=; cat {other}; false && {CLIENT}"
            for nodes in ([], ["--virtual-nodes", "2"]):
                for end, status in ((f"{loses}; exit 0", 0), (f"{loses}; exit 3", 3)):
                    result = run(*nodes, "-n", "2", "sh", "-c", end, env=env)
                    self.assertEqual(result.returncode, status, result.stderr)
                    last = own_lines(result.stderr)[-1]
                    self.assertIn("none of the 2 ranks reached weftrun's PMIx library", last)
                    self.assertIn(f"another one, {other}, was opened", last)
                    self.assertIn(f"from weftrun to {CLIENT}", last)
                    self.assertIn("first on LD_LIBRARY_PATH", last)
            # One rank of two, while the other waits.
            result = run("-n", "1", CLIENT, "init", "wait", ":", "-n", "1", "sh", "-c", f"{loses}; exit 3", env=env)
            self.assertEqual(result.returncode, 3, result.stderr)
            said = result.stderr.decode()
            self.assertRegex(said, "(rank 1 did not reach|none of the 2 ranks reached) weftrun's PMIx library")
            # Nothing of it where ranks do reach the library, where no other was opened, and where nothing
            # would use one.
            for words in (("sh", "-c", f"cat {other}; exec {CLIENT} init finalize"),
                          ("sh", "-c", f"false && {CLIENT}; exit 3"),
                          ("sh", "-c", f"cat {other}; exit 3")):
                result = run("-n", "1", *words, env=env)
                self.assertNotIn("reach", result.stderr.decode())

    def test_job_data(self):
        program = [CLIENT, "init", "keys", "finalize"]
        ranks = self.keys("--tag-output", "-n", "3", *program, ":", "-n", "2", *program)
        self.assertEqual(sorted(ranks), [0, 1, 2, 3, 4])
        for rank, keys in ranks.items():
            self.assertEqual(keys["rank"], str(rank))
            for name in ("job_size", "max_procs", "univ_size", "local_size"):
                self.assertEqual(keys[name], "5", name)
            self.assertEqual(keys["num_nodes"], "1")
            self.assertEqual(keys["num_apps"], "2")
            self.assertEqual(keys["local_peers"], "0,1,2,3,4")
            for name in ("local_rank", "node_rank", "global_rank"):
                self.assertEqual(keys[name], str(rank), name)
            second = rank >= 3
            self.assertEqual(keys["appnum"], "1" if second else "0")
            self.assertEqual(keys["app_leader"], "3" if second else "0")
            self.assertEqual(keys["app_rank"], str(rank - 3 if second else rank))
            self.assertEqual(keys["nodeid"], "0")
            self.assertEqual(keys["hostname"], os.uname().nodename)
            self.assertFalse(set("[]*;") & set(keys["nspace"]))

    def test_job_data_of_bound_ranks(self):
        ranks = self.keys("--tag-output", "-n", "2", "--bind-to", "core", CLIENT, "init", "keys", "finalize")
        self.assertEqual({keys["bindto"] for keys in ranks.values()}, {"core"})

    def test_every_rank_has_a_locality(self):
        """One that is not bound is as near to others as all that the node may use."""
        for nodes in ([], ["--virtual-nodes", "2"]):
            for bind in (["--bind-to", "none"], ["--bind-to", "core"], []):
                ranks = self.keys(*nodes, *bind, "--tag-output", "-n", "5", CLIENT, "init", "localities:5", "finalize")
                for rank, keys in ranks.items():
                    self.assertRegex(keys["locality"], "^hwloc:")
                    shared = [keys[f"with_{other}"] for other in range(5)]
                    self.assertEqual(shared[rank], "node,core")
                    self.assertTrue(all(text.startswith("node") for text in shared), shared)
                    if bind != ["--bind-to", "core"]:
                        self.assertEqual(set(shared), {"node,core"})

    def test_localities_of_ranks_that_are_not_bound_are_made_when_one_comes(self):
        """No topology is loaded for programs without PMIx, and a rank has its node's localities from
        PMIx_Init on."""
        free = ("--bind-to", "none")
        nodes = pathlib.Path("/sys/devices/system/node/online")
        # For the memory of several NUMA nodes the library needs that file.
        if not nodes.exists() or nodes.read_text().strip() == "0":
            result = run(*free, "-n", "2", "sh", "-c", "grep -c weft/topology.so /proc/$PPID/maps || true")
            self.assertEqual(result.stdout.split(), [b"0", b"0"], result.stderr)
        ranks = self.keys("--tag-output", *free, "-n", "2", CLIENT, "init", "near_locality:0", "near_locality:1", "finalize")
        for keys in ranks.values():
            self.assertRegex(keys["near_0"], "^hwloc:")
            self.assertEqual(keys["near_0"], keys["near_1"])
        # The locality of a rank on a node where no process ever comes to the server.
        ranks = self.keys("--tag-output", "--virtual-nodes", "2:1", *free, "-n", "1", CLIENT, "init", "localities:2", "finalize",
                          ":", "-n", "1", "true")
        self.assertEqual(ranks[0]["with_1"], "node,core")

    def test_ranks_keep_the_plugins_of_hwloc(self):
        """What weftrun leaves out for itself, its ranks may need."""
        for bind in ("none", "core"):
            result = run("--bind-to", bind, "-n", "1", "sh", "-c", "echo ${HWLOC_PLUGINS_PATH-unset}")
            self.assertEqual(result.stdout, b"unset\n", result.stderr)


if __name__ == "__main__":
    unittest.main()

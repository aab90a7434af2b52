# SPDX-License-Identifier: BSD-3-Clause
"""What the tests under launchers that are not ours share: a launch, what it must have said, what it must not
have left.

ctest sets WEFT_TEST_LIBRARY (the libpmix that servers and ranks must have), MPI_PROGRAMS and FOREIGN_PROGRAMS
(folders of programs), MPI_PYTHON, and what weftrun_common needs.
"""
import os
import pathlib
import select
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import uuid

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "multiproc" / "harness"), str(ROOT / "scripts")]
from comparison import pretend
from weftrun_common import CLIENT, hosts, wait_until, with_variable

LIBRARY = os.environ["WEFT_TEST_LIBRARY"]
LIMIT_S = 200  # only a hang takes so long, also where 64 ranks that spin share two busy cores
PYTHON_SCRIPTS = ROOT / "tests" / "mpi"


def program(name):
    """The words that start an MPI program: one in Python by its file name, another by the name of its
    source."""
    if name.endswith(".py"):
        return [os.environ["MPI_PYTHON"], "-m", "mpi4py", PYTHON_SCRIPTS / name]
    for folder, prefix in ((os.environ["MPI_PROGRAMS"], "mpi_"), (os.environ["FOREIGN_PROGRAMS"], "foreign_")):
        path = pathlib.Path(folder) / f"{prefix}{name}"
        if path.exists():
            return [path]
    raise AssertionError(f"there is no program {name}")


class Launch:
    """A command in a session of its own, and what it said; one that does not end is ended."""

    def __init__(self, command, environment, data=b""):
        self.command = [str(word) for word in command]
        self.data = data
        self.process = subprocess.Popen(self.command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, start_new_session=True)
        self.status, self.out, self.err = None, "", ""

    def lines(self, count):
        """The next lines of its output; end() has those that follow."""
        deadline, text = time.monotonic() + LIMIT_S, b""
        while text.count(b"\n") < count:
            if not select.select([self.process.stdout], [], [], max(0, deadline - time.monotonic()))[0]:
                raise AssertionError(f"{self}not {count} lines within {LIMIT_S} s, but: {text}")
            got = os.read(self.process.stdout.fileno(), 1 << 16)
            if not got:
                break
            text += got
        return text.decode().splitlines()

    def end(self):
        """Waits for it; self."""
        late = ""
        try:
            out, err = self.process.communicate(self.data, timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            late = f"not done within {LIMIT_S} s\n"
            out, err = self.stop()
        self.status = self.process.returncode
        self.out, self.err = out.decode(errors="replace"), err.decode(errors="replace") + late
        return self

    def stop(self):
        """Ends what is still running; the output that has not been read."""
        self.process.terminate()  # a launcher ends its ranks when it is asked to
        try:
            return self.process.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            return self.process.communicate()

    def __str__(self):
        return f"{' '.join(self.command)}\nstatus {self.status}, standard output:\n{self.out}standard error:\n{self.err}"


class Jobs(unittest.TestCase):
    """One launcher at one place. Classes below say how many ranks on how many hosts, and command()."""

    ranks, hosts = 4, 1

    def setUp(self):
        name = "WEFT_TEST_MARK"
        self.files = tempfile.TemporaryDirectory()
        self.addCleanup(self.files.cleanup)
        self.env = {key: value for key, value in os.environ.items() if key not in ("LD_LIBRARY_PATH", "WEFT_NET")}
        self.env.update({name: uuid.uuid4().hex, "TMPDIR": self.files.name, "OMPI_ALLOW_RUN_AS_ROOT": "1",
                         "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "WEFT_TEST_LIBRARY": LIBRARY})
        self.mark = f"{name}={self.env[name]}"

    def tearDown(self):
        wait_until(lambda: not with_variable(self.mark), "the end of all processes of the job")
        self.assertEqual(os.listdir(self.files.name), [])

    def command(self, ranks, options):
        """The words of the launcher."""
        raise NotImplementedError

    def start(self, words, ranks=None, options=(), data=b""):
        return self.launch([*self.command(ranks or self.ranks, options), *words], data)

    def launch(self, command, data=b""):
        launch = Launch(command, self.env, data)
        # A test that failed has not ended it.
        self.addCleanup(lambda: launch.status is None and launch.stop())
        return launch

    def start_mpi(self, name, *words, ranks=None, **more):
        ranks = ranks or self.ranks
        return self.start([*program(name), *words, ranks, ranks // self.hosts], ranks, **more)

    def library_was_checked(self, launch, ranks=None):
        """Each rank and its server had the library, by what rank 0 says after all have looked."""
        line = f"libpmix of {ranks or self.ranks} ranks: {LIBRARY}"
        self.assertEqual(launch.out.splitlines().count(line), 1, str(launch))

    def runs(self, name, *words, ranks=None, **more):
        """The program comes to its end and says so once; returns the launch."""
        launch = self.start_mpi(name, *words, ranks=ranks, **more).end()
        self.assertEqual(launch.status, 0, str(launch))
        self.library_was_checked(launch, ranks)
        self.assertEqual(launch.out.splitlines().count(f"ok {name} {ranks or self.ranks}"), 1, str(launch))
        return launch

    def ends_with(self, status, name, **more):
        launch = self.start_mpi(name, **more).end()
        self.assertEqual(launch.status, status, str(launch))
        self.library_was_checked(launch)
        self.assertNotIn("went on", launch.out, str(launch))
        return launch

    def start_steps(self, *words, **more):
        """weftrun_client with these words, between PMIx_Init and PMIx_Finalize."""
        loads_it = f"LD_LIBRARY_PATH={pathlib.Path(LIBRARY).parent}"
        return self.start(["env", loads_it, CLIENT, "init", "library", *words, "finalize"], **more)

    def steps(self, *words, **more):
        """The same to its end; returns the lines of output, sorted."""
        launch = self.start_steps(*words, **more).end()
        self.assertEqual(launch.status, 0, str(launch))
        return sorted(launch.out.splitlines())

    def standard_input(self, options=()):
        data = os.urandom(300_000)
        launch = self.runs("input", data=data, options=options)
        self.assertIn(f"input {len(data)} {sum(data)}", launch.out.splitlines(), str(launch))

    def card_after_a_fence_without_data(self):
        """What the last rank has put is fetched from its node by all others."""
        last = self.ranks - 1
        self.assertEqual(self.steps(f"only:{last}", "put:3000", "commit", "all", "fence", f"get:{last}", "fence",
                                    "say:got"), ["got"] * self.ranks)

    def fences_of_some(self):
        first, last = "0,1", f"1,{self.ranks - 1}"
        words = ["only:0", f"fence_of:{first}", "all", "only:1", f"fence_of:{first}", f"fence_of:{last}", "all",
                 f"only:{self.ranks - 1}", f"fence_of:{last}", "all"]
        self.assertEqual(self.steps(*words, *words, "fence", "say:through"),
                         ["through"] * self.ranks)


def main():
    """Ends with the first failure: a row of hangs would outlast ctest's limit, which lets no test clean
    up."""
    unittest.main(failfast=True)


def on_hosts(name, count, run):
    """run(inside) with that many pretend hosts, seen from the first; skips (status 77) where there can be
    none."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)  # unittest would go on after any other exception
    made = hosts("up", "--set", name, count)
    if made.returncode == 3:
        print(f"skipped: {made.stderr}", end="")
        sys.exit(77)
    if made.returncode != 0:
        sys.exit(made.stderr)
    try:
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o755)  # munged looks at the way to its socket
            inside = pretend.Inside(name, count, pathlib.Path(folder))
            try:
                run(inside)
            finally:
                # The hosts end before the folder goes: each may have mounted something in it.
                hosts("down", "--set", name)
                inside.end()
    finally:
        hosts("down", "--set", name)

#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A tree that `cmake --install` made is all that a consumer needs: programs are compiled with its pmix.pc, as
Open MPI 5 does, and run under its weftrun, with another libpmix on the machine and without LD_LIBRARY_PATH.

usage: installed_test.py CMAKE BUILD_FOLDER CC

Where `scripts/debian13` has been run before, MPI Sessions of Debian 13's Open MPI 5 run on the installed
library, too.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
WATCHDOG = 120  # seconds; only a hang takes so long
CMAKE, BUILD, CC = sys.argv[1:4]
ROOT = HERE.parents[2]
DEBIAN_13 = ROOT / "build" / "debian13" / "root" / "usr" / "lib" / "x86_64-linux-gnu"
STRICT = ["-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror"]


def run(*command, env=None, status=0):
    """Runs a command to its end, which must have that status; returns what it printed."""
    done = subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=WATCHDOG, env=env, check=False)
    if done.returncode != status:
        raise AssertionError(f"{command}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def run_paths(path):
    """(RPATH, RUNPATH) of an ELF file; None: it has none."""
    text = run("readelf", "-d", path)
    return tuple(match and match[1] for match in
                 (re.search(rf"\({tag}\).*\[(.*)\]", text) for tag in ("RPATH", "RUNPATH")))


class Installed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = pathlib.Path(tempfile.mkdtemp(prefix="weftrun_installed_")).resolve()
        cls.addClassCleanup(shutil.rmtree, cls.scratch)
        cls.prefix = cls.scratch / "prefix"
        run(CMAKE, "--install", BUILD, "--prefix", cls.prefix)
        [cls.pc] = cls.prefix.rglob("pmix.pc")
        cls.lib = cls.pc.parent.parent
        # Nothing of what ctest or a user has set says where the library is.
        cls.env = {name: value for name, value in os.environ.items()
                   if name not in ("LD_LIBRARY_PATH", "LD_RUN_PATH", "LIBRARY_PATH", "CPATH", "PKG_CONFIG_PATH", "LDFLAGS")}
        cls.env["TMPDIR"] = str(cls.scratch)  # folders of the jobs

    def flags(self, *which):
        return run("pkg-config", *which, "pmix", env={**self.env, "PKG_CONFIG_PATH": str(self.pc.parent)}).split()

    def compile(self, name, *words):
        out = self.scratch / name
        run(CC, *STRICT, "-o", out, *words, env=self.env)
        return out

    def program(self):
        return self.compile("program", HERE / "openmpi5.c", *self.flags("--cflags", "--libs"))

    def test_pmix_pc_names_the_folders_of_the_prefix(self):
        folders = [flag[2:] for flag in self.flags("--cflags-only-I", "--libs-only-L")]
        self.assertEqual({folder for folder in folders if not folder.startswith(f"{self.prefix}/")}, set())
        self.assertTrue(all(pathlib.Path(folder).is_dir() for folder in folders), folders)
        self.assertIn("-lpmix", self.flags("--libs-only-l"))

    def test_open_mpi_finds_the_file_by_its_path(self):
        # Its configure is told --with-pmix=PREFIX, names the file, and asks for the flags in three parts.
        parts = [run("pkg-config", *which, self.pc, env=self.env).split()
                 for which in (("--cflags",), ("--libs-only-L", "--libs-only-other"), ("--libs-only-l",))]
        self.compile("parts", HERE / "openmpi5.c", *(word for part in parts for word in part))

    def test_a_program_finds_the_library_that_it_was_built_with(self):
        program = self.program()
        # No RPATH: weftrun puts its own library before a RUNPATH.
        self.assertEqual(run_paths(program), (None, str(self.lib)))
        run(program, 0, self.lib, env=self.env)

    def test_so_does_a_program_of_a_library_that_uses_it(self):
        # As mpicc does it: the flags of pmix.pc go into the MPI library, and the program names that library
        # alone.
        self.compile("libuser.so", "-shared", "-fPIC", "-Dmain=user", HERE / "openmpi5.c", *self.flags("--cflags", "--libs"))
        main = self.scratch / "main.c"
        main.write_text("int user(int, char**);\nint main(int n, char** words) { return user(n, words); }\n", encoding="utf-8")
        program = self.compile("main", main, f"-L{self.scratch}", "-luser", f"-Wl,-rpath,{self.scratch}")
        run(program, 0, self.lib, env=self.env)

    def test_sessions_calls_under_the_installed_weftrun(self):
        program = self.program()
        for ranks in range(1, 9):
            with self.subTest(ranks=ranks):
                out = run(self.prefix / "bin" / "weftrun", "--oversubscribe", "-n", ranks, "--pset", "ours", program, ranks,
                          self.lib, env=self.env)
                self.assertEqual(out.splitlines(), [f"ok {ranks}"])

    @unittest.skipUnless((DEBIAN_13 / "libmpi.so.40").exists(), "scripts/debian13 has not been run: no Open MPI 5")
    def test_sessions_of_open_mpi_5_under_the_installed_weftrun(self):
        # Debian 13's own files are run by its loader. What it has of PMIx is not there: libpmix can only be
        # the installed one.
        program = self.compile("sessions", ROOT / "tests" / "mpi" / "sessions.c", f"-I{DEBIAN_13}/openmpi/include",
                               DEBIAN_13 / "libmpi.so.40", "-Wl,--unresolved-symbols=ignore-in-shared-libs")
        loader = [DEBIAN_13 / "ld-linux-x86-64.so.2", "--library-path", f"{self.lib}:{DEBIAN_13}"]
        env = {**self.env, "OPAL_PREFIX": str(DEBIAN_13.parents[1]), "OMPI_MCA_btl": "self,sm"}
        for ranks in range(1, 9):
            with self.subTest(ranks=ranks):
                out = run(self.prefix / "bin" / "weftrun", "--oversubscribe", "-n", ranks, *loader, program, ranks, env=env)
                self.assertEqual(out.splitlines(), [f"ok sessions {ranks}"])

    def test_every_file_is_in_one_package(self):
        # Packages are made of components (packaging/debian): a rule without one is in none of them.
        places = {
            "library": r"lib/[^/]+\.so\.[\d.]+|lib/weft/[^/]+\.so",
            "programs": r"bin/[^/]+|share/man/man[17]/[^/]+|share/bash-completion/completions/[^/]+",
            "development": r"include/.+|lib/[^/]+\.so|lib/pkgconfig/pmix\.pc|lib/cmake/weft/[^/]+\.cmake",
        }
        seen = []
        for component, place in places.items():
            folder = self.scratch / component
            run(CMAKE, "--install", BUILD, "--prefix", folder, "--component", component)
            names = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir())
            self.assertEqual([name for name in names if not re.fullmatch(place, re.sub(r"^lib/[\w-]+-linux-gnu/", "lib/", name))], [], component)
            seen += names
        everything = [path.relative_to(self.prefix).as_posix() for path in self.prefix.rglob("*") if not path.is_dir()]
        self.assertEqual(sorted(seen), sorted(everything))

    def test_a_prefix_of_the_loader_has_no_run_path(self):
        stage = self.scratch / "stage"
        run(CMAKE, "--install", BUILD, "--prefix", "/usr", env={**self.env, "DESTDIR": str(stage)})
        [pc] = stage.rglob("pmix.pc")
        text = pc.read_text(encoding="utf-8")
        self.assertIn("prefix=/usr\n", text)
        self.assertNotIn("rpath", text)


if __name__ == "__main__":
    for tool in ("pkg-config", "readelf", CC):
        if shutil.which(tool) is None:
            print(f"skipped: there is no {tool}")
            sys.exit(77)
    unittest.main(argv=sys.argv[:1])

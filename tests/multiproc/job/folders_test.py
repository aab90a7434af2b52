# SPDX-License-Identifier: BSD-3-Clause
"""PMIX_TMPDIR, PMIX_NSDIR and PMIX_PROCDIR: folders of this user on each node, gone with whatever ranks have
put there."""
import os
import shutil
import signal
import stat
import subprocess
import tempfile
import unittest

from weftrun_common import (CLIENT, finish, kill_quietly, name_of, own_lines, parent, read_lines, run, start, wait_until,
                            with_variable)

TWO_NODES = ["--virtual-nodes", "2", "-n", "4"]


class Folders(unittest.TestCase):
    def setUp(self):
        self.files = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.files)
        self.scratch = os.path.join(self.files, "scratch")  # where the folders are to be
        self.outside = os.path.join(self.files, "outside")
        self.go = os.path.join(self.files, "go")
        os.mkdir(self.scratch)
        os.mkdir(self.outside)
        self.mark = f"WEFT_TEST_FOLDERS={self.files}"
        self.env = dict(os.environ, TMPDIR=self.scratch, WEFT_TEST_FOLDERS=self.files)

    def start(self, *words, ranks):
        """A job whose ranks wait for the file `go` once they have told of their folders: it, and [tmp, ns,
        proc] by rank."""
        job = start(*words, CLIENT, "init", "folders", f"until:{self.go}", "finalize", env=self.env)
        self.addCleanup(kill_quietly, job)
        return job, dict((int(rank), folders) for rank, *folders in map(str.split, read_lines(job.stdout, ranks)))

    def end(self, job):
        with open(self.go, "w", encoding="ascii"):
            pass
        status, _, err = finish(job)
        self.assertEqual((status, own_lines(err)), (0, []))

    def check(self, folders):
        """Folders of one job, each of this user alone, and in each other."""
        for rank, (tmp, ns, proc) in folders.items():
            self.assertEqual(os.path.dirname(tmp), self.scratch)
            self.assertEqual((os.path.dirname(ns), os.path.dirname(proc)), (tmp, ns))
            self.assertEqual(os.path.basename(proc), str(rank))
            for path in (tmp, ns, proc):
                found = os.lstat(path)
                self.assertTrue(stat.S_ISDIR(found.st_mode), path)
                self.assertEqual((stat.S_IMODE(found.st_mode), found.st_uid), (0o700, os.geteuid()), path)

    def fill(self, folder, depth=10):
        """What is hard to remove; nothing outside may be touched for it."""
        kept = os.path.join(self.outside, "kept")
        os.makedirs(os.path.join(kept, "below"))
        os.chmod(kept, 0o750)
        os.symlink(kept, os.path.join(folder, "to a folder"))
        os.symlink(os.path.join(kept, "below"), os.path.join(folder, "closed link"))
        for name, mode in (("closed", 0), ("unwritable", 0o500), ("unreadable", 0o300)):
            os.makedirs(os.path.join(folder, name, "below", "below"))
            os.symlink("../../../../..", os.path.join(folder, name, "below", "up"))
            os.chmod(os.path.join(folder, name, "below"), mode)
            os.chmod(os.path.join(folder, name), mode)
        for number in range(200):
            with open(os.path.join(folder, f"file {number}"), "wb"):
                pass
        at = os.open(folder, os.O_RDONLY)
        for _ in range(depth):
            os.mkdir("deep", dir_fd=at)
            below = os.open("deep", os.O_RDONLY, dir_fd=at)
            os.close(at)
            at = below
        os.close(at)

    def must_be_gone(self):
        wait_until(lambda: not with_variable(self.mark), "the end of all processes")  # the guards' too
        self.assertEqual(os.listdir(self.scratch), [])
        kept = os.path.join(self.outside, "kept")
        if os.path.exists(kept):
            self.assertEqual((stat.S_IMODE(os.stat(kept).st_mode), os.listdir(kept)), (0o750, ["below"]))

    def test_of_each_rank_and_of_each_job(self):
        one, folders = self.start("-n", "2", ranks=2)
        other, others = self.start("-n", "2", ranks=2)
        self.check(folders)
        self.check(others)
        self.assertEqual(folders[0][:2], folders[1][:2])
        self.assertNotEqual(folders[0][0], others[0][0])
        self.end(one)
        self.end(other)
        self.must_be_gone()

    def test_of_each_virtual_node(self):
        job, folders = self.start(*TWO_NODES, ranks=4)
        self.check(folders)
        self.assertEqual(folders[0][0], folders[1][0])
        self.assertNotEqual(folders[0][0], folders[2][0])
        self.end(job)
        self.must_be_gone()

    def test_of_a_rank_elsewhere_is_asked_of_its_node(self):
        result = run(*TWO_NODES, CLIENT, "init", "only:0", "folder_of:3", "all", "fence", "only:3", "folder_of:3", "all", "fence",
                     "finalize", env=self.env)
        self.assertEqual(result.returncode, 0, result.stderr)
        (asker, asked), (owner, own) = sorted(line.split() for line in result.stdout.decode().splitlines())
        self.assertEqual((asker, owner, asked), ("0", "3", own))
        self.must_be_gone()

    def test_a_job_that_does_not_ask_makes_none(self):
        job = start("-n", "2", CLIENT, "init", "pid", f"until:{self.go}", "finalize", env=self.env)
        self.addCleanup(kill_quietly, job)
        read_lines(job.stdout, 2)
        self.assertEqual(os.listdir(self.scratch), [])
        self.end(job)

    def test_are_removed_with_all_that_ranks_have_put_there(self):
        for words in (["-n", "4"], TWO_NODES):
            with self.subTest(words):
                job, folders = self.start(*words, ranks=4)
                self.fill(folders[3][2], depth=900)  # longer than a path may be
                self.end(job)
                self.must_be_gone()
                os.unlink(self.go)
                shutil.rmtree(os.path.join(self.outside, "kept"))

    def test_are_removed_when_a_rank_aborts(self):
        result = run(*TWO_NODES, CLIENT, "init", "folders", "fence", "only:1", "abort:3", "all", "wait", env=self.env)
        self.assertEqual((result.returncode, len(result.stdout.splitlines()) >= 4), (3, True), result.stderr)
        self.must_be_gone()

    def test_are_removed_when_the_server_is_killed(self):
        for words, name in ((["-n", "4"], "weftrun"), (TWO_NODES, "weftd"), (TWO_NODES, "weftrun")):
            with self.subTest(words=words, killed=name):
                job, folders = self.start(*words, ranks=4)
                self.fill(folders[3][2])

                def named():
                    return [pid for pid in with_variable(self.mark) if name_of(pid) == name]
                wait_until(lambda: all(parent(pid) not in named() for pid in named()), "the guards, by their own name")
                for pid in named():
                    os.kill(pid, signal.SIGKILL)
                finish(job)
                self.must_be_gone()
                shutil.rmtree(os.path.join(self.outside, "kept"))

    def test_what_is_mounted_in_them_stays(self):
        # Mounts that only what unshare starts can see.
        probe = subprocess.run(["unshare", "-m", "mount", "--bind", self.outside, self.scratch], capture_output=True, check=False)
        if probe.returncode != 0:
            self.skipTest("no mounts")
        with open(os.path.join(self.outside, "kept"), "wb"):
            pass
        inner = ('"$0" -n 1 "$1" init folders until:"$3" finalize >"$4" & '
                 'while ! grep -q " " "$4" 2>/dev/null; do sleep 0.01; done; read -r rank tmp ns proc <"$4"; '
                 'mkdir -p "$proc/a/b"; mount --bind "$2" "$proc/a/b"; : >"$proc/file"; : >"$3"; wait; umount "$proc/a/b" || '
                 'umount "$(find "$tmp" -name b)"')
        done = subprocess.run(["unshare", "-m", "sh", "-c", inner, os.environ["WEFTRUN"], CLIENT, self.outside, self.go,
                               os.path.join(self.files, "said")], env=self.env, capture_output=True, check=False)
        self.assertEqual(os.listdir(self.outside), ["kept"], done.stderr)
        left = [name for _, names, files in os.walk(self.scratch) for name in files]
        self.assertEqual(left, [], "only the mount holds its folders")

    def test_where_they_cannot_be_made(self):
        for place in ("none", "file"):
            with self.subTest(place):
                if place == "file":
                    with open(os.path.join(self.scratch, place), "wb"):
                        pass
                result = run("-n", "2", CLIENT, "init", "folders", "finalize",
                             env=dict(self.env, TMPDIR=os.path.join(self.scratch, place)))
                self.assertEqual(result.returncode, 0, result.stderr)
                lines = own_lines(result.stderr)
                self.assertEqual(len(lines), 1, lines)
                self.assertIn(os.path.join(self.scratch, place), lines[0])
                for line in result.stdout.decode().splitlines():
                    self.assertEqual(line.split(maxsplit=1)[1], " ".join(["PMIX_ERR_NOT_FOUND"] * 3))

    def test_that_cannot_be_made_later(self):
        # The place goes after the job has begun: the status says why, and the job goes on.
        job = start("-n", "1", CLIENT, "init", "pid", f"until:{self.go}", "folders", "finalize", env=self.env)
        self.addCleanup(kill_quietly, job)
        read_lines(job.stdout, 1)
        os.rmdir(self.scratch)
        with open(self.go, "w", encoding="ascii"):
            pass
        status, out, err = finish(job)
        self.assertEqual((status, own_lines(err)), (0, []))
        self.assertEqual(out.decode().split()[1:], ["PMIX_ERR_OUT_OF_RESOURCE"] * 3)


if __name__ == "__main__":
    unittest.main()

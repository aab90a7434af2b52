# SPDX-License-Identifier: BSD-3-Clause
"""Published names of several weftruns (--names-of): each finds what the others have published, on one node
and on several."""
import os
import pathlib
import signal
import subprocess
import tempfile
import unittest

from weftrun_common import finish, kill_quietly, lives, own_lines, run, start, wait_until

NAMES_CLIENT = os.environ["NAMES_CLIENT"]
ONE, THREE = ("-n", "2"), ("--virtual-nodes", "3:1", "-n", "3")
LOST = "PMIX_ERR_LOST_CONNECTION"
NOT_FOUND = "PMIX_ERR_NOT_FOUND"
DONE = "PMIX_SUCCESS"


class Run:
    """A weftrun whose ranks do as they are told; killed with the block, if it runs then."""

    def __init__(self, shape, names_of=None):
        of = () if names_of is None else ("--names-of", str(names_of))
        self.process = start(*of, *shape, "--stdin", "all", NAMES_CLIENT, stdin=subprocess.PIPE)
        self.pid = self.process.pid
        self.nspace = self.read()
        self.last = int(shape[-1]) - 1

    def __enter__(self):
        return self

    def __exit__(self, *_):
        kill_quietly(self.process)

    def tell(self, rank, words):
        self.process.stdin.write(f"{rank} {words}\n".encode())

    def read(self):
        line = self.process.stdout.readline().decode()
        if not line:
            raise AssertionError(finish(self.process))
        return line.rstrip("\n")

    def ask(self, rank, words):
        self.tell(rank, words)
        return self.read()

    def found(self, rank, value):
        """What a lookup of that rank's name says."""
        return f"{DONE} {value} {self.nspace}:{rank}"

    def end(self):
        self.tell(0, "end")
        return finish(self.process)


def pairs():
    return [("one node, one node", ONE, ONE), ("one node, three", ONE, THREE), ("three nodes, one", THREE, ONE),
            ("three nodes, three", THREE, THREE)]


class NamesOf(unittest.TestCase):
    def each_pair(self, check):
        for what, of_first, of_second in pairs():
            with self.subTest(what), Run(of_first) as first, Run(of_second, first.pid) as second:
                check(first, second)

    def expect_end(self, one):
        status, _, error = one.end()
        self.assertEqual((status, own_lines(error)), (0, []))

    def test_each_finds_the_names_of_the_other(self):
        def check(first, second):
            for rank in (0, first.last):
                self.assertEqual(first.ask(rank, f"publish first{rank} {rank + 10} session"), DONE)
                self.assertEqual(second.ask(second.last, f"lookup first{rank}"), first.found(rank, rank + 10))
            for rank in (0, second.last):
                self.assertEqual(second.ask(rank, f"publish second{rank} {rank + 20} global"), DONE)
                self.assertEqual(first.ask(first.last, f"lookup second{rank}"), second.found(rank, rank + 20))
                self.assertEqual(second.ask(1, f"lookup second{rank}"), second.found(rank, rank + 20))
            self.assertEqual(second.ask(0, "lookup nothing"), NOT_FOUND)
            self.expect_end(second)
            self.expect_end(first)
        self.each_pair(check)

    def test_lookups_wait_for_the_other_run(self):
        def check(first, second):
            second.tell(second.last, "wait late 60")
            self.assertEqual(second.ask(0, "lookup late"), NOT_FOUND)  # the other one waits by now, or soon
            self.assertEqual(first.ask(first.last, "publish late 1 session"), DONE)
            self.assertEqual(second.read(), first.found(first.last, 1))
            first.tell(0, "wait later 60")
            self.assertEqual(second.ask(second.last, "publish later 2 session"), DONE)
            self.assertEqual(first.read(), second.found(second.last, 2))
            second.tell(1, "wait own 60")
            answers = sorted([second.ask(0, "publish own 3 namespace"), second.read()])  # of two ranks
            self.assertEqual(answers, [DONE, second.found(0, 3)])
            self.assertEqual(second.ask(0, "wait never 1"), "PMIX_ERR_TIMEOUT")
            self.assertEqual(first.ask(0, "wait never 1"), "PMIX_ERR_TIMEOUT")
            self.assertEqual(first.ask(0, "publish never 4 session first-read"), DONE)
            self.assertEqual(second.ask(0, "lookup never"), first.found(0, 4))
        self.each_pair(check)

    def test_a_key_stands_in_the_session_once_and_is_taken_back_by_its_publisher(self):
        def check(first, second):
            self.assertEqual(first.ask(1, "publish one 1 session"), DONE)
            self.assertEqual(second.ask(1, "publish one 2 session"), "PMIX_ERR_DUPLICATE_KEY")
            self.assertEqual(second.ask(1, "publish one 2 global"), DONE)
            self.assertEqual(second.ask(1, "unpublish one"), NOT_FOUND)
            self.assertEqual(first.ask(1, "unpublish one"), DONE)
            self.assertEqual(second.ask(0, "lookup one"), second.found(1, 2))
            self.assertEqual(second.ask(1, "publish one 3 session"), DONE)
            self.assertEqual(first.ask(0, "publish one 4 session"), "PMIX_ERR_DUPLICATE_KEY")
            self.assertEqual(first.ask(0, "lookup one"), second.found(1, 3))
            self.assertEqual(second.ask(1, "unpublish one"), DONE)
            self.assertEqual(first.ask(0, "publish one 5 session"), DONE)
        self.each_pair(check)

    def test_narrow_names_stay_in_their_run(self):
        def check(first, second):
            for one, other in ((first, second), (second, first)):
                for number, range_ in enumerate(("local", "namespace")):
                    self.assertEqual(one.ask(0, f"publish {range_} {number} {range_}"), DONE)
                    self.assertEqual(one.ask(0, f"lookup {range_}"), one.found(0, number))
                    self.assertEqual(other.ask(0, f"lookup {range_}"), NOT_FOUND if one is first else other.found(0, number))
        self.each_pair(check)

    def test_names_go_with_their_persistence(self):
        def check(first, second):
            rank = second.last
            self.assertEqual(second.ask(rank, "publish once 1 session first-read"), DONE)
            self.assertEqual(first.ask(0, "lookup once"), second.found(rank, 1))
            self.assertEqual(first.ask(0, "lookup once"), NOT_FOUND)
            self.assertEqual(second.ask(0, "lookup once"), NOT_FOUND)
            wait_until(lambda: second.ask(rank, "unpublish once") == NOT_FOUND, "the publisher's server has heard of it")
            self.assertEqual(first.ask(1, "publish once 2 session first-read"), DONE)
            self.assertEqual(second.ask(0, "lookup once"), first.found(1, 2))
            self.assertEqual(first.ask(0, "lookup once"), NOT_FOUND)
            self.assertEqual(second.ask(rank, "publish mine 3 session proc"), DONE)
            self.assertEqual(second.ask(rank, "publish ours 4 session app"), DONE)
            self.assertEqual(first.ask(0, "lookup mine"), second.found(rank, 3))
            self.assertEqual(second.ask(rank, "finalize"), DONE)
            wait_until(lambda: first.ask(0, "lookup mine") == NOT_FOUND, "the name ends with its process")
            self.assertEqual(first.ask(0, "lookup ours"), second.found(rank, 4))
        self.each_pair(check)

    def test_what_a_run_has_published_ends_with_it(self):
        def check(first, second):
            for number, persistence in enumerate(("app", "session", "proc")):
                self.assertEqual(second.ask(second.last, f"publish {persistence} {number} session {persistence}"), DONE)
            first.tell(1, "wait never 60")
            os.kill(second.pid, signal.SIGKILL)
            for persistence in ("app", "session", "proc"):
                wait_until(lambda: first.ask(0, f"lookup {persistence}") == NOT_FOUND, f"{persistence}: it ends")
            self.assertEqual(first.ask(0, "publish app 7 session"), DONE)
            answers = sorted([first.ask(0, "publish never 8 session"), first.read()])  # of two ranks
            self.assertEqual(answers, [DONE, first.found(0, 8)])
            self.expect_end(first)
        self.each_pair(check)

    def test_the_end_of_the_run_that_keeps_the_names_is_told(self):
        for what, of_first, of_second in pairs():
            for is_killed in (False, True):
                with self.subTest(what, is_killed=is_killed), Run(of_first) as first, Run(of_second, first.pid) as second:
                    self.assertEqual(second.ask(0, "publish kept 1 session"), DONE)
                    self.assertEqual(second.ask(0, "publish near 2 namespace"), DONE)
                    second.tell(second.last, "wait never 100")
                    if is_killed:
                        os.kill(first.pid, signal.SIGKILL)
                    else:
                        self.expect_end(first)
                    self.assertEqual(second.read(), LOST)
                    self.assertEqual(second.ask(0, "lookup kept"), LOST)
                    self.assertEqual(second.ask(0, "publish more 3 session"), LOST)
                    self.assertEqual(second.ask(0, "unpublish kept"), LOST)
                    self.assertEqual(second.ask(1, "lookup near"), second.found(0, 2))
                    status, _, error = second.end()
                    self.assertEqual(status, 0)
                    lines = own_lines(error)
                    self.assertEqual(len(lines), 1, error)
                    self.assertIn(f"the run of --names-of {first.pid} has ended", lines[0])
                    self.assertIn("What to do", lines[0])

    def test_runs_of_one_other_see_each_other_and_are_apart_from_the_rest(self):
        with Run(ONE) as first, Run(THREE, first.pid) as second, Run(ONE, first.pid) as third, Run(ONE) as stranger:
            self.assertEqual(second.ask(2, "publish second 2 session"), DONE)
            self.assertEqual(third.ask(0, "lookup second"), second.found(2, 2))
            self.assertEqual(stranger.ask(0, "lookup second"), NOT_FOUND)
            self.assertEqual(third.ask(0, "publish second 3 session"), "PMIX_ERR_DUPLICATE_KEY")
            # A run that has its names elsewhere keeps none: what asks it is served there, too.
            with Run(ONE, second.pid) as fourth:
                self.assertEqual(fourth.ask(1, "lookup second"), second.found(2, 2))
                self.assertEqual(fourth.ask(1, "publish fourth 4 session first-read"), DONE)
                self.assertEqual(first.ask(0, "lookup fourth"), fourth.found(1, 4))
                wait_until(lambda: fourth.ask(1, "unpublish fourth") == NOT_FOUND, "it has gone at its origin")
                self.assertEqual(fourth.ask(1, "publish fourth 4 session"), DONE)
                self.assertEqual(third.ask(0, "lookup fourth"), fourth.found(1, 4))
            wait_until(lambda: third.ask(0, "lookup fourth") == NOT_FOUND, "its names end with it")
            self.assertEqual(third.ask(0, "lookup second"), second.found(2, 2))

    def test_ways_to_name_the_other_run(self):
        with Run(ONE) as first, tempfile.TemporaryDirectory() as folder:
            self.assertEqual(first.ask(0, "publish first 1 session"), DONE)
            sockets = pathlib.Path("/proc/net/unix").read_text(encoding="ascii").split()
            socket = next(word[1:] for word in sockets if word.startswith(f"@weft-{first.pid}-"))
            uri = f"{first.nspace}-weftrun.0;weft:{socket}"
            file = pathlib.Path(folder, "uri")
            file.write_text(uri + "\n", encoding="ascii")
            for of in (f"pid:{first.pid}", uri, f"file:{file}", first.nspace, f"{first.nspace}-weftrun"):
                with self.subTest(of), Run(ONE, of) as second:
                    self.assertEqual(second.ask(0, "lookup first"), first.found(0, 1))

    def test_a_run_that_is_not_there_is_told_before_a_rank_starts(self):
        with tempfile.TemporaryDirectory() as folder:
            mark = pathlib.Path(folder, "started")
            for of in ("2", "pid:999999999", "no-such-run", "a.0;weft:weft-1-0123456789abcdef", "x;tcp://1", f"file:{mark}"):
                for shape in (("-n", "1"), ("--virtual-nodes", "2", "-n", "2")):
                    with self.subTest(of, shape=shape):
                        done = run("--names-of", of, *shape, "touch", str(mark))
                        self.assertEqual(done.returncode, 125)
                        self.assertEqual(len(own_lines(done.stderr)), 1, done.stderr)
                        self.assertIn(f"--names-of {of}: ", done.stderr.decode())
                        self.assertFalse(mark.exists())
            self.assertEqual(run("--names-of", "", "-n", "1", "true").returncode, 2)

    def test_a_stopped_run_holds_no_other_up(self):
        with Run(ONE) as first:
            os.kill(first.pid, signal.SIGSTOP)
            try:
                done = run("--names-of", str(first.pid), "-n", "1", "true")
            finally:
                os.kill(first.pid, signal.SIGCONT)
            self.assertEqual(done.returncode, 125)
            self.assertIn("does not answer", done.stderr.decode())
            self.assertTrue(lives(first.pid))


if __name__ == "__main__":
    unittest.main()

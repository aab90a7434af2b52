# SPDX-License-Identifier: BSD-3-Clause
"""What processes and tools pull of each other's output and push to each other's input."""
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import unittest

from weftrun_common import WATCHDOG, finish, kill_quietly, name_of, own_lines, parent, run, start, wait_until

CLIENT = os.environ["IOF_CLIENT"]
SHAPES = {"one node": (), "three nodes": ("--virtual-nodes", "3", "--map-by", "node")}
CACHE, DROP_OLDEST, REDIRECT, COMPLETE = "pmix.iof.csize", "pmix.iof.old", "pmix.iof.redir", "pmix.iof.cmp"
FWD_IN, FWD_OUT, FWD_ERR = "pmix.fwd.stdin", "pmix.fwd.stdout", "pmix.fwd.stderr"


def checksum(data):
    """As the client's."""
    total = 5381
    for byte in data:
        total = (total * 33 + byte) & 0xffffffff
    return total


def pattern(size):
    """What the client's word fill:N writes."""
    block = bytes(ord("a") + i % 23 for i in range(65536))
    return (block * (size // len(block) + 1))[:size]


class Io(unittest.TestCase):
    """A job that waits for a file before it writes, and what its processes and tools have logged."""

    def setUp(self):
        made = tempfile.TemporaryDirectory()
        self.addCleanup(made.cleanup)
        self.folder = pathlib.Path(made.name)
        self.go = self.folder / "go"
        self.until = f"until:{self.go}"

    def in_each_shape(self):
        for name, shape in SHAPES.items():
            with self.subTest(name):
                self.go.unlink(missing_ok=True)
                yield shape

    def job(self, *args, **options):
        job = start(*args, **options)
        self.addCleanup(kill_quietly, job)
        return job

    @staticmethod
    def name(job):
        return "weft-" + re.sub(r"[^\w.-]", "_", os.uname().nodename) + f"-{job.pid}"

    def tool(self, job, *words, server=None, **options):
        server = server or job.pid
        tool = subprocess.Popen([CLIENT, f"tool:{server}", f"job:{self.name(job)}", *words], stdout=subprocess.PIPE, bufsize=0, **options)
        self.addCleanup(kill_quietly, tool)
        return tool

    def daemon_of(self, job):
        found = []

        def look():
            found[:] = [int(pid) for pid in filter(str.isdigit, os.listdir("/proc")) if name_of(pid) == "weftd" and parent(int(pid)) == job.pid]
            return found
        wait_until(look, "a daemon")
        return found[0]

    def servers(self, job, shape):
        return [job.pid, self.daemon_of(job)] if shape else [job.pid]

    def lines_of(self, tool, status=0):
        out = tool.communicate(timeout=WATCHDOG)[0].decode(errors="replace")
        self.assertEqual(tool.returncode, status, out)
        return out.splitlines()

    def expect_well(self, job):
        status, out, err = finish(job)
        self.assertEqual((status, own_lines(err)), (0, []))
        return out, err

    # ---- pulls

    def test_a_tool_gets_each_stream_to_its_last_partial_line(self):
        for shape in self.in_each_shape():
            job = self.job(*shape, "-n", "3", CLIENT, "init", self.until, r"out:one\ntwo", r"err:bad\nworse", "finalize")
            tools = [self.tool(job, "channels:both", "pull", "say:pulls", "ends:6", "tool_finalize", server=server)
                     for server in self.servers(job, shape)]
            for each in tools:
                self.assertEqual([each.stdout.readline() for _ in range(2)], [b"begin 0\n", b"pulls\n"])
            self.go.touch()
            expected = sorted([f"end {rank} out 7 {checksum(b'one' + bytes([10]) + b'two')}" for rank in range(3)] +
                              [f"end {rank} err 9 {checksum(b'bad' + bytes([10]) + b'worse')}" for rank in range(3)])
            for each in tools:
                self.assertEqual(sorted(self.lines_of(each)), expected)
            out, err = self.expect_well(job)
            self.assertEqual((out.count(b"one"), err.count(b"bad")), (3, 3))

    def test_ranks_and_streams_that_are_named(self):
        for shape in self.in_each_shape():
            job = self.job(*shape, "-n", "3", CLIENT, "init", self.until, "out:some", "err:more", "finalize")
            tool = self.tool(job, "channels:err", "ranks:0,2", "pull", "clear", "ranks:1", "channels:out", "pull", "say:pulls", "ends:3",
                             "tool_finalize")
            for _ in range(3):
                tool.stdout.readline()
            self.go.touch()
            self.assertEqual(sorted(self.lines_of(tool)), [f"end {rank} {stream} 4 {checksum(text)}" for rank, stream, text in
                                                           ((0, "err", b"more"), (1, "out", b"some"), (2, "err", b"more"))])
            self.expect_well(job)

    def test_a_process_pulls_from_the_others_of_its_job(self):
        for shape in self.in_each_shape():
            log = self.folder / "log"
            log.unlink(missing_ok=True)
            job = self.job(*shape, "-n", "3", CLIENT, "init", "only:2", f"log:{log}", "ranks:0,1", "pull", f"touch:{self.go}", "ends:2", "all",
                           "only:0", self.until, "out:zero", "all", "only:1", self.until, "out:one", "all", "finalize")
            out, _ = self.expect_well(job)
            self.assertEqual(sorted(log.read_text().splitlines()),
                             ["begin 0", f"end 0 out 4 {checksum(b'zero')}", f"end 1 out 3 {checksum(b'one')}"])
            self.assertEqual(sorted(out.decode()), sorted("zeroone"))

    def test_nothing_is_lost_of_much_output(self):
        size = 8 << 20
        for shape in self.in_each_shape():
            job = self.job(*shape, "-n", "3", CLIENT, "init", self.until, f"fill:{size}", "finalize", stdout=subprocess.DEVNULL)
            tool = self.tool(job, "pull", "say:pulls", "ends:3", "tool_finalize")
            for _ in range(2):
                tool.stdout.readline()
            self.go.touch()
            total = checksum(pattern(size))
            self.assertEqual(sorted(self.lines_of(tool)), [f"end {rank} out {size} {total}" for rank in range(3)])
            self.expect_well(job)

    def test_without_a_handler_the_bytes_are_printed(self):
        for shape in self.in_each_shape():
            job = self.job(*shape, "-n", "1", CLIENT, "init", self.until, r"out:printed\n", "finalize")
            log = self.folder / "log"
            tool = self.tool(job, f"log:{log}", "pull_printing", "pull", f"touch:{self.go}", "ends:1", "tool_finalize")
            self.assertEqual(self.lines_of(tool), ["printed"])
            self.expect_well(job)

    def printed(self, *words, job=("-n", "1"), writes=(r"out:one\ntwo", r"err:three\n")):
        """What a tool prints, and logs, that pulls without a handler."""
        self.go.unlink(missing_ok=True)
        running = self.job(*job, CLIENT, "init", self.until, *writes, "finalize")
        log = self.folder / "log"
        log.unlink(missing_ok=True)
        tool = self.tool(running, f"log:{log}", "channels:both", *words, "pull_printing", "channels:both", "pull", f"touch:{self.go}", "ends:2",
                         "tool_finalize", stderr=subprocess.PIPE)
        out, err = tool.communicate(timeout=WATCHDOG)
        self.assertEqual(tool.returncode, 0, err)
        self.expect_well(running)
        return out.decode(), err.decode(), self.name(running)

    def test_the_library_of_the_reader_gives_output_its_form(self):
        out, err, name = self.printed("flag:pmix.iof.tag")
        self.assertEqual((out, err), (f"[{name},0]<stdout>: one\n[{name},0]<stdout>: two\n", f"[{name},0]<stderr>: three\n"))
        out, err, _ = self.printed("flag:pmix.iof.rank", "flag:pmix.iof.ts")
        self.assertRegex(out, r"^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3} \[0\] (one|two)\n){2}$")
        out, err, name = self.printed("flag:pmix.iof.xml", writes=("out:a<b>&", "err:q"))
        self.assertEqual((out, err), (f'<stdout nspace="{name}" rank="0">a&lt;b&gt;&amp;</stdout>\n', f'<stderr nspace="{name}" rank="0">q</stderr>\n'))
        out, err, _ = self.printed("flag:pmix.iof.mrg")
        self.assertEqual((sorted(out), err), (sorted("one\ntwothree\n"), ""))

    def test_output_in_files_of_the_reader(self):
        files = self.folder / "files"
        out, err, name = self.printed(f"text:pmix.iof.dir={files}", "flag:pmix.iof.fonly")
        self.assertEqual((out, err), ("", ""))
        self.assertEqual([(files / name / "rank.0" / stream).read_text() for stream in ("stdout", "stderr")], ["one\ntwo", "three\n"])
        out, _, name = self.printed(f"text:pmix.iof.file={files}/plain", "flag:pmix.iof.tag")
        self.assertEqual((files / f"plain.{name}.0.stdout").read_text(), out)
        self.printed(f"text:pmix.iof.file={files}/%r-of-%n", "flag:pmix.iof.fpt", "flag:pmix.iof.mrg")
        (file,) = files.glob("0-of-*.stdout")
        self.assertEqual(sorted(file.read_text()), sorted("one\ntwothree\n"))

    def test_buffered_output_comes_at_the_end_and_when_the_pull_ends(self):
        job = self.job("-n", "1", CLIENT, "init", self.until, "out:some", "out:more", "finalize")
        tool = self.tool(job, "number:pmix.iof.bsize=1000", "pull", f"touch:{self.go}", "ends:1", "text", "tool_finalize")
        self.assertEqual(sorted(self.lines_of(tool)), ["begin 0", f"end 0 out 8 {checksum(b'somemore')}", "text 0 out somemore"])
        self.expect_well(job)

    def test_a_stream_that_has_ended_ends_for_a_late_pull(self):
        for shape in self.in_each_shape():
            job = self.job(*shape, "-n", "2", "sh", "-c", f"if test $PMIX_RANK = 1; then exec {CLIENT} init {self.until} finalize; fi;"
                           f"exec 1>&- 2>&-; exec {CLIENT} init {self.until} finalize")
            tool = self.tool(job, "ranks:0", "pull", "ends:1", "tool_finalize")
            self.assertEqual(sorted(self.lines_of(tool)), ["begin 0", f"end 0 out 0 {checksum(b'')}"])
            self.go.touch()
            self.expect_well(job)

    def test_redirected_output_is_not_on_the_terminal_as_long_as_its_reader_lives(self):
        for shape in self.in_each_shape():
            second = self.folder / "second"
            second.unlink(missing_ok=True)
            job = self.job(*shape, "-n", "1", CLIENT, "init", self.until, r"out:hidden\n", f"until:{second}", r"out:shown\n", "finalize")
            tool = self.tool(job, f"flag:{REDIRECT}", "pull", f"touch:{self.go}", "got:7", "text", "stop", "tool_finalize")
            self.assertEqual(self.lines_of(tool), ["begin 0", "text 0 out hidden", "", "stop PMIX_SUCCESS"])
            second.touch()
            self.assertEqual(self.expect_well(job)[0], b"shown\n")

    def test_a_pull_that_is_deregistered_gets_nothing_more(self):
        for shape in self.in_each_shape():
            job = self.job(*shape, "-n", "2", CLIENT, "init", self.until, "out:text", "finalize")
            tool = self.tool(job, "pull", "pull", "stop:0", "stop:0", "stop:17", "say:stopped", "ends:2", "tool_finalize")
            self.assertEqual([tool.stdout.readline().decode().strip() for _ in range(6)],
                             ["begin 0", "begin 1", "stop PMIX_SUCCESS", "stop PMIX_ERR_NOT_FOUND", "stop PMIX_ERR_NOT_FOUND", "stopped"])
            self.go.touch()
            self.assertEqual(sorted(self.lines_of(tool)), [f"end {rank} out 4 {checksum(b'text')}" for rank in (0, 1)])
            self.expect_well(job)

    def test_what_cannot_be_pulled(self):
        for shape in self.in_each_shape():
            job = self.job(*shape, "-n", "2", CLIENT, "init", self.until, "finalize")
            tool = self.tool(job, "job:nonsense", "pull", f"job:{self.name(job)}", "ranks:2", "pull", "clear", "ranks:0,4294967290", "pull", "clear",
                             "channels:in", "pull", "channels:0", "pull", "channels:0x8", "pull", "channels:0x400", "pull", "channels:out",
                             f"flag:{DROP_OLDEST}", "flag:pmix.iof.new", "pull", f"text:{CACHE}=much", "pull", "tool_finalize")
            self.assertEqual(self.lines_of(tool), [f"pull PMIX_ERR_{what}" for what in (
                "NOT_FOUND", "BAD_PARAM", "BAD_PARAM", "NOT_SUPPORTED", "BAD_PARAM", "NOT_SUPPORTED", "NOT_SUPPORTED", "BAD_PARAM", "BAD_PARAM")])
            self.go.touch()
            self.expect_well(job)

    def test_a_job_with_files_has_nothing_to_pull(self):
        job = self.job("--output-dir", str(self.folder / "out"), "-n", "1", CLIENT, "init", self.until, "finalize")
        self.assertEqual(self.lines_of(self.tool(job, "pull", "tool_finalize")), ["pull PMIX_ERR_NOT_SUPPORTED"])
        self.go.touch()
        self.expect_well(job)

    # ---- readers that are slow, or die

    def test_a_reader_that_does_not_read_loses_its_pull_and_the_job_goes_on(self):
        size = 12 << 20
        for shape in self.in_each_shape():
            read, over = self.folder / "read", self.folder / "over"
            job = self.job(*shape, "-n", "2", CLIENT, "init", self.until, f"fill:{size}", f"until:{over}", "finalize", stdout=subprocess.DEVNULL)
            for server in self.servers(job, shape)[-1:]:
                tool = self.tool(job, "deaf", "counts", "pull", "say:deaf", f"until:{read}", "hears", "fails", server=server)
            for _ in range(2):
                tool.stdout.readline()
            self.go.touch()
            line = job.stderr.readline().decode()
            self.assertRegex(line, "does not read the output that it pulls; it gets no more of it, and the job goes on")
            read.touch()
            self.assertEqual(tool.stdout.readline(), b"failed\n")
            over.touch()
            self.expect_well(job)
            read.unlink()
            over.unlink()

    def test_with_a_cache_bytes_are_dropped_and_no_rank_waits(self):
        size = 12 << 20
        for shape in self.in_each_shape():
            job = self.job(*shape, "-n", "1", CLIENT, "init", self.until, f"fill:{size}", "finalize", stdout=subprocess.DEVNULL)
            for directives in ([f"number:{CACHE}=100000"], [f"flag:{DROP_OLDEST}"]):
                tool = self.tool(job, "deaf", *directives, "pull", "say:deaf", "wait", stderr=subprocess.DEVNULL)
                for _ in range(2):
                    tool.stdout.readline()
            self.go.touch()
            self.expect_well(job)

    def test_a_tool_that_dies_leaves_no_pull(self):
        size = 12 << 20
        for shape in self.in_each_shape():
            job = self.job(*shape, "-n", "2", CLIENT, "init", self.until, f"fill:{size}", "finalize", stdout=subprocess.DEVNULL)
            for server in self.servers(job, shape):
                tool = self.tool(job, "deaf", "pull", "say:deaf", "wait", server=server)
                for _ in range(2):
                    tool.stdout.readline()
                tool.send_signal(signal.SIGKILL)
                tool.wait()
            self.go.touch()
            self.expect_well(job)

    # ---- the terminal

    def test_tags_with_the_name_of_the_node(self):
        host = os.uname().nodename
        for shape, nodes in ((SHAPES["one node"], [host] * 2), (SHAPES["three nodes"], [f"{host}-v0", f"{host}-v1"])):
            out = run("--tag-output=host", *shape, "-n", "2", "echo", "text").stdout.decode()
            self.assertEqual(sorted(out.splitlines()), [f"[{node}:{rank}] text" for rank, node in enumerate(nodes)])
        self.assertEqual(run("--tag-output=moon", "-n", "1", "true").returncode, 2)

    def test_ranks_that_write_to_pseudo_terminals(self):
        code = r"test -t 1 && test -t 2 && test ! -t 0 && printf 'one\ntwo' && echo three >&2"
        for shape in self.in_each_shape():
            result = run("--pty", *shape, "-n", "2", "sh", "-c", code)
            self.assertEqual((result.returncode, result.stdout, result.stderr), (0, b"one\ntwo" * 2, b"three\n" * 2))
            much = run("--pty", *shape, "-n", "1", "head", "-c", "3000000", "/dev/zero")
            self.assertEqual(len(much.stdout), 3000000)

    # ---- spawned jobs

    def test_a_parent_gets_all_that_its_children_write_from_their_start(self):
        for shape in self.in_each_shape():
            log = self.folder / "log"
            log.unlink(missing_ok=True)
            job = self.job(*shape, "-n", "1", CLIENT, "init", f"log:{log}", "program:/bin/sh", "arg:-c", f"arg:echo early; echo bad >&2; touch {self.go}",
                           "count:2", f"flag:{FWD_OUT}", f"flag:{FWD_ERR}", "spawn", self.until, "channels:out", "pull", "channels:err", "pull", "ends:4",
                           "finalize")
            out, err = self.expect_well(job)
            self.assertEqual(sorted(log.read_text().splitlines()), sorted(
                ["begin 0", "begin 1", *(f"end {rank} {stream} {len(text)} {checksum(text)}" for rank in (0, 1)
                                         for stream, text in (("out", b"early\n"), ("err", b"bad\n")))]))
            self.assertEqual((out, err), (b"early\n" * 2, b"bad\n" * 2))

    def test_a_parent_pushes_to_its_children(self):
        data = self.folder / "data"
        data.write_bytes(os.urandom(500000))
        total = checksum(data.read_bytes())
        for shape in self.in_each_shape():
            log = self.folder / "log"
            log.unlink(missing_ok=True)
            job = self.job(*shape, "-n", "1", CLIENT, "init", f"log:{log}", "program:/bin/cat", "count:3", f"flag:{FWD_IN}", f"flag:{FWD_OUT}", "spawn",
                           "pull", f"push_file:{data}", "push_end", "ends:3", "finalize", stdout=subprocess.DEVNULL)
            self.expect_well(job)
            self.assertEqual(sorted(log.read_text().splitlines()), ["begin 0", *(f"end {rank} out 500000 {total}" for rank in range(3)),
                                                                    "push PMIX_SUCCESS"])

    # ---- pushes

    def test_each_rank_gets_its_own_input_and_its_end(self):
        for shape in self.in_each_shape():
            job = self.job(*shape, "--tag-output", "--stdin", "push", "-n", "3", "cat")
            tool = self.tool(job, "ranks:0", "push:zero", "clear", "ranks:1,2", r"push:both", "push_end", "clear", "ranks:0", f"flag:{COMPLETE}",
                             "push: and more", "tool_finalize")
            self.assertEqual(self.lines_of(tool), ["push PMIX_SUCCESS"])
            out, _ = self.expect_well(job)
            self.assertEqual(sorted(out.decode().splitlines()), ["[0] zero and more", "[1] both", "[2] both"])

    def test_an_input_ends_with_the_last_that_pushes(self):
        for shape in self.in_each_shape():
            job = self.job(*shape, "--tag-output", "--stdin", "push:1", "-n", "3", "cat")
            first = self.tool(job, "push:a", "say:pushed", "wait", server=self.servers(job, shape)[-1])
            self.assertEqual(first.stdout.readline(), b"pushed\n")
            second = self.tool(job, "push:b", "push_end", "push:c", "tool_finalize")
            self.assertEqual(self.lines_of(second), ["push PMIX_SUCCESS"])
            first.send_signal(signal.SIGKILL)
            self.assertEqual(self.expect_well(job)[0], b"[1] abc\n")

    def test_a_process_pushes_to_another_of_its_job(self):
        for shape in self.in_each_shape():
            job = self.job(*shape, "--stdin", "push:1", "-n", "2", "sh", "-c",
                           f"if test $PMIX_RANK = 0; then exec {CLIENT} init ranks:1 push:one 'push: two' finalize; fi; cat; exec {CLIENT} init finalize")
            self.assertEqual(self.expect_well(job)[0], b"one two")

    def test_a_tool_pushes_its_own_standard_input(self):
        data = os.urandom(300000)
        for shape in self.in_each_shape():
            job = self.job(*shape, "--stdin", "push:1", "-n", "2", "cat")
            tool = self.tool(job, "push_stdin", "push_stdin", f"until:{self.go}", "tool_finalize", stdin=subprocess.PIPE)
            self.assertEqual([tool.stdout.readline() for _ in range(2)], [b"push PMIX_SUCCESS\n", b"push PMIX_ERR_RESOURCE_BUSY\n"])
            tool.stdin.write(data)
            tool.stdin.close()
            tool.stdin = None
            self.assertEqual(self.expect_well(job)[0], data)
            self.go.touch()
            self.lines_of(tool)

    def test_a_push_of_the_end_ends_what_the_library_pushes(self):
        job = self.job("--stdin", "push", "-n", "1", "cat")
        tool = self.tool(job, "push_stdin", "push_end", "tool_finalize", stdin=subprocess.PIPE)
        self.assertEqual([tool.stdout.readline() for _ in range(2)], [b"push PMIX_SUCCESS\n"] * 2)
        self.assertEqual(self.expect_well(job)[0], b"")
        self.lines_of(tool)

    def test_what_cannot_be_pushed_to(self):
        for shape in self.in_each_shape():
            job = self.job(*shape, "--stdin", "push:1", "-n", "2", CLIENT, "init", self.until, "finalize")
            plain = self.job(*shape, "-n", "1", CLIENT, "init", self.until, "finalize")
            tool = self.tool(job, "ranks:0", "push:text", "clear", "job:nonsense", "push:text", f"job:{self.name(job)}", "ranks:7", "push:text",
                             "clear", "push_end", "push:text", "push_end", "tool_finalize")
            self.assertEqual(self.lines_of(tool), [f"push PMIX_{what}" for what in (
                "ERR_NOT_SUPPORTED", "ERR_NOT_SUPPORTED", "ERR_NOT_SUPPORTED", "SUCCESS", "ERR_IOF_COMPLETE", "ERR_IOF_COMPLETE")])
            self.assertEqual(self.lines_of(self.tool(plain, "push:text", "tool_finalize")), ["push PMIX_ERR_NOT_SUPPORTED"])
            self.go.touch()
            self.expect_well(job)
            self.expect_well(plain)

    def test_much_input_at_the_pace_of_its_reader(self):
        data = self.folder / "data"
        data.write_bytes(os.urandom(3 << 20))
        for shape in self.in_each_shape():
            job = self.job(*shape, "--stdin", "push", "-n", "2", "cksum")
            tool = self.tool(job, f"push_file:{data}", "push_end", "tool_finalize")
            self.assertEqual(self.lines_of(tool), ["push PMIX_SUCCESS"])
            expected = subprocess.run(["cksum"], stdin=data.open("rb"), capture_output=True, check=True).stdout
            self.assertEqual(self.expect_well(job)[0], expected * 2)

    def test_a_rank_that_closes_its_input_stops_nothing(self):
        data = self.folder / "data"
        data.write_bytes(os.urandom(1 << 20))
        for shape in self.in_each_shape():
            job = self.job(*shape, "--stdin", "push", "-n", "2", "sh", "-c", f"exec 0<&-; while ! test -e {self.go}; do sleep 0.05; done")
            tool = self.tool(job, f"push_file:{data}", "push_end", "tool_finalize")
            self.assertEqual(self.lines_of(tool), ["push PMIX_SUCCESS"])
            self.go.touch()
            self.expect_well(job)


if __name__ == "__main__":
    unittest.main()

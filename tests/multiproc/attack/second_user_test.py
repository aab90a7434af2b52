#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A job of one user, and what another user of the same machine tries against it. All runs on one node, and
with two virtual nodes. Exit status 77: skipped, only root can be two users.
"""
import contextlib
import functools
import os
import re
import shutil
import signal
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import time
import unittest

import strangers
from strangers import Beside, connect_local, daemons_of, free_users, local_names, read_to_end, run_as, tcp_ports, text
from weftrun_common import CLIENT, WATCHDOG, WEFTRUN, finish, kill_quietly, name_of, wait_until

NODES = {"one node": [], "two nodes": ["--virtual-nodes", "2"]}
WEFTINFO = os.environ["WEFTINFO"]


def owner_of(path):
    with contextlib.suppress(FileNotFoundError):
        return os.stat(path).st_uid
    return None


def on_all_nodes(test):
    """The test with one node, and with two."""
    @functools.wraps(test)
    def each(self):
        for name, nodes in NODES.items():
            with self.subTest(name):
                try:
                    test(self, nodes)
                finally:
                    with contextlib.suppress(FileNotFoundError):
                        os.unlink(self.file("go"))
    return each


class SecondUser(unittest.TestCase):
    """The victim and the stranger have numbers of no account; all files of the victim lie in one folder."""

    @classmethod
    def setUpClass(cls):
        cls.victim, cls.stranger = free_users(2)

    def setUp(self):
        self.folder = tempfile.mkdtemp()
        os.chown(self.folder, self.victim, self.victim)
        self.env = {key: value for key, value in os.environ.items() if not key.startswith("WEFT_TEST")}
        self.env.update(TMPDIR=self.folder, HOME=self.folder)
        self.jobs = []

    def tearDown(self):
        for job in self.jobs:
            kill_quietly(job)
        shutil.rmtree(self.folder)

    def file(self, name):
        return os.path.join(self.folder, name)

    def make(self, name):
        with open(self.file(name), "w", encoding="utf-8"):
            pass

    def as_victim(self, *words, **options):
        """A process of the victim's with pipes."""
        return subprocess.Popen(words, user=self.victim, group=self.victim, extra_groups=[], cwd=self.folder, env=self.env,
                                **{"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE,
                                   **options})

    def start(self, *words, most_descriptors=1024):
        """weftrun of the victim, in a shell that limits descriptors."""
        job = self.as_victim("/bin/sh", "-c", f'ulimit -n {most_descriptors}; exec "$@"', "sh", WEFTRUN, *words)
        self.jobs.append(job)
        return job

    def servers(self, job, nodes):
        """The processes of the job that serve ranks."""
        wait_until(lambda: name_of(job.pid) == "weftrun" and local_names(job.pid), "a weftrun that listens")
        return daemons_of(job.pid, 2) if nodes else [job.pid]

    def rendezvous(self, servers):
        """The name at which each lets its ranks in."""
        return [name for pid in servers for name in local_names(pid) if name.startswith(f"weft-{pid}-")]

    def end(self, job, out):
        """That it ends well, and has said this."""
        status, said, err = finish(job)
        self.assertEqual((status, sorted(said.split(b"\n")[:-1]), err), (0, sorted(out), b""))

    # ---- the socket at which ranks come in

    @on_all_nodes
    def test_silent_connections_keep_no_rank_out(self, nodes):
        """More connections than the server may have descriptors, held open, before the first rank comes."""
        def come_in_hundreds(ready, names):
            held = [connect_local(name) for name in names for _ in range(300)]
            ready()
            for connection in held:  # nothing is kept for them: not one stays
                assert read_to_end(connection) == b""
            ready()
            signal.pause()

        job = self.start(*nodes, "-n", "2", CLIENT, f"until:{self.file('go')}", "init", "fence", "say:in", "finalize",
                         most_descriptors=150)
        names = self.rendezvous(self.servers(job, nodes))
        with Beside(come_in_hundreds, names, uid=self.stranger) as others:
            self.assertTrue(others.is_ready())
            self.make("go")
            self.end(job, [b"in"] * 2)
            self.assertTrue(others.is_ready(), "each was hung up on, without a byte")

    @on_all_nodes
    def test_connecting_and_closing_holds_up_no_end(self, nodes):
        def come_and_go(ready, names):
            for count in range(1 << 30):
                for name in names:
                    with contextlib.suppress(ConnectionRefusedError):  # once the server is gone
                        connect_local(name).close()
                if count == 100:
                    ready()

        job = self.start(*nodes, "-n", "2", CLIENT, "init", f"until:{self.file('go')}", "fence", "say:in", "finalize")
        names = self.rendezvous(self.servers(job, nodes))
        with contextlib.ExitStack() as stack:
            others = [stack.enter_context(Beside(come_and_go, names, uid=self.stranger)) for _ in range(3)]
            self.assertTrue(all(other.is_ready() for other in others))
            self.make("go")
            self.end(job, [b"in"] * 2)
            self.assertTrue(all(other.lives() for other in others), "the connections went on to the end")

    @on_all_nodes
    def test_the_right_token_of_the_wrong_user(self, nodes):
        """The stranger knows all that a rank knows: its hello is not read, and the rank itself gets in
        afterwards."""
        def claim(variables):
            with connect_local(variables["WEFT_SERVER"]) as connection:
                with contextlib.suppress(BrokenPipeError):
                    connection.sendall(strangers.hello(variables["PMIX_NAMESPACE"], int(variables["PMIX_RANK"]),
                                                       variables["WEFT_TOKEN"]))
                assert read_to_end(connection) == b""

        job = self.start(*nodes, "-n", "2", "/bin/sh", "-c", 'env >"$PMIX_RANK.new"; mv "$PMIX_RANK.new" "$PMIX_RANK.env"; '
                         'exec "$@"', "sh", CLIENT, f"until:{self.file('go')}", "init", "fence", "say:in", "finalize")
        def guess(variables):
            with connect_local(variables["WEFT_SERVER"]) as connection:
                connection.sendall(strangers.hello(variables["PMIX_NAMESPACE"], int(variables["PMIX_RANK"]), "00" * 16))
                assert b"its token is not the one" in read_to_end(connection)

        for rank in range(2):
            variables = self.environment_of(rank)
            run_as(self.stranger, claim, variables)
            run_as(self.victim, guess, variables)  # that what the stranger said would have been understood
        self.make("go")
        self.end(job, [b"in"] * 2)

    def environment_of(self, rank):
        """What a rank has written down; the file goes."""
        path = self.file(f"{rank}.env")
        wait_until(lambda: os.path.exists(path), f"the environment of rank {rank}")
        with open(path, encoding="utf-8", errors="replace") as file:
            found = dict(line.rstrip("\n").split("=", 1) for line in file if "=" in line)
        os.unlink(path)
        return found

    @on_all_nodes
    def test_the_name_of_a_server_that_has_gone(self, nodes):
        """A program of the victim's that outlived its job meets the stranger at the old name, and tells
        nothing."""
        def wait_for_a_visitor(ready, name):
            with socket.socket(socket.AF_UNIX) as listener:
                listener.bind("\0" + name)
                listener.listen()
                ready()
                connection, _ = listener.accept()
                with connection:
                    assert read_to_end(connection) == b"", "not even the token"
                ready()

        job = self.start(*nodes, "-n", "2", "/bin/sh", "-c",
                         'env >"$PMIX_RANK.new"; mv "$PMIX_RANK.new" "$PMIX_RANK.env"')
        self.end(job, [])
        left = self.environment_of(1)
        self.environment_of(0)
        with Beside(wait_for_a_visitor, left["WEFT_SERVER"], uid=self.stranger) as other:
            self.assertTrue(other.is_ready())
            client = subprocess.run([CLIENT, "init"], env=left, user=self.victim, group=self.victim, extra_groups=[],
                                    capture_output=True, timeout=WATCHDOG, check=False)
            self.assertEqual(client.returncode, 99, client.stderr)
            self.assertIn(b"PMIX_ERR_NO_PERMISSIONS", client.stderr)
            self.assertIn(b"another user's", client.stderr)
            self.assertTrue(other.is_ready(), "it was visited, and heard nothing")
            self.assertEqual(other.end(), 0)

    # ---- the processes, their files and their other sockets

    @on_all_nodes
    def test_processes_are_closed(self, nodes):
        """Descriptors, memory and environment of servers and ranks."""
        def look(pid, place):
            for name in ("fd", "environ", "maps", "mem", "auxv"):
                try:
                    path = f"/proc/{pid}/{name}"
                    _ = os.listdir(path) if name == "fd" else open(path, "rb").read(1)  # pylint: disable=consider-using-with
                except PermissionError:
                    continue
                raise AssertionError(f"{name} of {pid} can be read")
            for number in place.split(":")[1:]:  # as clients of the same user open the segment
                try:
                    os.close(os.open(f"/proc/{pid}/fd/{number}", os.O_RDWR))
                except PermissionError:
                    continue
                raise AssertionError("the segment can be opened")

        job = self.start(*nodes, "-n", "2", "/bin/sh", "-c", 'env >"$PMIX_RANK.new"; mv "$PMIX_RANK.new" "$PMIX_RANK.env"; '
                         'exec "$@"', "sh", CLIENT, "init", "pid", "fence", f"until:{self.file('go')}", "finalize")
        said = [job.stdout.readline() for _ in range(2)]
        for pid in [job.pid, *(int(line.split()[1]) for line in said)]:
            run_as(self.stranger, look, pid, "")
        for rank in range(2):
            place = self.environment_of(rank)["WEFT_SEGMENT"]
            run_as(self.stranger, look, int(place.split(":")[0]), place)
        self.make("go")
        self.end(job, [])

    def test_names_in_dev_shm(self):
        """Thousands of names like those of jobs to come."""
        job = self.start("--virtual-nodes", "2", "-n", "2", CLIENT, "init", f"until:{self.file('go')}", "finalize")
        self.servers(job, ["two"])

        def mine():
            return [name for name in os.listdir("/dev/shm") if owner_of(f"/dev/shm/{name}") == self.victim]

        wait_until(lambda: len(mine()) == 2, "a folder for each node")
        # The names of sessions can be guessed, by the process that makes them; what follows the node's number
        # cannot.
        guess = re.fullmatch(rf"(.*-){job.pid}(-.*)\.[0-9]+\.[0-9a-f]{{16}}", mine()[0])
        self.assertIsNotNone(guess, mine())
        self.make("go")
        self.end(job, [])
        os.unlink(self.file("go"))
        made = []

        def squat(names):
            for name in names:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(f"/dev/shm/{name}")

        try:
            first = job.pid
            for pid in range(first, first + 1500):
                made += [f"{guess[1]}{pid}{guess[2]}.{node}" for node in range(2)]
            run_as(self.stranger, squat, made)
            job = self.start("--virtual-nodes", "2", "-n", "2", CLIENT, "init", "fence", "say:in", "finalize")
            self.end(job, [b"in"] * 2)
        finally:
            for name in made:
                with contextlib.suppress(FileNotFoundError):
                    os.rmdir(f"/dev/shm/{name}")

    def test_sockets_between_nodes(self):
        """All at which servers listen beside the ranks' own, of weftrun as of its daemons."""
        def say(names, greeting):
            for name in names:
                with connect_local(name) as connection:
                    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                        connection.sendall(greeting)
                    assert read_to_end(connection) == b"", f"{name} has answered a stranger"

        self.env["WEFT_TRANSPORT"] = "shm"
        job = self.start("--virtual-nodes", "2", "-n", "2", CLIENT, "init", f"fences_until:{self.file('go')}", "finalize")
        servers = [job.pid, *self.servers(job, ["two"])]
        wait_until(lambda: all(len(local_names(pid)) >= 2 for pid in servers), "the ranks' socket and the other servers'")
        names = [name for pid in servers for name in local_names(pid)]
        for greeting in (b"", b"\0" * 16, os.urandom(64), strangers.hello("none", 0, "00" * 16)):
            run_as(self.stranger, say, names, greeting)
        self.make("go")
        self.ends_after_fences(job)

    def test_connecting_to_the_sockets_between_nodes_without_end(self):
        """Neither the loop of a server is held up, which a line would say, nor a fence."""
        def come_and_go(ready, names, seconds):
            until = time.monotonic() + seconds
            while time.monotonic() < until:
                for name in names * 100:
                    connect_local(name).close()
            ready()
            signal.pause()

        self.env["WEFT_TRANSPORT"] = "shm"
        job = self.start("--virtual-nodes", "2", "-n", "2", CLIENT, "init", f"fences_until:{self.file('go')}", "finalize")
        servers = self.servers(job, ["two"])
        ranks_names = self.rendezvous(servers)
        wait_until(lambda: all(len(local_names(pid)) >= 2 for pid in servers), "the other servers' sockets")
        names = [name for name in local_names(servers[-1]) if name not in ranks_names]
        with contextlib.ExitStack() as stack:
            others = [stack.enter_context(Beside(come_and_go, names, 5, uid=self.stranger)) for _ in range(2)]
            self.assertTrue(all(other.is_ready() for other in others))
        self.make("go")
        self.ends_after_fences(job)

    def ends_after_fences(self, job):
        status, said, err = finish(job)
        self.assertEqual((status, err), (0, b""))
        self.assertGreaterEqual(int(re.fullmatch(rb"fences (\d+)\n", said)[1]), 20)

    def test_the_tcp_port(self):
        """Bytes that are no TLS, and TLS without the key: no reply but an alert of TLS."""
        def say(addresses):
            for address in addresses:
                for greeting in (b"\0" * 16, os.urandom(64), b"GET / HTTP/1.0\r\n\r\n"):
                    with socket.create_connection(address, WATCHDOG) as connection:
                        connection.sendall(greeting)
                        connection.shutdown(socket.SHUT_WR)
                        came = read_to_end(connection)
                        assert len(came) <= 64 and (not came or came[0] == 0x15), came
                context = ssl.create_default_context()
                context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
                with socket.create_connection(address, WATCHDOG) as connection:
                    try:
                        context.wrap_socket(connection)
                    except (ssl.SSLError, OSError):
                        continue
                raise AssertionError("a handshake without the key")

        self.env["WEFT_TRANSPORT"] = "tcp"
        job = self.start("--virtual-nodes", "2", "-n", "2", CLIENT, "init", f"fences_until:{self.file('go')}", "finalize")
        servers = [job.pid, *self.servers(job, ["two"])]
        wait_until(lambda: all(tcp_ports(pid) for pid in servers), "a port of each")
        addresses = [address for pid in servers for address in tcp_ports(pid)]
        run_as(self.stranger, say, addresses)
        self.make("go")
        self.ends_after_fences(job)


# Values as messages have them (docs/design/wire.md): a text that moves the cursor, one that only an XML
# library could read.
NASTY = struct.pack("<H", 3) + text(b"\x1b]0;owned\x07\x1b[31m")
TOPOLOGY = struct.pack("<HB", 56, 1) + text(b"hwloc") + text(b'<?xml version="1.0"?><topology version="2.0"/>')


def infos(**values):
    """These as a list."""
    listed = [text(key.replace("_", ".").encode()) + struct.pack("<I", 0) + value for key, value in values.items()]
    return struct.pack("<I", len(listed)) + b"".join(listed)


def array(**values):
    """These as one value."""
    return struct.pack("<HBH", 39, 1, 24) + infos(**values)


class FalseServer(unittest.TestCase):
    """What weftinfo of root prints of a server that a stranger runs. It answers in the stranger's name: the
    kernel reports the user that called listen()."""

    def setUp(self):
        self.stranger, = free_users(1)

    def answer(self, *replies):
        """weftinfo asks a server that gives these replies, a message each; returns its end, and the libraries
        that it loaded."""
        def serve(ready):
            with socket.socket(socket.AF_UNIX) as listener:
                listener.bind(f"\0weft-{os.getpid()}-0123456789abcdef")
                listener.listen()
                ready()
                while True:
                    connection, _ = listener.accept()
                    with connection, contextlib.suppress(ConnectionResetError, BrokenPipeError):
                        for kind, payload in replies:
                            head = connection.recv(strangers.FRAME.size, socket.MSG_WAITALL)
                            if len(head) < strangers.FRAME.size:
                                break
                            length, _, _, tag = strangers.FRAME.unpack(head)
                            connection.recv(length, socket.MSG_WAITALL)
                            connection.sendall(strangers.frame(kind, payload, tag))
                        read_to_end(connection)

        with Beside(serve, uid=self.stranger) as server, tempfile.TemporaryDirectory() as folder:
            self.assertTrue(server.is_ready())
            env = dict(os.environ, LD_DEBUG="files", LD_DEBUG_OUTPUT=os.path.join(folder, "loaded"))
            asked = subprocess.run([WEFTINFO, str(server.pid)], env=env, capture_output=True, timeout=WATCHDOG, check=False)
            loaded = ""
            for name in os.listdir(folder):
                with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as file:
                    loaded += file.read()
        self.assertIn("libpmix.so", loaded)
        return asked, loaded

    def is_clean(self, asked, loaded):
        for stream in (asked.stdout, asked.stderr):
            self.assertEqual([byte for byte in stream if byte < 0x20 and byte != 0x0a or byte == 0x7f], [], stream)
        for library in ("libhwloc", "libxml2"):
            self.assertNotRegex(loaded, rf"calling init: \S*{library}")

    def test_its_reasons_are_printed_clean(self):
        """A server that refuses, and says why."""
        refused = struct.pack("<i", -25) + NASTY[2:]
        asked, loaded = self.answer((strangers.REFUSED, refused))
        self.assertNotEqual(asked.returncode, 0)
        self.is_clean(asked, loaded)

    def report(self, **parts):
        """Of one node, in which these are."""
        names = {"pmix_srv_nspace": NASTY, **parts}
        welcome = struct.pack("<QQI", 0, 0, 0) + text(b"job") + struct.pack("<IB", 0, 0) + text(b"tool") + struct.pack("<I", 0)
        results = struct.pack("<i", 0) + infos(weft_cluster=array(**names))
        return (strangers.WELCOME, welcome), (strangers.RESULTS, results)

    def test_its_names_are_printed_clean(self):
        node = array(pmix_hname=NASTY, weft_state=NASTY, weft_transport=NASTY)
        asked, loaded = self.answer(*self.report(weft_nodes=array(weft_node=node), weft_jobs=array(
            weft_job=array(pmix_nspace=NASTY))))
        self.assertEqual((asked.returncode, asked.stderr), (0, b""))
        self.assertIn(rb"\x1b]0;owned\x07\x1b[31m", asked.stdout)
        self.is_clean(asked, loaded)

    def test_no_xml_of_its_is_parsed(self):
        """A report that is a topology, and one that has topologies for names."""
        node = array(pmix_hname=TOPOLOGY, weft_state=TOPOLOGY)
        for replies in (self.report(weft_nodes=array(weft_node=node), weft_jobs=TOPOLOGY),
                        (self.report()[0], (strangers.RESULTS, struct.pack("<i", 0) + infos(weft_cluster=TOPOLOGY)))):
            self.is_clean(*self.answer(*replies))


if __name__ == "__main__":
    if os.getuid() != 0:
        print("skipped: only root can be two users")
        sys.exit(77)
    unittest.main()

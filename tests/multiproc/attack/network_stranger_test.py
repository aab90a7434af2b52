# SPDX-License-Identifier: BSD-3-Clause
"""A job of two nodes over a network, and what a process without the job's key tries there while ranks are in
fences.

Over `tcp` all goes on. UCX and libfabric parse bytes before Weft sees them, and some of what comes here ends
them: of these, which are used only where they are named, it is promised that a line says so (SECURITY.md)
and, as of any server that ends, that weftrun comes to an end and leaves nothing. TRANSPORTS names those that
were built.
"""
import contextlib
import os
import random
import resource
import shutil
import signal
import socket
import struct
import tempfile
import threading
import time
import unittest
import uuid

from strangers import Beside, count_descriptors, daemons_of, memory_of, most_memory_of, tcp_ports
from weftrun_common import CLIENT, WATCHDOG, finish, kill_quietly, own_lines, read_lines, start, wait_until, with_variable

MOST_SILENT = 64  # connections that a server keeps of peers that have not proved the key
MOST_MEMORY = 48 << 10  # KiB
# KiB that a server may have more of, at any moment, while processes connect without end.
MOST_AT_ONCE = 16 << 10
STORM_SECONDS = 5
SEED = int(os.environ.get("WEFT_TEST_SEED", "1"))


class Recorder:
    """What goes over the loopback interface meanwhile: the beginning of each stream, by its two ends. Only
    root may."""

    MOST = 64 << 10

    def __init__(self):
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(0x0800))
        self.socket.bind(("lo", 0))
        self.socket.settimeout(0.1)
        self.pieces, self.is_over = {}, False
        self.thread = threading.Thread(target=self._run)
        self.thread.start()

    def _run(self):
        while not self.is_over:
            with contextlib.suppress(TimeoutError):
                self._add(self.socket.recv(65536))

    def _add(self, packet):
        length = (packet[0] & 15) * 4
        if packet[9] != socket.IPPROTO_TCP or len(packet) < length + 20:
            return
        tcp = packet[length:struct.unpack_from(">H", packet, 2)[0]]
        ends, sequence, payload = struct.unpack_from(">HH", tcp), struct.unpack_from(">I", tcp, 4)[0], tcp[(tcp[12] >> 4) * 4:]
        first, pieces = self.pieces.setdefault(ends, (sequence, {}))
        if payload and (sequence - first) % (1 << 32) < self.MOST:
            pieces[(sequence - first) % (1 << 32)] = payload

    def streams_with(self, ports):
        """Of the connections to these ports, what either side has said."""
        self.is_over = True
        self.thread.join()
        self.socket.close()
        whole = [b"".join(pieces[at] for at in sorted(pieces))
                 for ends, (_, pieces) in self.pieces.items() if set(ends) & set(ports)]
        return [stream for stream in whole if stream]


def record(kind, length, body):
    """A record of TLS that claims a length."""
    return struct.pack(">BHH", kind, 0x0303, length) + body


def greetings(chance, streams):
    """Bytes to begin a connection with, of each kind in turn."""
    hello = streams[0] if streams else b"\x16\x03\x01\x00\x2f\x01\x00\x00\x2b\x03\x03" + bytes(32)
    while True:
        yield chance.randbytes(chance.choice([1, 5, 100, 20000]))
        yield record(chance.choice([20, 21, 22, 23, 0, 255]), chance.choice([0, 1, 16384, 16385, 65535]),
                     chance.randbytes(chance.randrange(300)))
        yield record(22, 512, b"\x01\xff\xff\xff" + chance.randbytes(500))
        yield hello[:chance.randrange(len(hello))]
        damaged = bytearray(hello)
        damaged[chance.randrange(len(damaged))] ^= 1 << chance.randrange(8)
        yield bytes(damaged)
        yield hello * 2
        for stream in streams:
            yield stream


def talk(ready, addresses, streams, rounds):
    """Says all this to each, in pieces, and leaves some connections open."""
    chance, held = random.Random(SEED), []
    for count, greeting in zip(range(rounds), greetings(chance, streams)):
        for address in addresses:
            with contextlib.suppress(OSError):  # it hung up, or is gone: the test sees whether it should have
                connection = socket.create_connection(address, WATCHDOG)
                held.append(connection)
                cut = chance.randrange(len(greeting) + 1)
                connection.sendall(greeting[:cut])
                connection.sendall(greeting[cut:])
                if count % 2 == 0:
                    connection.shutdown(socket.SHUT_WR)
        while len(held) > 100:
            held.pop(0).close()
        if count == rounds // 2:
            ready()
    ready()
    signal.pause()


def be_silent(ready, address, count):
    """Opens so many connections and says nothing."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    held = [socket.create_connection(address, WATCHDOG) for _ in range(count)]
    ready()
    for connection in held:
        with contextlib.suppress(ConnectionResetError):
            assert connection.recv(1) == b"", "an answer to nothing"
    ready()  # after 5 s each of the last ones has been hung up on, too
    signal.pause()


def connect_without_end(ready, address):
    """Opens connections as fast as they are taken, STORM_SECONDS long, and keeps some hundred of them
    open."""
    held, until = [], time.monotonic() + STORM_SECONDS
    while time.monotonic() < until:
        for _ in range(100):
            held.append(socket.create_connection(address, WATCHDOG))
        while len(held) > 300:
            held.pop(0).close()
    ready()
    signal.pause()


def lines_of(out):
    """In the order of the alphabet: ranks write when it pleases them."""
    return " ".join(sorted(out.decode().splitlines()))


class NetworkStranger(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.mark = "WEFT_TEST_MARK=" + uuid.uuid4().hex

    def go(self, name):
        with open(os.path.join(self.folder, name), "w", encoding="ascii"):
            pass

    def start(self, transport, **variables):
        """A job in its fences; its servers."""
        env = dict(os.environ, WEFT_TRANSPORT=transport, **variables)
        env.update([self.mark.split("=")])
        self.go("first")
        stages = [f"fences_until:{os.path.join(self.folder, name)}" for name in ("first", "second", "third")]
        job = start("--virtual-nodes", "2", "-n", "2", CLIENT, "init", *stages, "say:done", "finalize", env=env)
        self.addCleanup(kill_quietly, job)
        self.assertRegex(read_lines(job.stdout, 1)[0], r"^fences \d+$")
        return job, [job.pid, *daemons_of(job.pid, 2)]

    def check_that_fences_go_on(self, job):
        self.go("second")
        self.assertRegex(read_lines(job.stdout, 1)[0], r"^fences \d+$")

    def end(self, job):
        self.go("third")
        status, out, err = finish(job)
        self.assertEqual((status, err), (0, b""))
        self.assertRegex(lines_of(out), r"^done done fences \d+$")

    @contextlib.contextmanager
    def nothing_grows(self, servers):
        """Neither memory nor descriptors of these processes, in the end."""
        before = {pid: (memory_of(pid), count_descriptors(pid)) for pid in servers}
        yield {pid: descriptors for pid, (_, descriptors) in before.items()}
        for pid, (memory, descriptors) in before.items():
            wait_until(lambda pid=pid, most=descriptors: count_descriptors(pid) <= most, "descriptors that come back")
            if not os.environ.get("WEFT_TEST_SANITIZE"):  # AddressSanitizer keeps for a while what was freed
                self.assertLess(memory_of(pid) - memory, MOST_MEMORY)

    def test_bytes_of_all_kinds(self):
        recorder = Recorder() if os.getuid() == 0 else None
        try:
            job, servers = self.start("tcp")
            addresses = [address for pid in servers for address in tcp_ports(pid)]
        finally:
            streams = recorder.streams_with({port for _, port in addresses}) if recorder else []
        self.assertGreaterEqual(len(addresses), len(servers))
        if recorder:
            self.assertGreaterEqual(len(streams), 4, "both sides of the connections to the launcher at least")
        with self.nothing_grows(servers):
            with Beside(talk, addresses, streams, 400) as stranger:
                self.assertTrue(stranger.is_ready())
                self.check_that_fences_go_on(job)
                self.assertTrue(stranger.is_ready())
        self.end(job)

    def test_a_thousand_silent_connections(self):
        job, servers = self.start("tcp")
        with self.nothing_grows(servers) as before, contextlib.ExitStack() as stack:
            others = [stack.enter_context(Beside(be_silent, tcp_ports(pid)[0], 1000)) for pid in servers]
            self.assertTrue(all(other.is_ready() for other in others))
            for pid in servers:
                # And few beside: what else comes and goes meanwhile.
                self.assertLessEqual(count_descriptors(pid), before[pid] + MOST_SILENT + 4)
            self.check_that_fences_go_on(job)
            self.assertTrue(all(other.is_ready() for other in others), "all were hung up on")
        self.end(job)

    def test_connections_without_end(self):
        """The loop is not held up, which a line would say (end() wants none), and the memory stays what it
        was at each moment."""
        job, servers = self.start("tcp")
        before = {pid: most_memory_of(pid) for pid in servers}
        with self.nothing_grows(servers):
            with contextlib.ExitStack() as stack:
                others = [stack.enter_context(Beside(connect_without_end, tcp_ports(servers[-1])[0])) for _ in range(2)]
                self.check_that_fences_go_on(job)
                self.assertTrue(all(other.is_ready() for other in others))
            if not os.environ.get("WEFT_TEST_SANITIZE"):
                for pid, memory in before.items():
                    self.assertLess(most_memory_of(pid) - memory, MOST_AT_ONCE)
        self.end(job)

    def test_libraries_that_parse_first(self):
        """What is promised of UCX and libfabric at a TCP port: the line, and that there is an end."""
        for transport in set(os.environ["TRANSPORTS"].split(",")) & {"ofi", "ucx"}:
            with self.subTest(transport):
                for name in ("second", "third"):
                    with contextlib.suppress(FileNotFoundError):
                        os.unlink(os.path.join(self.folder, name))
                job, servers = self.start(transport, WEFT_LOST_AFTER="4", UCX_HANDLE_ERRORS="none", UCX_TLS="tcp")
                addresses = [address for pid in servers for address in tcp_ports(pid)]
                with Beside(talk, addresses, [], 40) as stranger:
                    self.assertTrue(stranger.is_ready())
                    self.go("second")
                    self.go("third")
                    status, out, err = finish(job)
                self.assertRegex(err, rb"listens at a TCP port, and whoever can connect there can")
                if status == 0:
                    self.assertRegex(lines_of(out), r"^done done fences \d+ fences \d+$")
                else:
                    self.assertTrue(own_lines(err), err)
                wait_until(lambda: not with_variable(self.mark), "the end of all processes")


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    unittest.main()

# SPDX-License-Identifier: BSD-3-Clause
"""What a process without the job's key does on an RDMA fabric, as another user that may use the card:
SECURITY.md says what holds.

The attackers (attacker.cpp, ucp_attacker.cpp) speak verbs, rdma_cm and UCX by themselves; what ofi_rxm says
when it connects they have recorded.
"""
import contextlib
import os
import pathlib
import re
import signal
import struct
import subprocess
import time
import unittest

from rdma_common import CARD, LONGEST, good_end, has_card, job
from strangers import count_descriptors, memory_of
from weftrun_common import WEFTRUN, wait_until

PROGRAMS = pathlib.Path(WEFTRUN).resolve().parent
ADDRESS = "10.99.0.1"
OTHER_USER = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all")
VERBS = ("ofi", "verbs;ofi_rxm")
UCX = ("ucx", "^tcp")
# The key of all of UCX's queue pairs of unreliable datagrams: a constant of it, and no secret. With another
# one a card drops what comes.
UCX_QKEY = 0x1ee7a330
HALF_OPEN = 2000
# KiB. A connection that ofi_rxm accepts has a receive queue of 64 buffers of 2 KiB and its queue pair. It
# keeps the buffers for the next.
MOST_OF_A_CONNECTION = 256
MOST_BESIDE = 8 << 10


def program(name):
    return str(PROGRAMS / f"weft_rdma_{name}")


def ended(*words, env=()):
    """What a program of ours says in its last line, run as another user."""
    done = subprocess.run([*OTHER_USER, *words], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=LONGEST, cwd="/tmp",
                          check=False, env={**os.environ, **dict(env)})
    if done.returncode != 0 or not done.stdout.strip():
        raise AssertionError(f"{words}: {done}")
    return done.stdout.strip().splitlines()[-1]


def recorded_hello():
    return ended(program("attacker"), "record", ADDRESS)


def resources(kind):
    return subprocess.run(["rdma", "resource", "show", kind], capture_output=True, text=True, check=True).stdout.splitlines()


def port_of(pid):
    """Where a process listens by rdma_cm."""
    for line in resources("cm_id"):
        found = re.search(rf"state LISTEN .*pid {pid} .*src-addr {re.escape(ADDRESS)}:(\d+)", line)
        if found:
            return int(found[1])
    raise AssertionError(f"{pid} does not listen: {resources('cm_id')}")


def datagram_queues(pid):
    return [re.search(r"lqpn (\d+)", line)[1] for line in resources("qp") if "type UD " in line and f" pid {pid} " in line]


def processor_seconds(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as stat:
        words = stat.read().rsplit(")", 1)[1].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


class Attacker:
    """`attacker connect`, at each of the processes; what it has opened is open until the block ends."""

    def __init__(self, pids, data, then, count):
        self.running = [subprocess.Popen([*OTHER_USER, program("attacker"), "connect", ADDRESS, str(port_of(pid)), data, then, str(count)],
                                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd="/tmp") for pid in pids]

    def said(self):
        """What has come of all connections, as numbers by their word."""
        words = " ".join(one.stdout.readline() for one in self.running).split()
        return {name: sum(int(words[i + 1]) for i in range(len(words)) if words[i] == name) for name in set(words[::2])}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for one in self.running:
            one.stdin.close()
        for one in self.running:
            one.wait(LONGEST)
            one.stdout.close()


class HeldJob:
    """A job of two nodes, whose ranks are in fences until go_on() and then until the end; `servers` are its
    daemons, by node."""

    def __init__(self, test, fabric, prefix=()):
        folder = pathlib.Path(os.environ.get("TMPDIR", "/tmp"))
        self.test, self.flags = test, [folder / f"weftrun-{name}-{os.getpid()}" for name in ("quiet", "end")]
        for flag in self.flags:
            test.addCleanup(lambda flag=flag: flag.unlink(missing_ok=True))
        quiet, end = self.flags
        self.job = job(fabric, 2, ["init", "put:200", "commit", "fence", "reach:here", f"fences_until:{quiet}", "reach:quiet", f"until:{end}",
                                   "get:0", "get:1", "collect", "get:0", "get:1", "finalize"], prefix=prefix)
        test.addCleanup(self.job.close)
        ranks = self.job.reach("here", 2, LONGEST)
        self.servers = [self.job.server_of(ranks[rank]) for rank in (0, 1)]

    def sizes(self):
        return [(memory_of(pid), count_descriptors(pid)) for pid in self.servers]

    def ends_well(self):
        """The fences go on, no daemon spins, and the job ends well."""
        quiet, end = self.flags
        quiet.touch()
        self.job.reach("quiet", 2, LONGEST)
        before, begin = [processor_seconds(pid) for pid in self.servers], time.monotonic()
        time.sleep(4)
        spent, taken = [processor_seconds(pid) for pid in self.servers], time.monotonic() - begin
        for of_one, was in zip(spent, before):
            self.test.assertLess(of_one - was, taken / 2, "a daemon of a job whose ranks wait")
        end.touch()
        outcome = good_end(self.test, self.job)
        self.test.assertIn(b"fences ", outcome.out)

    def ends_with_a_line(self, node):
        """A library that parses what strangers send may end its process: then a line names the node, and
        nothing is left."""
        with contextlib.suppress(AssertionError):
            wait_until(lambda: self.job.process.poll() is not None, "the end of the job", 30)
        if self.job.process.poll() is None:
            return self.ends_well()
        outcome = self.job.finish(LONGEST)
        self.test.assertEqual(outcome.status, 125, outcome)
        named = f"{os.uname().nodename}-v{node}"
        self.test.assertTrue(any(line.startswith("weftrun: ") and named in line for line in outcome.lines()), outcome)
        self.test.assertEqual(self.job.left(), [])
        return print(f"the job ended: {next(line for line in outcome.lines() if line.startswith('weftrun: '))}", flush=True)


class Connections(unittest.TestCase):
    """At the port of rdma_cm at which each server over `ofi` listens."""

    def at_a_job(self, data, then, count, expected, rounds=1):
        held = HeldJob(self, "ofi")
        before, most = held.sizes(), 0
        for at in range(rounds):
            with Attacker(held.servers, data, then, count) as attacker:
                said = attacker.said()
                self.assertGreaterEqual(said[expected], count, said)
                most = max(most, count if then == "silent" else 1)
            wait_until(lambda: all(now <= was for (_, now), (_, was) in zip(held.sizes(), before)), "descriptors are closed", LONGEST)
            print(f"{then} {at}: {said}, KiB and descriptors {before} -> {held.sizes()}", flush=True)
        for (now, _), (was, _) in zip(held.sizes(), before):
            self.assertLess(now - was, MOST_BESIDE + most * MOST_OF_A_CONNECTION)
        held.ends_well()

    def test_garbage_for_a_hello(self):
        self.at_a_job("garbage", "close", 100, "refused")

    def test_no_hello(self):
        self.at_a_job("none", "close", 100, "refused")

    def test_requests_without_an_end(self):
        self.at_a_job(recorded_hello(), "half", HALF_OPEN, "asked")

    def test_connect_and_close(self):
        self.at_a_job(recorded_hello(), "close", 100, "established")

    def test_connected_and_silent(self):
        """Three times: what a connection has taken is there for the next."""
        self.at_a_job(recorded_hello(), "silent", 50, "established", rounds=3)


    def test_silent_ones_with_little_locked_memory(self):
        """What a user may lock bounds what strangers take; root's capability, which bounds nothing, is left
        behind."""
        most = 16 << 10  # KiB
        held = HeldJob(self, "ofi", ("prlimit", f"--memlock={most << 10}", "setpriv", "--bounding-set=-ipc_lock", "--inh-caps=-ipc_lock"))
        before = held.sizes()[1]
        with Attacker(held.servers[1:], recorded_hello(), "silent", 2 * most // 256) as attacker:
            said = attacker.said()
            print(f"{said}, KiB and descriptors {before} -> {held.sizes()[1]}", flush=True)
            self.assertGreater(said["established"], 10)
            self.assertGreater(said["refused"], 10)
            self.assertLess(held.sizes()[1][0] - before[0], MOST_BESIDE + 2 * most)
        held.ends_well()


class Speaking(unittest.TestCase):
    """Bytes that libfabric or UCX parse before Weft sees them."""

    def test_garbage_in_messages_of_ofi(self):
        hello, held = recorded_hello(), HeldJob(self, "ofi")
        with Attacker(held.servers[1:], hello, "speak", 10) as attacker:
            self.assertGreaterEqual(attacker.said()["established"], 1)
            held.ends_with_a_line(1)

    def test_a_hello_in_the_name_of_a_node(self):
        """From the same host, with the port of the other daemon: to ofi_rxm that is the other daemon, which
        has connected anew."""
        hello, held = recorded_hello(), HeldJob(self, "ofi")
        with Attacker(held.servers[1:], f"{hello}:{port_of(held.servers[0])}", "silent", 1) as attacker:
            self.assertGreaterEqual(attacker.said()["established"], 1)
            held.ends_with_a_line(1)

    def datagrams(self, key, count):
        held = HeldJob(self, "ucx")
        queues = datagram_queues(held.servers[1])
        self.assertTrue(queues, resources("qp"))
        return held, ended(program("attacker"), "datagrams", hex(key), "1", str(count), *queues)

    def test_datagrams_with_another_key(self):
        """The card drops them: what the next test sends does arrive."""
        held, said = self.datagrams(0x11111111, 1000)
        self.assertEqual(said, "sent 1000 dropped for their key 1000")
        held.ends_well()

    def test_datagrams_to_ucx(self):
        held, said = self.datagrams(UCX_QKEY, 1000)
        self.assertRegex(said, "^sent [1-9][0-9]* dropped for their key 0$")
        held.ends_with_a_line(1)


class Victim:
    """`victim serve`: memory that is exposed, beside memory that is not."""

    def __init__(self, test, *words, name="victim", lines=("address", "key", "closed"), env=()):
        self.process = subprocess.Popen([program(name), *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, **dict(env)})
        test.addCleanup(self.end)
        self.words = words
        self.said = {name: self.read(name) for name in lines}

    def read(self, word):
        """UCX, too, says what it has to say on standard output."""
        for line in self.process.stdout:
            if line.startswith(word + " "):
                return line.split()[1]
        raise AssertionError(f"the victim has ended: {self.process.wait(LONGEST)}")

    def memory(self):
        """A page that is not exposed, then the region, and what follows it."""
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return bytes.fromhex(self.read("bytes"))

    def read_well(self, key="key"):
        return ended(program("victim"), "read", *self.words[1:], self.said["address"], self.said[key])

    def end(self):
        self.process.stdin.close()
        self.process.wait(LONGEST)
        self.process.stdout.close()


PAGE = 4096


class Memory(unittest.TestCase):
    """A stranger whose queue pair is connected to the victim's, with keys that it was told or guesses."""

    def parts(self, packed):
        """Of a key of transport/ofi (transport/ofi/memory.cpp): address, length, key."""
        _, _, base, _, length, key = struct.unpack("<IIQQQQ", bytes.fromhex(packed))
        return base, length, key

    def carry_out(self, port, hello, *words):
        return ended(program("attacker"), "memory", ADDRESS, str(port), hello, *map(str, words)).rsplit(" ", 1)

    def test_ofi(self):
        victim, hello = Victim(self, "serve", *VERBS), recorded_hello()
        base, length, key = self.parts(victim.said["key"])
        closed_base, _, closed_key = self.parts(victim.said["closed"])
        port, before = port_of(victim.process.pid), victim.memory()
        region = before[PAGE:PAGE + length]
        self.assertEqual(victim.read_well(), "bytes " + region.hex())
        self.assertEqual(self.carry_out(port, hello, "read", base, key, 16), ["success", region[:16].hex()])
        for words in (("write", base, key, 16), ("add", base, key, 8), ("swap", base, key, 8), ("read", base + length, key, 8),
                      ("read", base + length - 4, key, 8), ("read", base - 8, key, 8), ("read", base, key + 1, 8), ("read", base, key - 1, 8),
                      ("read", closed_base, closed_key, 8)):
            with self.subTest(words):
                status, came = self.carry_out(port, hello, *words)
                self.assertEqual(status, "remote access error")
                self.assertEqual(came, "aa" * words[3], "what the attacker's own buffer held")
                self.assertEqual(victim.memory(), before)
        self.assertEqual(victim.read_well(), "bytes " + region.hex())
        self.assertRegex(victim.read_well("closed"), "^error ")

    def test_where_all_is_allowed(self):
        """The same operations change memory that is registered for them, so that the test above could
        fail."""
        victim = Victim(self, "open", ADDRESS, name="attacker", lines=("port", "base", "key"))
        port, base, key = (int(victim.said[name]) for name in ("port", "base", "key"))
        self.assertEqual(victim.memory(), bytes([1]) + bytes(63))
        for words, after in ((("swap", base, key, 8), bytes([2])), (("add", base, key, 8), bytes([3])), (("write", base, key, 16), b"\xaa" * 16)):
            self.assertEqual(self.carry_out(port, "none", *words)[0], "success")
            self.assertEqual(victim.memory(), after.ljust(64, b"\0"))


class MemoryOfUcx(unittest.TestCase):
    """What UCX 1.13 lets a stranger do that has the address of a worker over a card, and more than it should.
    A test that fails here says that a newer UCX does better: SECURITY.md and decision 0007 are to follow."""

    def carry_out(self, victim, transports, what, offset, key="key"):
        said = ended(program("ucp_attacker"), what, victim.said["address"], victim.said[key], str(offset), env={"UCX_TLS": transports})
        return said.rsplit(" ", 1)

    def test_the_card_keeps_to_regions_and_not_to_reading(self):
        victim = Victim(self, "serve", *UCX)
        before = victim.memory()
        self.assertEqual(victim.read_well(), "bytes " + before[PAGE:PAGE + 256].hex())
        self.assertEqual(self.carry_out(victim, "^tcp", "get", 0), ["Success", before[PAGE:PAGE + 8].hex()])
        for what, offset in (("get", 256), ("get", -8), ("put", 256), ("put", -8)):
            with self.subTest((what, offset)):
                status, came = self.carry_out(victim, "^tcp", what, offset)
                self.assertNotEqual(status, "Success")
                self.assertEqual(came, "00" * 8)
                self.assertEqual(victim.memory(), before)
        self.assertEqual(victim.read_well(), "bytes " + before[PAGE:PAGE + 256].hex())
        # Stays open: UCX registers for writing, whatever ucp_mem_map is told.
        self.assertEqual(self.carry_out(victim, "^tcp", "put", 0)[0], "Success")
        self.assertNotEqual(victim.memory(), before)

    def test_a_region_that_was_closed(self):
        """UCX would keep what it has registered while its memory is mapped; Weft tells it not to, and a user
        could."""
        for env, is_open in (({}, False), ({"UCX_IB_REG_METHODS": "rcache"}, True)):
            victim = Victim(self, "serve", *UCX, env=env)
            self.assertEqual(self.carry_out(victim, "^tcp", "get", 0)[0], "Success")
            self.assertEqual(self.carry_out(victim, "^tcp", "get", 0, "closed")[0] == "Success", is_open)

    def test_datagrams_reach_all_memory(self):
        """Stays open: where UCP itself carries reads and writes out, it asks for no key."""
        victim = Victim(self, "serve", *UCX)
        before = victim.memory()
        self.assertEqual(self.carry_out(victim, "ud_verbs", "get", -8), ["Success", before[PAGE - 8:PAGE].hex()])
        self.assertEqual(self.carry_out(victim, "ud_verbs", "put", -8)[0], "Success")
        self.assertNotEqual(victim.memory()[PAGE - 8:PAGE], before[PAGE - 8:PAGE])


def byte_of_card(rank, at):
    """What weftrun_client puts: `byte_of_card` in tests/multiproc/harness/weftrun_client.c."""
    mixed = (rank * 0x9e3779b9 + at) % 2**32
    mixed = (mixed ^ mixed >> 15) * 0x2c1b3c6d % 2**32
    mixed = (mixed ^ mixed >> 12) * 0x297a2d39 % 2**32
    return mixed >> 24


def alter(pid, value):
    """Changes a byte in each copy of the value in the memory that a process shares; returns what puts them
    back. As root."""
    found = []
    with open(f"/proc/{pid}/maps", encoding="utf-8") as maps, open(f"/proc/{pid}/mem", "r+b", buffering=0) as memory:
        for line in maps:
            words = line.split()
            if not words[1].startswith("rw-s"):
                continue
            first, last = (int(word, 16) for word in words[0].split("-"))
            with contextlib.suppress(OSError):
                for at in range(first, last, 1 << 20):
                    piece = os.pread(memory.fileno(), min((1 << 20) + len(value), last - at), at)
                    place = piece.find(value)
                    while place >= 0:
                        found.append(at + place + len(value) // 2)
                        place = piece.find(value, place + 1)
        for at in set(found):
            byte, = os.pread(memory.fileno(), 1, at)
            os.pwrite(memory.fileno(), bytes([byte ^ 0x10]), at)

    def put_back():
        with open(f"/proc/{pid}/mem", "r+b", buffering=0) as memory:
            for at in set(found):
                byte, = os.pread(memory.fileno(), 1, at)
                os.pwrite(memory.fileno(), bytes([byte ^ 0x10]), at)
    return len(set(found)), put_back


class ForgedCard(unittest.TestCase):
    """A byte of a card changes in the page that other nodes read, while the daemon that owns it is stopped
    and cannot be asked."""

    SIZE = 200

    def check(self, fabric, is_forged):
        flag = pathlib.Path(os.environ.get("TMPDIR", "/tmp")) / f"weftrun-go-{os.getpid()}"
        self.addCleanup(lambda: flag.unlink(missing_ok=True))
        words = ["init", f"put:{self.SIZE}", "commit", "fence", "reach:here", "only:0", "hold", "get:2", "reach:got", "all", f"until:{flag}", "finalize"]
        with job(fabric, 3, words, env={"WEFT_LOST_AFTER": "1000"}) as run:
            rank = run.reach("here", 3, LONGEST)[2]
            owner = run.server_of(rank)
            os.kill(owner, signal.SIGSTOP)
            value = bytes(byte_of_card(2, at) for at in range(self.SIZE))
            count, put_back = alter(rank, value)
            self.assertEqual(count, 1, "where the card that weftrun_client has put lies in this test's reckoning")
            if not is_forged:
                put_back()
            run.release()
            if is_forged:
                with self.assertRaises(AssertionError):  # the client compares each byte, and would end
                    run.reach("got", seconds=10)
                self.assertIsNone(run.process.poll())
                put_back()
            else:
                run.reach("got", seconds=LONGEST)
            os.kill(owner, signal.SIGCONT)
            run.reach("got", seconds=LONGEST)
            flag.touch()
            good_end(self, run)

    def test_ofi(self):
        self.check("ofi", True)

    def test_ofi_as_it_was(self):
        self.check("ofi", False)

    def test_ucx(self):
        self.check("ucx", True)

    def test_ucx_as_it_was(self):
        self.check("ucx", False)


if __name__ == "__main__":
    if not has_card():
        raise SystemExit(f"there is no {CARD} here: scripts/rdma_lab run ...")
    subprocess.run(["chmod", "666", *(f"/dev/infiniband/{device}" for device in os.listdir("/dev/infiniband"))], check=True)
    unittest.main(verbosity=2)

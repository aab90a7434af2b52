# SPDX-License-Identifier: BSD-3-Clause
"""Keys of nodes, from weftrun's command line and hostfile to each process; and what they are for: ranks whose
addresses follow from a rule connect with no exchange before.

Needs WEFTRUN and INSTANT_ON_CLIENT (paths); ctest sets both.
"""
import os
import random
import socket
import subprocess
import tempfile
import unittest

from weftrun_common import finish, kill_quietly, own_lines, read_lines, run, start

CLIENT = os.environ["INSTANT_ON_CLIENT"]
AGENT = ["--agent", "sh -c {command}"]  # each host of a file is this machine
WAYS = {"segment": {}, "messages": {"WEFT_NO_SEGMENT": "1"}}
EPHEMERAL = range(32768, 61000)  # a connect to a port of these may meet itself
PORT_IN_USE = 3


def free_ports(count, each):
    """So many first ports, with `each` free ones from each on, as far as can be said before they are used."""
    found = []
    while len(found) < count:
        first = random.randrange(10000, EPHEMERAL.start - each)
        if any(abs(first - other) < each for other in found):
            continue
        sockets = [socket.socket() for _ in range(each)]
        try:
            for offset, one in enumerate(sockets):
                one.bind(("127.0.0.1", first + offset))
            found.append(first)
        except OSError:
            pass
        finally:
            for one in sockets:
                one.close()
    return found


class InstantOn(unittest.TestCase):
    def setUp(self):
        self.files = tempfile.TemporaryDirectory()
        self.addCleanup(self.files.cleanup)

    def hostfile(self, *lines):
        path = os.path.join(self.files.name, "hosts")
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(line + "\n" for line in lines)
        return ["--hostfile", path, *AGENT]

    def lines(self, *args, env=None):
        done = run(*args, env=dict(os.environ, **(env or {})))
        self.assertEqual((done.returncode, own_lines(done.stderr)), (0, []), done.stderr)
        return sorted(done.stdout.decode().splitlines())


class Keys(InstantOn):
    def test_each_rank_has_those_of_all_nodes(self):
        nodes = self.hostfile("a slots=2 data:port=1 data:net=tcp", "b slots=1 data:port=2")
        for name, env in WAYS.items():
            with self.subTest(name):
                expected = [f"{rank} {peer}" for rank in range(3) for peer in ("0 a tcp 1", "1 a tcp 1", "2 b ib 2")]
                self.assertEqual(self.lines(*nodes, "--node-data", "net=ib", CLIENT, "keys", "net", "port", env=env), expected)

    def test_on_virtual_nodes_and_on_one(self):
        words = ["--node-data", "net=ib", "-n", "2", CLIENT, "keys", "net", "other"]
        for nodes in ([], ["--virtual-nodes", "2"], ["-H", "localhost:2"]):
            for name, env in WAYS.items():
                with self.subTest(nodes=nodes, way=name):
                    lines = self.lines(*nodes, *words, env=env)
                    self.assertEqual([line.split()[:2] + line.split()[3:] for line in lines],
                                     [[str(rank), str(peer), "ib", "-"] for rank in range(2) for peer in range(2)])

    def test_the_addresses_of_the_machine_are_there(self):
        told = subprocess.run(["hostname", "-I"], capture_output=True, text=True, check=True).stdout.split()
        for nodes in (["-H", "localhost:2"], ["--virtual-nodes", "2"], self.hostfile("localhost", "b")):
            for name, env in WAYS.items():
                with self.subTest(nodes=nodes, way=name):
                    lines = self.lines(*nodes, "-n", "2", CLIENT, "keys", "weft.address", env=env)
                    self.assertEqual(len(lines), 4)
                    for line in lines:
                        addresses = line.split()[3]
                        self.assertEqual([] if addresses == "-" else sorted(addresses.split(",")), sorted(set(told)))

    def test_a_spawned_job_has_those_of_its_nodes(self):
        nodes = self.hostfile("a slots=2 data:port=1", "b slots=2 data:port=2")
        lines = self.lines(*nodes, "--map-by", "node", "-n", "2", CLIENT, "spawn", "port")
        self.assertEqual(lines, ["0 0 a 1", "0 1 b 2", "1 0 a 1", "1 1 b 2"])

    def test_jobs_of_a_service_have_those_of_its_nodes(self):
        name = f"i{os.getpid()}"
        nodes = self.hostfile("a slots=1 data:port=1", "b slots=1 data:port=2")
        service = start(f"--dvm={name}", *nodes, "--node-data", "net=ib")
        try:
            self.assertIn("ready", read_lines(service.stderr, 1)[0])
            words = [f"--attach={name}", "-n", "2", CLIENT, "keys", "net", "port"]
            for _ in range(2):
                self.assertEqual(self.lines(*words), ["0 0 a ib 1", "0 1 b ib 2", "1 0 a ib 1", "1 1 b ib 2"])
            with open(os.path.join(self.files.name, "more"), "w", encoding="utf-8") as file:
                file.write("c slots=1 data:port=3\n")
            words[1:3] = ["--add-hostfile", file.name, "-n", "3"]
            self.assertEqual(self.lines(*words)[-3:], ["2 0 a ib 1", "2 1 b ib 2", "2 2 c ib 3"])
            self.assertEqual(run(f"--stop-dvm={name}").returncode, 0)
            self.assertEqual(finish(service)[0], 0)
        finally:
            kill_quietly(service)

    def test_what_is_wrong_is_named(self):
        for words, line in (
                (["--node-data", "net"], "--node-data: the key 'net' has no value; write KEY=VALUE"),
                (["--node-data", "pmix.net=x"], "--node-data: the key 'pmix.net' is reserved"),
                (self.hostfile("a", "b data:net"), "line 2: the key 'net' has no value; write KEY=VALUE")):
            with self.subTest(line):
                done = run(*words, CLIENT, "keys")
                self.assertEqual((done.returncode, done.stdout), (2, b""))
                self.assertIn(line, own_lines(done.stderr)[0])


class Rule(InstantOn):
    def connect(self, env):
        """On three nodes of two ranks each. False: another program has had a port of the rule meanwhile."""
        nodes = [f"n{node} slots=2 data:net.port={port}" for node, port in enumerate(free_ports(3, 2))]
        done = run(*self.hostfile(*nodes), "--node-data", "net.address=127.0.0.1", CLIENT, "connect", env=dict(os.environ, **env))
        if done.returncode == PORT_IN_USE:
            return False
        self.assertEqual((done.returncode, done.stdout), (0, b"connected 6\n"), done.stderr)
        return True

    def test_ranks_connect_without_an_exchange(self):
        for name, env in WAYS.items():
            with self.subTest(name):
                while not self.connect(env):
                    pass


class Measure(InstantOn):
    def test_comes_to_its_end(self):
        lines = self.lines("--virtual-nodes", "2:2", "--node-data", "net.address=127.0.0.1", "--node-data", "net.port=7000", CLIENT, "measure")
        self.assertEqual([line.split()[:2] for line in lines], [[what, "2"] for what in ("card_on_demand", "rule", "rule_again")])


if __name__ == "__main__":
    unittest.main()

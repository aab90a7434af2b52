#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Jobs over pretend hosts (scripts/hosts): one host loses its network; one is added.

Exit status 77: skipped, hosts cannot be made here; the reason is printed.
"""
import json
import os
import subprocess
import tempfile
import unittest
import uuid

from trace_reader import Trace
from weftrun_common import CLIENT, HOSTS_SCRIPT, WEFTRUN, finish, hosts, kill_quietly, left_on, lives, on_hosts, own_lines, \
    read_lines, wait_until, with_variable

SPAWN_CLIENT = os.environ["SPAWN_CLIENT"]
INSTANT_ON_CLIENT = os.environ["INSTANT_ON_CLIENT"]
SET = f"w{os.getpid()}h"
HOSTS = [f"{SET}{number}" for number in range(3)]


class OverHosts(unittest.TestCase):
    def setUp(self):
        self.mark = "WEFT_TEST_MARK=" + uuid.uuid4().hex
        name, value = self.mark.split("=")
        self.files = tempfile.TemporaryDirectory()
        self.env = {key: text for key, text in os.environ.items() if key != "WEFT_NET"}
        self.env.update({name: value, "TMPDIR": self.files.name, "WEFT_LOST_AFTER": "4"})
        self.job = None

    def tearDown(self):
        if self.job is not None:
            kill_quietly(self.job)
        for host in HOSTS:
            hosts("link", host, "up")
        left = os.listdir(self.files.name)
        self.files.cleanup()
        self.assertEqual(left, [])

    def start(self, *args, nodes=HOSTS):
        agent = f"{HOSTS_SCRIPT} run {{host}} sh -c {{command}}"
        self.job = subprocess.Popen(
            [HOSTS_SCRIPT, "run", HOSTS[0], WEFTRUN, "--host", ",".join(f"{host}:2" for host in nodes), "--agent", agent,
             "-n", str(2 * len(nodes)), *args], env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        return self.job

    def nothing_is_left(self):
        wait_until(lambda: not with_variable(self.mark), "the end of all processes on all hosts")
        for host in HOSTS:
            self.assertEqual(left_on(host), [], host)


class NetworkGoesAway(OverHosts):
    def test_the_job_ends(self):
        job = self.start(CLIENT, "init", "fence", "pid", "only:0", "wait", "all", "fence", "say:on", "finalize")
        pids = dict(map(int, line.split()) for line in read_lines(job.stdout, 7) if line != "waiting")
        self.assertEqual(sorted(pids), list(range(6)))
        self.assertEqual(hosts("link", HOSTS[2], "down").returncode, 0)
        status, out, err = finish(job)
        self.assertEqual(out, b"")
        own = own_lines(err)
        self.assertEqual(len(own), 1, err)
        self.assertEqual(status, 125, err)  # and not that of a rank that leaves because its fence has failed
        self.assertIn(f"node {HOSTS[2]} is lost", own[0])
        wait_until(lambda: not any(lives(pid) for pid in pids.values()), "the end of all ranks")
        self.nothing_is_left()

    def test_the_others_go_on(self):
        job = self.start("--on-failure", "continue", CLIENT, "init", "watch", "fence", "pid", "only:4", "wait", "all", "only:5",
                         "wait", "all", "fence_aborted", "hears:4", "hears:5", "hears_node:2", "fence_of:0,1,2,3",
                         "say:on", "finalize")
        pids = dict(map(int, line.split()) for line in read_lines(job.stdout, 8) if line != "waiting")
        self.assertEqual(hosts("link", HOSTS[2], "down").returncode, 0)
        status, out, err = finish(job)
        self.assertEqual((status, out), (125, b"on\n" * 4), err)
        own = own_lines(err)
        self.assertEqual(len(own), 2, err)
        self.assertIn(f"node {HOSTS[2]} is lost", own[0])
        self.assertIn("ranks 4-5 ended with it, the others go on", own[0])
        self.assertIn(f"exit status 125 is that of node {HOSTS[2]}", own[1])
        wait_until(lambda: not any(lives(pid) for pid in pids.values()), "the end of all ranks")
        self.nothing_is_left()


class StartIsAccountedFor(OverHosts):
    def account(self, err):
        return json.loads(next(line for line in err.decode().splitlines() if line.startswith("{")))

    def test_through_a_tree_of_daemons(self):
        job = self.start("--report", "launch:json", "--agent-arity", "1", CLIENT, "init", "put:100", "commit", "fence", "get:0",
                         "get:5", "fence", "finalize")
        status, _, err = finish(job)
        self.assertEqual(status, 0, err)
        told = self.account(err)
        nodes = {phase["phase"]: (phase.get("nodes"), phase.get("of")) for phase in told["phases"]}
        self.assertEqual((nodes["connect"], nodes["order"]), ((2, 2), (2, 2)))
        for name in ("map", "spawn", "load", "init", "first fence", "first touch"):
            self.assertEqual(nodes[name], (3, 3), name)
        self.assertEqual(told["silent"], [])
        self.nothing_is_left()

    def test_a_lost_node_tells_nothing(self):
        job = self.start("--report", "launch:json", CLIENT, "init", "fence", "pid", "wait")
        pids = dict(map(int, line.split()) for line in read_lines(job.stdout, 7) if line != "waiting")
        self.assertEqual(hosts("link", HOSTS[2], "down").returncode, 0)
        status, _, err = finish(job)
        self.assertEqual(status, 125, err)
        self.assertEqual(self.account(err)["silent"], [HOSTS[2]])
        wait_until(lambda: not any(lives(pid) for pid in pids.values()), "the end of all ranks")
        self.nothing_is_left()


class JobIsTraced(OverHosts):
    def setUp(self):
        super().setUp()
        self.folder = tempfile.TemporaryDirectory()
        self.file = os.path.join(self.folder.name, "trace.json")
        self.env["WEFT_TRACE"] = self.file

    def tearDown(self):
        left = os.listdir(self.folder.name)
        self.folder.cleanup()
        super().tearDown()
        self.assertEqual(left, ["trace.json"])

    def trace_of(self, job, status):
        done, _, err = finish(job)
        self.assertEqual(done, status, err)
        return Trace(self.file)

    def test_through_a_tree_of_daemons(self):
        job = self.start("--agent-arity", "1", CLIENT, "init", "put:100", "commit", "fence", "get:0", "get:5", "fence", "finalize")
        trace = self.trace_of(job, 0)
        self.assertEqual(trace.about["nodes_without_trace"], [])
        self.assertEqual(sorted(trace.nodes.values()), [f"node {number}: {HOSTS[number]}" for number in range(3)])
        for rank in range(6):
            calls = [call for call in trace.calls(f"rank {rank}") if call != "PMIx_Get"]
            self.assertEqual(calls, ["PMIx_Init", "PMIx_Put", "PMIx_Commit", "PMIx_Fence", "PMIx_Fence", "PMIx_Finalize"])
        errors = [node["clock_error_us"] for node in trace.about["nodes"]]
        self.assertEqual(errors[0], 0, "weftrun's own node")
        self.assertTrue(all(error > 0 for error in errors[1:]), errors)
        # On whatever clocks: no rank leaves a fence before the last is in it.
        fences = [next(event for event in trace.tracks[f"rank {rank}"] if event["name"] == "PMIx_Fence") for rank in range(6)]
        self.assertLessEqual(max(fence["ts"] for fence in fences), min(fence["ts"] + fence["dur"] for fence in fences) + 2 * max(errors))
        self.nothing_is_left()

    def test_a_lost_node_is_named(self):
        job = self.start(CLIENT, "init", "fence", "pid", "wait")
        pids = dict(map(int, line.split()) for line in read_lines(job.stdout, 12) if line != "waiting")
        self.assertEqual(hosts("link", HOSTS[2], "down").returncode, 0)
        trace = self.trace_of(job, 125)
        self.assertEqual(trace.about["nodes_without_trace"], [HOSTS[2]])
        for rank in range(4):
            self.assertEqual(trace.calls(f"rank {rank}"), ["PMIx_Init", "PMIx_Fence"])
        wait_until(lambda: not any(lives(pid) for pid in pids.values()), "the end of all ranks")
        self.nothing_is_left()


class AddressesAreKnown(OverHosts):
    def test_each_node_has_those_of_its_host(self):
        expected = [sorted(hosts("run", host, "hostname", "-I").stdout.split()) for host in HOSTS]
        self.assertEqual(len({tuple(addresses) for addresses in expected}), len(HOSTS), expected)
        status, out, err = finish(self.start(INSTANT_ON_CLIENT, "keys", "weft.address"))
        self.assertEqual((status, err), (0, b""))
        lines = [line.split() for line in out.decode().splitlines()]
        self.assertEqual(len(lines), 36)
        for _, peer, host, addresses in lines:
            self.assertEqual((host, sorted(addresses.split(","))), (HOSTS[int(peer) // 2], expected[int(peer) // 2]))
        self.nothing_is_left()

    def test_ranks_connect_by_them_without_an_exchange(self):
        status, out, err = finish(self.start("--node-data", "net.port=7000", INSTANT_ON_CLIENT, "connect"))
        self.assertEqual((status, out), (0, b"connected 6\n"), err)
        self.nothing_is_left()


class HostIsAdded(OverHosts):
    def test_to_daemons(self):
        self.spawn_there(HOSTS[:2])

    def test_to_one_node(self):
        self.spawn_there(HOSTS[:1], "--grow", "1")

    def spawn_there(self, nodes, *options):
        child = [f"arg:{word}" for word in ("init", "host", "connect", "fence", "disconnect", "finalize")]
        job = self.start(*options, SPAWN_CLIENT, "init", "only:0", "program:me", *child, "ranks:2", f"text:pmix.addhost={HOSTS[2]}:2",
                         f"text:pmix.host={HOSTS[2]}", "spawn", "all", "meet", "child:1", "connect", "fence", "disconnect", "finalize", nodes=nodes)
        status, out, err = finish(job)
        self.assertEqual((status, err), (0, b""))
        self.assertEqual(sorted(out.decode().splitlines()), [*[f"host {HOSTS[2]}"] * 2, "spawn PMIX_SUCCESS 1"])
        self.nothing_is_left()


if __name__ == "__main__":
    on_hosts(SET, len(HOSTS), unittest.main)

# SPDX-License-Identifier: BSD-3-Clause
"""weftinfo of a launch: jobs that processes have spawned, groups, process sets, published names, memory."""
import json
import os
import subprocess
import unittest

from weftrun_common import WATCHDOG, kill_quietly, read_lines, start, wait_until

CLIENT = os.environ["SPAWN_CLIENT"]
GROUPS = os.environ["WEFTRUN_CLIENT"]
WEFTINFO = os.environ["WEFTINFO"]
SHAPES = {"one node": (), "two nodes": ("--virtual-nodes", "2:8")}


def info(job, *options):
    done = subprocess.run([WEFTINFO, *options, str(job.pid)], capture_output=True, timeout=WATCHDOG, check=True)
    return done.stdout.decode()


def report(job):
    return json.loads(info(job, "--json"))


class Info(unittest.TestCase):
    def until_there(self, job):
        """Other ranks of the job may print before the one that prints "there"."""
        while (line := read_lines(job.stdout, 1)) != ["there"]:
            self.assertEqual(line, ["waiting"])

    def in_each_shape(self, *args):
        """A job that has printed "there" on one of its ranks, in each shape."""
        for shape, options in SHAPES.items():
            with self.subTest(shape=shape):
                job = start("--oversubscribe", *options, *args)
                try:
                    self.until_there(job)
                    yield job
                finally:
                    kill_quietly(job)

    def test_a_child_names_its_parent(self):
        words = ("-n", "2", CLIENT, "init", "only:1", "program:/bin/sleep", "arg:1000", "ranks:2", "spawn", "wait", "all", "wait")
        for shape, options in SHAPES.items():
            with self.subTest(shape=shape):
                job = start("--oversubscribe", *options, *words)
                try:
                    self.assertIn("spawn PMIX_SUCCESS", read_lines(job.stdout, 1)[0])
                    jobs = report(job)["jobs"]
                    parents = [one["parent"]["rank"] for one in jobs if "parent" in one]
                    names = [one["parent"]["namespace"] for one in jobs if "parent" in one]
                    self.assertEqual((parents, names), ([1], [one["namespace"] for one in jobs if "parent" not in one]))
                    self.assertRegex(info(job), r"job \S+\.1: 2 ranks on \d nodes?, spawned by rank 1 of \S+: ")
                finally:
                    kill_quietly(job)

    def test_published_names_are_listed_without_values(self):
        for job in self.in_each_shape("-n", "2", CLIENT, "init", "only:0", "names:300", "say:there", "wait", "all", "wait"):
            nodes = report(job)["nodes"]
            self.assertEqual(sum(node.get("published_count", 0) for node in nodes), 300)
            named = [name for node in nodes for name in node.get("published", [])]
            self.assertTrue(named and all(name["rank"] == 0 and name["bytes"] > 0 for name in named))
            self.assertTrue(all(set(name) == {"key", "namespace", "rank", "range", "persistence", "bytes"} for name in named))
            self.assertRegex(info(job), r"300 published names:\n(  .* by rank 0 of .*\n){20}  and 280 more\n")

    def test_groups_and_process_sets_are_listed_with_their_members(self):
        for job in self.in_each_shape("-n", "1", "--pset", "left", GROUPS, "init", "construct:g", "say:there", "wait", ":",
                                      "-n", "2", "--pset", "right", GROUPS, "init", "construct:g", "wait"):
            seen = report(job)
            self.assertEqual([group["name"] for group in seen["groups"]], ["g"])
            self.assertEqual({one["name"]: (one["procs"][0]["first"], one["procs"][0]["last"]) for one in seen["sets"]},
                             {"left": (0, 0), "right": (1, 2)})
            text = info(job)
            self.assertRegex(text, r"\ngroup g: \S+")
            self.assertRegex(text, r"\nprocess set right: \S+ ranks 1-2\n")

    def test_memory_is_told_by_region(self):
        for job in self.in_each_shape("-n", "2", GROUPS, "init", "put:5000", "commit", "only:0", "say:there", "all", "wait"):
            def used(region, job=job):
                regions = [one for node in report(job)["nodes"] for one in node.get("memory", {"segment": []})["segment"]]
                self.assertTrue(all(one["used"] <= one["size"] for one in regions), regions)
                return sum(one["used"] for one in regions if one["region"] == region)
            wait_until(lambda used=used: used("cards") >= 10_000, "both cards")
            self.assertGreater(used("job data"), 0)
            self.assertIn("memory now", info(job, "--stats"))
            self.assertTrue(info(job, "--memory").startswith("memory now"))

    def test_collectives_are_chosen_alike_by_all_nodes(self):
        job = start("--virtual-nodes", "3:1", "-n", "3", GROUPS, "init", "only:0", "say:there", "all", "wait")
        try:
            self.until_there(job)
            nodes = report(job)["nodes"]
            self.assertEqual(len(nodes), 4)
            # A busy one may not answer in time.
            pids = [node["server_pid"] for node in nodes if "server_pid" in node]
            told = [json.loads(subprocess.run([WEFTINFO, "--json", str(pid)], capture_output=True, timeout=WATCHDOG,
                                              check=True).stdout)["collectives"] for pid in pids]
            self.assertTrue(told)
            self.assertEqual(told, told[:1] * len(told))
            self.assertIn("servers on one machine", told[0]["costs"])
            self.assertEqual(told[0]["choices"][0]["bytes_a_node"], 0)
            self.assertTrue(all(one["cost_ns"] > 0 and one["algorithm"] and one["other"] != one["algorithm"] for one in told[0]["choices"]))
            text = info(job, "--collectives")
            self.assertTrue(text.startswith("collectives of the 4 nodes of cluster "), text)
            self.assertIn(" would take ", text)
        finally:
            kill_quietly(job)

    def test_one_node_exchanges_nothing(self):
        job = start("-n", "1", GROUPS, "init", "say:there", "wait")
        try:
            self.until_there(job)
            self.assertIn("has one node", info(job, "--collectives"))
            self.assertEqual(report(job)["collectives"]["choices"], [])
        finally:
            kill_quietly(job)


if __name__ == "__main__":
    unittest.main(verbosity=2)

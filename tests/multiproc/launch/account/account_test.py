# SPDX-License-Identifier: BSD-3-Clause
"""The account of a start: --report launch, for people and for programs, of jobs that run and of others."""
import json
import os
import re
import tempfile
import unittest

from weftrun_common import CLIENT, own_lines, run, with_time_limits

OF_ALL = ["allocation", "server"]
OF_DAEMONS = ["agents", "connect", "order"]
OF_NODES = ["map", "spawn", "load", "init", "first fence"]
TWO_NODES = ("--virtual-nodes", "2:2")
# The cards travel in no fence, so that a Get of the other node's fetches one.
TOUCHES = (CLIENT, "init", "put:100", "commit", "fence", "get:0", "get:3", "fence", "finalize")


def account(done):
    """The line of JSON among what weftrun has said."""
    lines = [line for line in done.stderr.decode().splitlines() if line.startswith("{")]
    assert len(lines) == 1, done.stderr.decode()
    return json.loads(lines[0])


def phases(told):
    return {phase["phase"]: phase for phase in told["phases"]}


def is_reached(phase):
    return "microseconds" in phase or "median_microseconds" in phase


class Account(unittest.TestCase):
    def job(self, *words, status=0, **options):
        done = run("--report", "launch:json", *words, **options)
        self.assertEqual(done.returncode, status, done.stderr.decode())
        return account(done)

    def test_on_one_node_there_are_no_daemons(self):
        told = self.job("-n", "2", CLIENT, "init", "fence", "finalize")
        self.assertEqual([phase["phase"] for phase in told["phases"]], OF_ALL + OF_NODES)
        self.assertTrue(all(is_reached(phase) for phase in told["phases"]), told)
        self.assertEqual((told["ranks"], told["nodes"], told["silent"]), (2, 1, []))
        self.assertNotIn("bytes", phases(told)["first fence"])
        self.assertGreater(told["running_after_microseconds"], phases(told)["spawn"]["median_microseconds"])

    def test_on_two_nodes_each_tells(self):
        told = self.job(*TWO_NODES, "-n", "4", *TOUCHES, env={**os.environ, "WEFT_FENCE": "sparse"})
        of = phases(told)
        self.assertEqual(list(of), OF_ALL + OF_DAEMONS + OF_NODES + ["first touch"])
        self.assertTrue(all(is_reached(phase) for phase in told["phases"]), told)
        for name in OF_DAEMONS[1:] + OF_NODES + ["first touch"]:
            self.assertEqual(of[name]["nodes"], of[name]["of"], name)
            times = [node["microseconds"] for node in of[name]["slowest"]]
            self.assertEqual(times, sorted(times, reverse=True), name)
            self.assertGreaterEqual(times[0], of[name]["median_microseconds"], name)
        self.assertEqual(of["first touch"]["nodes"], 2)
        self.assertGreater(of["order"]["bytes"], 0)
        self.assertGreater(of["first fence"]["bytes"], 0)
        self.assertEqual(told["silent"], [])

    def test_a_fence_with_cards_leaves_nothing_to_touch(self):
        told = self.job(*TWO_NODES, "-n", "4", CLIENT, "init", "put:100", "commit", "collect", "get:0", "get:3", "finalize",
                        env={**os.environ, "WEFT_FENCE": "full"})
        self.assertFalse(is_reached(phases(told)["first touch"]), told)
        self.assertGreater(phases(told)["first fence"]["bytes"], 4 * 100)

    def test_programs_without_pmix_end_behind_spawn(self):
        for shape in ((), TWO_NODES):
            with self.subTest(shape=shape):
                of = phases(self.job(*shape, "-n", "2", "/bin/true"))
                self.assertTrue(is_reached(of["map"]) and is_reached(of["spawn"]))
                self.assertFalse(any(is_reached(of[name]) for name in ("load", "init", "first fence")), of)

    def test_for_people_it_is_lines_also_with_quiet(self):
        for options in ((), ("--quiet",)):
            done = run("--report=launch", *options, *TWO_NODES, "-n", "4", CLIENT, "init", "fence", "finalize")
            self.assertEqual(done.returncode, 0, done.stderr.decode())
            lines = own_lines(done.stderr)
            self.assertRegex(lines[0], r"^weftrun: start of job \S+, 4 ranks on 2 nodes, in milliseconds:$")
            self.assertRegex(lines[-1], r"^weftrun:   all ranks ran after \d+\.\d{3}$")
            number = r" +\d+\.\d{3}"
            for name in OF_ALL + ["agents"]:
                self.assertTrue(any(re.fullmatch(f"weftrun:   {name}{number}", line) for line in lines), lines)
            spread = r"  median of 2 nodes; slowest \S+ \d+\.\d{3}, \S+ \d+\.\d{3}"
            self.assertTrue(any(re.fullmatch(f"weftrun:   init{number}{spread}", line) for line in lines), lines)

    def test_without_the_option_nothing_is_said(self):
        done = run(*TWO_NODES, "-n", "2", CLIENT, "init", "fence", "finalize")
        self.assertEqual((done.returncode, done.stderr), (0, b""))

    def test_a_job_whose_rank_fails_has_come_that_far(self):
        for shape in ((), TWO_NODES):
            with self.subTest(shape=shape):
                of = phases(self.job(*shape, "-n", "4", "--oversubscribe", CLIENT, "init", "only:0", "exit:7", "all", "fence", status=7))
                self.assertTrue(is_reached(of["spawn"]))
                self.assertTrue(is_reached(of["init"]), of)

    def test_a_job_that_a_time_limit_ends_has_come_that_far(self):
        def try_limit(seconds):
            told = self.job("--timeout", str(seconds), *TWO_NODES, "-n", "4", CLIENT, "init", "only:3", "wait", "all", "fence", status=124)
            of = phases(told)
            self.assertFalse(is_reached(of["first fence"]), of)
            return is_reached(of["init"]) and of["init"]["nodes"] == 2 and told["silent"] == []
        with_time_limits(try_limit)

    def test_a_program_that_is_not_there_is_accounted_for_as_well(self):
        for shape, own in (((), True), (TWO_NODES, False)):
            with self.subTest(shape=shape):
                told = self.job(*shape, "-n", "2", "/no/such/program", status=127)
                self.assertTrue(is_reached(phases(told)["server"]))
                self.assertFalse(is_reached(phases(told)["init"]))
                self.assertNotIn("running_after_microseconds", told)

    def test_daemons_that_do_not_come_end_it_at_connect(self):
        with tempfile.TemporaryDirectory(prefix="account_") as folder:
            agent = os.path.join(folder, "agent")
            with open(agent, "w", encoding="utf-8") as file:
                file.write("#!/bin/sh\nexit 3\n")
            os.chmod(agent, 0o755)
            told = self.job("--host", "a.invalid,b.invalid", "--agent", agent, "-n", "2", "/bin/true", status=125)
            of = phases(told)
            self.assertTrue(is_reached(of["agents"]))
            self.assertFalse(is_reached(of["connect"]) or is_reached(of["order"]) or is_reached(of["map"]), of)
            self.assertEqual(sorted(told["silent"]), ["a.invalid", "b.invalid"])

    def test_what_processes_ask_for_is_no_part_of_it(self):
        told = self.job("-n", "1", "--oversubscribe", CLIENT, "init", "fence", "spawn:2", "finalize")
        self.assertEqual(told["ranks"], 1)


if __name__ == "__main__":
    unittest.main()

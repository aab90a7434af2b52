# SPDX-License-Identifier: BSD-3-Clause
"""The environment as weftrun and its servers read it: what is wrong is told once, and WEFT_LOG says what else
is told."""
import os
import re
import unittest

from weftrun_common import CLIENT, run

CLEAN = {name: value for name, value in os.environ.items() if not name.startswith("WEFT_")}
TWO_NODES = ("--virtual-nodes", "2", "-n", "4")
JOB = (CLIENT, "init", "fence", "finalize")
LINE = re.compile(r"weft: \[[^\]]+\] (\d\d:\d\d:\d\d\.\d{6} (\w+) (\w+): )?(.*)")


class Settings(unittest.TestCase):
    def lines(self, *words, **variables):
        """What is told on standard error, a (level, part, message) each; level and part are None without
        WEFT_LOG."""
        result = run(*words, *JOB, env=dict(CLEAN, WEFT_NET="lo", WEFT_TRANSPORT="shm", **variables))
        self.assertEqual(result.returncode, 0, result.stderr)
        told = []
        for line in result.stderr.decode().splitlines():
            match = LINE.fullmatch(line)
            self.assertIsNotNone(match, line)
            told.append((match[2], match[3], match[4]))
        return told

    def test_nothing_is_told_of_a_job_that_runs_well(self):
        for nodes in (("-n", "2"), TWO_NODES):
            self.assertEqual(self.lines(*nodes), [])

    def test_an_unknown_name_is_told_once_with_the_nearest_known_one(self):
        for nodes in (("-n", "2"), TWO_NODES):
            told = self.lines(*nodes, WEFT_FENSE="full", WEFT_TEST_MARK="1")
            self.assertEqual(told, [(None, None,
                                     "WEFT_FENSE is no setting of Weft and has no effect; was WEFT_FENCE meant?")])

    def test_a_value_that_is_not_accepted_is_told_once_and_the_default_holds(self):
        told = self.lines(*TWO_NODES, WEFT_STUCK_AFTER="never", WEFT_FENCE="half", WEFT_NO_SEGMENT="perhaps")
        self.assertEqual(sorted(message.split()[0] for _, _, message in told),
                         ["WEFT_FENCE=half", "WEFT_NO_SEGMENT=perhaps", "WEFT_STUCK_AFTER=never"])
        told = self.lines(*TWO_NODES, WEFT_COLLECTIVE="pigeons")
        self.assertEqual(len(told), 1, told)
        self.assertTrue(told[0][2].startswith("WEFT_COLLECTIVE=pigeons is not accepted (none of bruck,"), told)

    def test_a_wrong_log_level_is_told_and_changes_nothing(self):
        told = self.lines("-n", "2", WEFT_LOG="loud")
        self.assertEqual([message for _, _, message in told],
                         ["WEFT_LOG=loud is not accepted ('loud' is no level: off, error, warn, info, debug); "
                          "going on without it"])

    def test_info_tells_of_jobs_and_of_the_transport(self):
        told = self.lines(*TWO_NODES, WEFT_LOG="info")
        self.assertEqual({level for level, _, _ in told}, {"info"})
        registered = [message for _, part, message in told if part == "jobs" and "is registered" in message]
        self.assertEqual(len(registered), 2, told)  # at each server
        self.assertTrue(all("4 ranks on 2 nodes" in message for message in registered), registered)
        transport = [message for _, part, message in told if part == "transport"]
        # A line of each: two daemons and weftrun.
        self.assertEqual(transport, ["other nodes are reached by shm: it was asked for"] * 3)

    def test_levels_are_for_parts(self):
        told = self.lines(*TWO_NODES, WEFT_LOG="debug:clients,debug:fences")
        self.assertEqual({(level, part) for level, part, _ in told}, {("debug", "clients"), ("debug", "fences")})
        for words in ("is connected: pid", "has finalized"):
            self.assertEqual(sum(words in message for _, _, message in told), 4, (words, told))
        self.assertGreaterEqual(sum("a barrier begins" in message for _, _, message in told), 2, told)

    def test_off_is_off(self):
        self.assertEqual(self.lines("-n", "2", WEFT_LOG="off", WEFT_FENSE="1"), [])


if __name__ == "__main__":
    unittest.main(verbosity=2)

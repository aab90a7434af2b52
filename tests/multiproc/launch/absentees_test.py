# SPDX-License-Identifier: BSD-3-Clause
"""Ranks that end before PMIx_Init: calls of the others that wait for them end, alike on one node and on
several."""
import os
import unittest

from weftrun_common import CLIENT, own_lines, run

HOST = os.uname().nodename
# Where rank 1 is: beside the others, beside one of them, alone on its node.
SHAPES = {"one node": ("-n", "3"), "with others": ("--virtual-nodes", "2", "-n", "4"),
          "alone": ("--virtual-nodes", "2", "--map-by", "node", "-n", "2")}
CALLS = {"fence": "PMIX_ERR_PROC_ABORTED", "collect": "PMIX_ERR_PROC_ABORTED", "connect": "PMIX_ERR_PROC_ABORTED",
         "construct:g": "PMIX_ERR_PROC_ABORTED", "get:1": "PMIX_ERR_UNREACH"}


class Absentees(unittest.TestCase):
    def told(self, result, shape):
        """What each of the others was told, in the order of ranks, but that its PMIx_Finalize was good."""
        self.assertEqual(len(result.stdout.splitlines()), 2 * (int(SHAPES[shape][-1]) - 1), result)
        return sorted(line for line in result.stdout.decode().splitlines() if not line.endswith("PMIX_SUCCESS"))

    def test_a_rank_that_leaves_well(self):
        for shape, options in SHAPES.items():
            others = [rank for rank in range(int(options[-1])) if rank != 1]
            for call, status in CALLS.items():
                with self.subTest(shape=shape, call=call):
                    result = run(*options, "--timeout", "60", CLIENT, "only:1", "exit:0", "all", "init", "try", call, "try", "finalize")
                    self.assertEqual((result.returncode, result.stderr), (0, b""), result)
                    self.assertEqual(self.told(result, shape), [f"{rank} {status}" for rank in others])

    def test_weftrun_names_it_when_another_rank_fails(self):
        result = run("-n", "4", "--timeout", "60", CLIENT, "only:1", "exit:0", "all", "init", "fence", "finalize")
        self.assertEqual(result.returncode, 99, result)
        first, second = own_lines(result.stderr)
        self.assertRegex(first, rf"rank [023] on {HOST} .*exited with status 99")
        self.assertRegex(second, rf"before that rank 1 on {HOST} \(pid \d+, .*had ended with status 0 and without PMIx_Init .*What to do: ")

    def test_programs_without_the_library_are_no_news(self):
        result = run("-n", "1", CLIENT, "init", "finalize", ":", "-n", "2", "true")
        self.assertEqual((result.returncode, result.stderr), (0, b""))

    def test_a_rank_that_fails_while_the_job_goes_on(self):
        """Groups that are gathered in each of their ways."""
        ways = {"a construct": (["construct:g"], "PMIX_ERR_PROC_ABORTED"),
                "leaders that bring all together": (["only:0", "lead:g", "all"], "PMIX_ERR_PROC_ABORTED"),
                "an invitation": (["only:0", "invite:g", "all"], None)}
        for options in (("-n", "2"), ("--virtual-nodes", "2", "-n", "2")):
            for way, (words, status) in ways.items():
                with self.subTest(options=options, way=way):
                    words = [w for word in words for w in (["try", word] if ":" in word and not word.startswith("only") else [word])]
                    result = run("--on-failure", "continue", "--timeout", "60", *options, CLIENT, "only:1", "exit:3", "all", "init",
                                 *words, "try", "finalize")
                    self.assertEqual(result.returncode, 3, result)
                    told = result.stdout.decode().split()
                    self.assertNotEqual(told[1], "PMIX_SUCCESS")
                    if status is not None:
                        self.assertEqual(told[1], status)


if __name__ == "__main__":
    unittest.main()

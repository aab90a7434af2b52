# SPDX-License-Identifier: BSD-3-Clause
"""PMIx_Query_info under weftrun: what servers of other nodes know, other jobs, values that change."""
import os
import unittest

from weftrun_common import run

CLIENT = os.environ["KNOWLEDGE_CLIENT"]
TWO_NODES = ("--virtual-nodes", "2")


class Queries(unittest.TestCase):
    def do(self, *words, options, status=0):
        done = run(*options, CLIENT, *words)
        self.assertEqual(done.returncode, status, done.stderr.decode())

    def test_groups_of_all_nodes(self):
        self.do("ask_about_groups", "1", options=("-n", "4"))
        self.do("ask_about_groups", "0", options=("-n", "4", *TWO_NODES))

    def test_memory_of_each_node(self):
        self.do("ask_about_memory", "1", options=("-n", "2"))
        self.do("ask_about_memory", "2", options=("-n", "2", *TWO_NODES))

    def test_what_is_said_to_be_supported_is_answered(self):
        for nodes in ((), TWO_NODES):
            self.do("ask_for_all_that_is_supported", options=("-n", "2", *nodes))

    def test_the_status_of_a_job_is_that_of_now(self):
        for nodes in ((), TWO_NODES):
            self.do("ask_about_a_death", options=("-n", "2", "--on-failure", "continue", *nodes), status=137)

    def test_a_refused_allocation_says_what_would_serve_it(self):
        done = run("-n", "1", CLIENT, "ask_for_nodes")
        self.assertRegex(done.stdout.decode(), "^PMIX_ERR_NOT_SUPPORTED: the host of this server has no scheduler")

    def test_another_job_of_the_run(self):
        self.do("ask_about_another_job", CLIENT, options=("-n", "1", "--oversubscribe"))
        self.do("ask_about_another_job", CLIENT, options=("-n", "2", "--oversubscribe", *TWO_NODES))


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Every entry of ctest is named after the folder that it stands in, and labelled so: what tests/README.md
says.

usage: names_of_tests.py BUILD_FOLDER
"""
import json
import subprocess
import sys
import unittest

KINDS = ("unit", "conformance", "multiproc", "abi", "mpi", "pmi", "foreign", "bench", "rdma")
BESIDE = {"hosts", "threads"}


class Names(unittest.TestCase):
    def setUp(self):
        shown = subprocess.run(["ctest", "--test-dir", sys.argv[1], "--show-only=json-v1"], text=True,
                               capture_output=True, check=True, timeout=100)
        self.labels = {}
        for test in json.loads(shown.stdout)["tests"]:
            properties = {entry["name"]: entry["value"] for entry in test.get("properties", ())}
            if test["name"].endswith("_NOT_BUILT"):
                continue  # a program whose tests are listed by itself, in a build of something else
            self.labels[test["name"]] = set(properties.get("LABELS", ()))

    def test_there_are_tests(self):
        self.assertGreater(len(self.labels), 50)

    def test_a_name_begins_with_its_kind(self):
        self.assertEqual([name for name in self.labels if name.split(".")[0] not in KINDS], [])

    def test_the_kind_is_a_label_and_no_other_is(self):
        wrong = {name: labels for name, labels in self.labels.items()
                 if labels & set(KINDS) != {name.split(".")[0]} or labels - set(KINDS) - BESIDE}
        self.assertEqual(wrong, {})


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])

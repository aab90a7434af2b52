# SPDX-License-Identifier: BSD-3-Clause
"""weftinfo --metrics: what it prints is read as strictly as the text format of Prometheus (0.0.4) is
written."""
import json
import os
import re
import subprocess
import unittest

from weftrun_common import CLIENT, WATCHDOG, kill_quietly, read_lines, start

WEFTINFO = os.environ["WEFTINFO"]
NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = r'[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\\\|\\"|\\n)*"'
SAMPLE = re.compile(rf"({NAME})(?:\{{({LABEL}(?:,{LABEL})*)\}})? (-?[0-9]+(?:\.[0-9]+)?)")
HELP = re.compile(rf"# HELP ({NAME}) ((?:[^\\\n]|\\\\|\\n)+)")
TYPE = re.compile(rf"# TYPE ({NAME}) (counter|gauge)")
# What one of Prometheus's own linters would say of a unit.
FORBIDDEN = re.compile(r"(milliseconds|minutes|hours|kilobytes|megabytes|kib|mib|ms)(_|$)")
SHAPES = {"one node": (), "two nodes": ("--virtual-nodes", "2:8")}


class Unreadable(Exception):
    """What does not follow the format."""


def read(text):
    """{name: (type, {labels as a frozenset of pairs: value})}. Each metric stands in one piece: HELP, TYPE,
    samples."""
    if not text.endswith("\n"):
        raise Unreadable("the last line has no end")
    metrics, current, helped = {}, None, None
    for line in text[:-1].split("\n"):
        if line.startswith("# HELP "):
            head = HELP.fullmatch(line)
            if not head or head[1] in metrics or helped:
                raise Unreadable(line)
            helped = head[1]
        elif line.startswith("# TYPE "):
            head = TYPE.fullmatch(line)
            if not head or head[1] != helped:
                raise Unreadable(line)
            current, helped = head[1], None
            metrics[current] = (head[2], {})
            if (head[2] == "counter") != current.endswith("_total") or FORBIDDEN.search(current):
                raise Unreadable(f"the name of {line}")
        else:
            sample = SAMPLE.fullmatch(line)
            if not sample or sample[1] != current or helped:
                raise Unreadable(line)
            pairs = re.findall(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"', sample[2] or "")
            if len({name for name, _ in pairs}) != len(pairs) or frozenset(pairs) in metrics[current][1]:
                raise Unreadable(f"twice: {line}")
            metrics[current][1][frozenset(pairs)] = float(sample[3])
    if helped or any(not samples for _, samples in metrics.values()):
        raise Unreadable("a metric without samples")
    return metrics


def metrics(*words):
    done = subprocess.run([WEFTINFO, "--metrics", *words], capture_output=True, timeout=WATCHDOG, check=True)
    return read(done.stdout.decode())


def of(samples, **labels):
    """The sum of the samples that have these labels."""
    return sum(value for pairs, value in samples[1].items() if labels.items() <= dict(pairs).items())


class TheReader(unittest.TestCase):
    def test_it_refuses_what_is_not_of_the_format(self):
        good = "# HELP weft_a b\n# TYPE weft_a gauge\nweft_a{x=\"y\"} 1\n"
        self.assertEqual(of(read(good)["weft_a"], x="y"), 1)
        for bad in (good[:-1], good + good, good.replace("HELP", "HELPS"), good.replace("gauge", "counter"),
                    good.replace("x=\"y\"", "x=\"y\"y\""), good.replace(" 1", " one"), good + "weft_b 1\n",
                    good.replace("weft_a", "weft_a_ms"), good + "weft_a{x=\"y\"} 2\n", good.replace("weft_a{x=\"y\"} 1\n", "")):
            with self.assertRaises(Unreadable, msg=bad):
                read(bad)


class Metrics(unittest.TestCase):
    def test_of_a_job_they_are_what_the_report_says(self):
        for shape, options in SHAPES.items():
            with self.subTest(shape=shape):
                job = start("--oversubscribe", *options, "-n", "4", CLIENT, "init", "put:100", "commit", "collect", "fence",
                            "only:0", "say:there", "all", "wait")
                try:
                    while (line := read_lines(job.stdout, 1)) != ["there"]:
                        self.assertEqual(line, ["waiting"])
                    seen = metrics(str(job.pid))
                    done = subprocess.run([WEFTINFO, "--json", str(job.pid)], capture_output=True, timeout=WATCHDOG, check=True)
                    report = json.loads(done.stdout)
                    nodes, name = report["nodes"], report["jobs"][0]["namespace"]
                    self.assertEqual(of(seen["weft_launches"]), 1)
                    self.assertEqual(of(seen["weft_node_up"]), len(nodes))
                    self.assertEqual(of(seen["weft_job_ranks"], job=name, state="connected"), 4)
                    self.assertEqual(of(seen["weft_node_ranks"], state="connected"), 4)
                    self.assertGreaterEqual(of(seen["weft_job_fences_total"], job=name), 2)
                    self.assertGreater(of(seen["weft_server_resident_bytes"]), 1 << 20)
                    self.assertGreater(of(seen["weft_segment_used_bytes"], region="cards"), 4 * 100)
                    counted = [each for each in seen if each.startswith(("weft_mesh_", "weft_modex_", "weft_rpc_"))]
                    self.assertGreater(len(counted), 10)
                    for node in nodes:
                        here = {"node": str(node["node"]), "host": node["host"]}
                        self.assertEqual(of(seen["weft_fences_failed_total"], **here), node["counters"]["fences.failed"])
                        self.assertEqual(of(seen["weft_fences_bytes_total"], **here), node["counters"]["fences.bytes"])
                        self.assertEqual(of(seen["weft_boards_in_use"], **here), node["counters"]["boards.in_use"])
                        self.assertLessEqual(of(seen["weft_mesh_sent_bytes_total"], **here), node["counters"]["mesh.bytes_sent"])
                    counters = len(nodes[0]["counters"])
                    per_node = [each for each, (_, samples) in seen.items() if all("node" in dict(pairs) for pairs in samples)]
                    self.assertGreaterEqual(len(per_node), counters)
                finally:
                    kill_quietly(job)

    def test_without_a_process_id_they_are_of_all_launches_here(self):
        jobs = [start("-n", "1", CLIENT, "init", "say:there", "wait") for _ in range(2)]
        try:
            for job in jobs:
                self.assertEqual(read_lines(job.stdout, 1), ["there"])
            clusters = {dict(pairs)["cluster"] for pairs in metrics()["weft_node_up"][1]}
            for job in jobs:
                self.assertTrue(any(str(job.pid) in cluster for cluster in clusters), clusters)
        finally:
            for job in jobs:
                kill_quietly(job)


if __name__ == "__main__":
    unittest.main()

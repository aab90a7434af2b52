# SPDX-License-Identifier: BSD-3-Clause
"""Runs weftsim over sizes and networks of a job, and keeps what it says as lines: the same lines at each run,
on any machine."""
import concurrent.futures
import json
import os
import re
import subprocess

PROCESSES, CARD, TOUCHED = 128, 64, 4
OPERATIONS = ("launch", "init", "barrier", "first_touch", "full_fence", "group", "loss")
PORTS = (1, 2, 3, 5, 7, 11)
EXCHANGES = ("bruck", "recursive_doubling", "tree:2:64", "ring")
MOST_FOR_RING = 2048  # nodes; a ring of 10,000 takes minutes and 3 GB to simulate
LIMIT_S = 600

TARGET = re.compile(r"^(met|MISSED)\s+(.+?): (.+) of (.+)\n\s+(weftsim .+)$", re.M)
OF_ITSELF = "to simulate it"  # such a target depends on the machine


class Failed(Exception):
    """weftsim, gnuplot or a page, with what is wrong."""


class Weftsim:
    """The program."""

    def __init__(self, path):
        self.path = path

    def text(self, words, statuses=(0,)):
        try:
            done = subprocess.run([self.path, *words], text=True, capture_output=True, check=False, timeout=LIMIT_S, stdin=subprocess.DEVNULL)
        except subprocess.TimeoutExpired as why:
            raise Failed(f"weftsim {' '.join(words)}: not done within {LIMIT_S} s") from why
        if done.returncode not in statuses:
            raise Failed(f"weftsim {' '.join(words)}: status {done.returncode}: {done.stderr.strip()}")
        return done.stdout

    def networks(self):
        """{name: title} of those whose nodes have processors of their own. The other, of pretend hosts on one
        machine, says nothing of large jobs."""
        return {one["name"]: one["title"].split(",")[0] for one in json.loads(self.text(["--networks", "--json"]))["networks"] if float(one["cores"]["value"]) == 0}

    def lines(self, nodes, network, operations, *options):
        """One for each operation."""
        words = ["--nodes", str(nodes), "--ppn", str(PROCESSES), "--card", str(CARD), "--touch", str(TOUCHED), "--network", network,
                 "--operations", ",".join(operations), *options]
        told = json.loads(self.text([*words, "--json"]))
        return [{"network": network, "nodes": nodes, "operation": one["name"], "collective": options[-1] if options else "", "algorithm": one["algorithm"],
                 "time_ns": one["time_ns"], "parts_ns": {part["what"]: part["time_ns"] for part in one["parts"]}, "messages": one["messages"],
                 "bytes": one["bytes"], "most_messages_of_a_node": one["most_messages_of_a_node"], "most_bytes_of_a_node": one["most_bytes_of_a_node"],
                 "memory_of_a_node": one["memory_of_a_node"], "memory_of_the_job_on_a_node": told["job"]["memory_of_a_node"],
                 "command": "weftsim " + " ".join(words)} for one in told["operations"]]

    def targets(self):
        """[(verdict, what, predicted, limit, command)]"""
        found = TARGET.findall(self.text(["--targets"], (0, 1)))  # 1: one is missed
        if not found:
            raise Failed("weftsim --targets: no line of a target is understood")
        return [row for row in found if not row[3].endswith(OF_ITSELF)]


def lines(weftsim, sizes, detail):
    """All lines: each operation at each size over each network; barriers of `detail[0]` nodes by ports, and
    full fences of `detail` nodes by algorithm."""
    networks = weftsim.networks()
    # The longest first.
    asked = [(nodes, network, OPERATIONS) for nodes in reversed(sizes) for network in networks]
    asked += [(detail[0], network, ("barrier",), "--collective", f"dissemination:{ports}") for ports in PORTS for network in networks]
    asked += [(nodes, network, ("full_fence",), "--collective", exchange) for nodes in detail for exchange in EXCHANGES for network in networks
              if exchange != "ring" or nodes <= MOST_FOR_RING]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        found = [line for part in pool.map(lambda words: weftsim.lines(*words), asked) for line in part]
    order = list(networks)
    return sorted(found, key=lambda line: (line["collective"], order.index(line["network"]), line["nodes"], OPERATIONS.index(line["operation"])))

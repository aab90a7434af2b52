#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Measures each algorithm of WEFT_COLLECTIVE on virtual nodes, and whether the servers' own choice is within
a tenth of the best, for barriers and for full fences of cards of several sizes, one process a node.

usage: scripts/comparison/collectives.py [--build DIR] [--nodes 2,4,8,16] [--cards 64,4096,65536,1048576]
                                         [--rounds N] [--budget-ms N]

All algorithms of a size take turns, --rounds times, in an order that is drawn; medians. Exit status: 0, also
where a choice is not the best; 1 = a job failed.
"""
import argparse
import json
import os
import random
import statistics
import subprocess
import sys
from pathlib import Path

sys.dont_write_bytecode = True
ROOT = Path(__file__).resolve().parent.parent.parent
BARRIERS = ("dissemination:1", "dissemination:2", "dissemination:3", "dissemination:7", "tree:2", "tree:4", "tree:8", "tree:16")
EXCHANGES = ("bruck", "ring", "tree:2", "tree:4", "tree:8", "tree:16")
CHOSEN = ""  # by the servers
LIMIT_S = 120


def run(arguments, nodes, algorithm):
    """Median ns by (what, bytes)."""
    programs = arguments.build / "bin"
    phases = "barrier,full_fence" if algorithm == CHOSEN or algorithm.startswith("tree") else "full_fence" if algorithm in EXCHANGES else "barrier"
    command = [programs / "weftrun", "--virtual-nodes", f"{nodes}:1", "-n", nodes, "--bind-to", "none", programs / "weftbench", "--json",
               "--phases", phases, "--card-bytes", ",".join(map(str, arguments.cards)), "--repeats", 15, "--budget-ms", arguments.budget_ms,
               "--expect-ranks", nodes]
    environment = {k: v for k, v in os.environ.items() if k != "WEFT_COLLECTIVE"} | {"WEFT_CARD_BYTES": "1073741824"}
    if algorithm:
        environment["WEFT_COLLECTIVE"] = algorithm
    done = subprocess.run(list(map(str, command)), env=environment, text=True, capture_output=True, check=False, timeout=LIMIT_S, stdin=subprocess.DEVNULL)
    if done.returncode:
        raise SystemExit(f"collectives: {nodes} nodes, {algorithm or 'the choice'}: status {done.returncode}: {done.stderr.strip()}")
    out = {}
    for line in done.stdout.splitlines():
        record = json.loads(line) if line.startswith("{") else {}
        if record.get("bench") in ("barrier", "full_fence") and "median_ns" in record:
            out[record["bench"], record.get("bytes", 0) if record["bench"] == "full_fence" else 0] = record["median_ns"]
    return out


def times_of(arguments, nodes):
    """ns of each round, by cell and algorithm."""
    times, order = {}, random.Random(nodes)
    for turn in range(arguments.rounds):
        print(f"{nodes} nodes, round {turn + 1} of {arguments.rounds}", file=sys.stderr, flush=True)
        algorithms = [CHOSEN, *dict.fromkeys(BARRIERS + EXCHANGES)]
        order.shuffle(algorithms)  # what ran before has left its traces in caches and clocks
        for algorithm in algorithms:
            for cell, ns in run(arguments, nodes, algorithm).items():
                times.setdefault(cell, {}).setdefault(algorithm, []).append(ns)
    return {cell: {algorithm: statistics.median(rounds) for algorithm, rounds in by_algorithm.items()} for cell, by_algorithm in times.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "release", help="where bin/ and lib/ are")
    parser.add_argument("--nodes", default="2,4,8,16", help="virtual nodes of the jobs")
    parser.add_argument("--cards", default="64,4096,65536,1048576", help="bytes of each process's card")
    parser.add_argument("--rounds", type=int, default=3, help="of all algorithms in turn")
    parser.add_argument("--budget-ms", type=int, default=200, help="of each measurement")
    arguments = parser.parse_args()
    arguments.cards = [int(word) for word in arguments.cards.split(",")]
    good = cells = 0
    print("| nodes | | " + " | ".join(("chosen", "best", "of the best")) + " | all |")
    print("|---|---|---|---|---|---|")
    for nodes in (int(word) for word in arguments.nodes.split(",")):
        for (what, size), by_algorithm in sorted(times_of(arguments, nodes).items()):
            chosen = by_algorithm.pop(CHOSEN)
            best = min(by_algorithm, key=by_algorithm.get)
            ratio = chosen / by_algorithm[best]
            cells, good = cells + 1, good + (ratio <= 1.1)
            everything = ", ".join(f"{name} {ns / 1000:.0f}" for name, ns in by_algorithm.items())
            print(f"| {nodes} | {what}{f' {size} B' if size else ''} | {chosen / 1000:.0f} us | {best} {by_algorithm[best] / 1000:.0f} us | {ratio:.2f} | {everything} |", flush=True)
    print(f"\nwithin a tenth of the best: {good} of {cells}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

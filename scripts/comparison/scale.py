# SPDX-License-Identifier: BSD-3-Clause
"""What the operations of large jobs cost, as weftsim predicts it: a picture of each over the nodes, with a
curve for each network, and a page with the numbers."""
import json
import subprocess
import sys
import textwrap
import time

from comparison.results import ROOT, head_commit

sys.path.insert(0, str(ROOT / "bench" / "plot"))
import gnuplot  # noqa: E402  pylint: disable=wrong-import-position
from figures import Figure  # noqa: E402  pylint: disable=wrong-import-position
from page import shown  # noqa: E402  pylint: disable=wrong-import-position

NETWORKS = {"slingshot": "Slingshot 11", "ndr": "InfiniBand NDR", "efa": "EFA", "10gbe": "10 GbE"}
PROCESSES = 128
NODES, FEW_NODES = (2, 8, 32, 128, 512, 2048, 8192, 32768, 131072), (2, 8, 32)
LIMIT_S = 300

OPERATIONS = {
    "launch": ("Launch message", "Names of all hosts and an environment of 4 KiB, down a tree of daemons that run."),
    "barrier": ("Barrier", "PMIx_Fence of all processes, without data."),
    "full_fence": ("Full fence, 64 B of each process", "PMIx_Fence with PMIX_COLLECT_DATA; each card is in each node's segment behind it."),
    "first_touch": ("Barrier, then first Gets of four cards", "Each process gets cards of four processes of other nodes, one after the other."),
    "group": ("Group of all processes", "PMIx_Group_construct."),
    "loss": ("Loss of a node", "A daemon is killed while an operation is open: until all servers know how that ends."),
}


class Failed(Exception):
    """weftsim, or gnuplot, with what it said."""


def predicted(weftsim, nodes, network):
    """{operation: nanoseconds}"""
    words = [weftsim, "--json", "--nodes", str(nodes), "--ppn", str(PROCESSES), "--card", "64", "--network", network, "--operations", ",".join(OPERATIONS)]
    done = subprocess.run(words, text=True, capture_output=True, check=False, timeout=LIMIT_S, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        raise Failed(f"{' '.join(map(str, words))}: status {done.returncode}: {done.stderr.strip()}")
    return {one["name"]: one["time_ns"] for one in json.loads(done.stdout)["operations"]}


def table(times, operation, sizes):
    """times: {(network, nodes): {operation: nanoseconds}}"""
    rows = [f"| {size:,} | " + " | ".join(shown(times[network, size][operation]) if times[network, size][operation] else "-" for network in NETWORKS) + " |" for size in sizes]
    return "\n".join(["| nodes | " + " | ".join(NETWORKS.values()) + " |", "|---" * (len(NETWORKS) + 1) + "|", *rows])


def write(weftsim, folder, command, is_small=False):
    """FOLDER/README.md and its pictures."""
    sizes = FEW_NODES if is_small else NODES
    begin = time.monotonic()
    times = {(network, size): predicted(weftsim, size, network) for network in NETWORKS for size in sizes}
    took = time.monotonic() - begin
    folder.mkdir(parents=True, exist_ok=True)
    parts = []
    for operation, (title, caption) in OPERATIONS.items():
        figure = Figure(operation, title, caption, operation, "nodes")
        # Of two nodes none is left to agree: no time is no point of a logarithmic axis.
        curves = {NETWORKS[network]: [(size, *[value] * 3) for size in sizes if (value := times[network, size][operation]) > 0] for network in NETWORKS}
        try:
            gnuplot.draw(figure, curves, [], folder)
        except gnuplot.NoGnuplot as why:
            raise Failed(str(why)) from why
        (folder / f"{operation}.png").unlink()  # a page takes the other
        parts.append(f"## {title}\n\n{caption}\n\n![{title} against nodes, of four networks]({operation}.svg)\n\n{table(times, operation, sizes)}\n")
    head = (f"`{command}`; commit {head_commit()}; {took:.0f} s of weftsim. Nothing here was measured: {PROCESSES} processes a node, the servers' "
            "own schedules and messages, and networks by their published or assumed figures. The model, its sources, what it leaves out and how far it was off where it could be "
            "compared: [simulation.md](../../scale/simulation.md).")
    head = textwrap.fill(head, 110, break_long_words=False, break_on_hyphens=False)
    (folder / "README.md").write_text(f"# What large jobs cost, predicted\n\n{head}\n\n" + "\n".join(parts), encoding="utf-8")

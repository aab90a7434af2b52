# SPDX-License-Identifier: BSD-3-Clause
"""What the operations of large jobs cost, as weftsim predicts it: pictures over the nodes, a page with the
numbers, and the tables that stand in other pages between marks."""
import dataclasses
import json
import re
import sys
import textwrap

from comparison import sweep
from comparison.results import ROOT
from comparison.sweep import Failed

sys.path.insert(0, str(ROOT / "bench" / "plot"))
import gnuplot  # noqa: E402  pylint: disable=wrong-import-position
from figures import Figure  # noqa: E402  pylint: disable=wrong-import-position
from page import shown  # noqa: E402  pylint: disable=wrong-import-position

NODES, FEW_NODES = (16, 64, 256, 1024, 4096, 10000, 32768, 131072), (16, 64, 256)
DETAIL, FEW_DETAIL = (1024, 10000), (64, 256)
OF_TABLE, FEW_OF_TABLE = (16, 1024, 10000, 131072), (16, 256)
ONE_NETWORK = "ndr"  # of what is the same or alike over all
PAGES = ("docs/scale/simulation.md", "README.md")
HOSTS = "hosts.jsonl"  # measured by scripts/compare_prediction
FITTED_OPERATIONS = {"barrier": "barrier", "full_fence": "full fence"}

MARK = "<!-- scale: {}; made by scripts/report -->"
MARKS = re.compile(r"(<!-- scale: (\w+); made by scripts/report -->\n).*?(<!-- end -->)", re.S)

TITLES = {
    "launch": ("Launch message", "Names of all hosts and an environment of 4 KiB, down a tree of daemons that run."),
    "init": ("PMIx_Init", "Of all processes of a node at once, with the map of the job; no message between nodes, so one curve for all networks."),
    "barrier": ("Barrier", "PMIx_Fence of all processes, without data."),
    "first_touch": ("Sparse fence, then first Gets of four cards",
                    "PMIx_Fence without data after a commit; then each process gets cards of four processes of other nodes, one after the other."),
    "full_fence": ("Full fence, 64 B of each process", "PMIx_Fence with PMIX_COLLECT_DATA; each card is in each node's segment behind it."),
    "group": ("Group of all processes", "PMIx_Group_construct."),
    "loss": ("Loss of a node", "A daemon is killed while an operation is open: until all servers know how that ends."),
}
OF_ALL = {"launch": "launch message", "barrier": "barrier", "group": "group of all", "first_touch": "sparse fence, four first Gets", "full_fence": "full fence, 64 B"}
MEMORY = ("Memory of a node", "The server with the map of all ranks; what first Gets of four cards a process add, in the place of all cards; what a full "
          "fence of 64 B a process adds, with the messages in flight.")
OF_MEMORY = {"": "server and map", "first_touch": "and four cards a process", "full_fence": "and all cards"}


@dataclasses.dataclass
class Made:
    """All that the command writes."""
    texts: dict     # of files, by name
    blocks: dict    # of pages, by name of the mark
    pictures: list  # (figure, curves)


class Predicted:
    """The lines, by what they are of."""

    def __init__(self, lines, networks):
        self.networks = networks
        self.of = {(line["collective"], line["network"], line["nodes"], line["operation"]): line for line in lines}
        self.sizes = sorted({nodes for collective, _, nodes, _ in self.of if not collective})

    def time(self, network, nodes, operation, collective=""):
        line = self.of.get((collective, network, nodes, operation))
        return line and line["time_ns"]

    def memory(self, nodes, operation):
        line = self.of["", ONE_NETWORK, nodes, operation or "barrier"]
        return line["memory_of_the_job_on_a_node"] + (line["memory_of_a_node"] if operation else 0)

    def networks_of(self, operation):
        return {ONE_NETWORK: "all networks"} if operation == "init" else self.networks


def table(heads, rows):
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines).replace("| --- ", "|---").replace("--- |", "---|")


def points(values):
    """A curve of gnuplot, without bars."""
    return [(at, *[value] * 3) for at, value in values]


def operation_part(predicted, operation):
    title, caption = TITLES[operation]
    networks = predicted.networks_of(operation)
    figure = Figure(operation, title, caption, operation, "nodes")
    curves = {name: points((size, predicted.time(network, size, operation)) for size in predicted.sizes) for network, name in networks.items()}
    rows = [[f"{size:,}", *(shown(predicted.time(network, size, operation)) for network in networks)] for size in predicted.sizes]
    return figure, curves, table(["nodes", *networks.values()], rows)


def memory_part(predicted):
    curves = {name: points((size, predicted.memory(size, operation)) for size in predicted.sizes) for operation, name in OF_MEMORY.items()}
    rows = [[f"{size:,}", *(shown(predicted.memory(size, operation), "bytes") for operation in OF_MEMORY)] for size in predicted.sizes]
    return Figure("memory", *MEMORY, "memory", "nodes", unit="bytes"), curves, table(["nodes", *OF_MEMORY.values()], rows)


def overview(predicted):
    name = predicted.networks[ONE_NETWORK]
    title = f"Operations of a job over {name}, predicted"
    curves = {text: points((size, predicted.time(ONE_NETWORK, size, operation)) for size in predicted.sizes) for operation, text in OF_ALL.items()}
    return Figure("overview", title, "", "overview", "nodes"), curves


def hosts_part(measured):
    """Of lines of compare_prediction: the picture, and the table."""
    curves, rows = {}, []
    for operation, card in sorted({(line["operation"], line["card_bytes"]) for line in measured}):
        name = FITTED_OPERATIONS[operation] + (f", {shown(card, 'bytes')}" if card else "")
        of = sorted((line for line in measured if (line["operation"], line["card_bytes"]) == (operation, card)), key=lambda line: line["hosts"])
        for what in ("measured", "predicted"):
            curves[f"{name}: {what}"] = points((line["hosts"], line[f"{what}_ns"]) for line in of)
        rows += [[name, f"{line['hosts']}{' (fitted)' if line['is_fitted'] else ''}", shown(line["measured_ns"]), shown(line["predicted_ns"]), f"{off(line):+.0f} %"]
                 for line in of]
    return Figure("hosts", "Pretend hosts, measured and predicted", "", "hosts", "hosts"), curves, table(["operation", "hosts", "measured", "predicted", "off by"], rows)


def off(line):
    return 100 * (line["predicted_ns"] / line["measured_ns"] - 1)


def range_off(measured, operation):
    """'-15 to +3 %', of the jobs that no figure was fitted from."""
    largest = [off(line) for line in measured if line["operation"] == operation and not line["is_fitted"]]
    return f"{min(largest):+.0f} to {max(largest):+.0f} %" if largest else "not measured"


def filled(text):
    return textwrap.fill(text, 110, break_long_words=False, break_on_hyphens=False)


def of_hosts(measured, hosts_table):
    """The block that says how far off predictions are."""
    if not measured:
        return "No pretend hosts were measured.\n"
    one = measured[0]
    figures = ", ".join(f"{name} {value:g} ns" for name, value in one["figures_ns"].items())
    return filled(f"{one['machine']}; commit {one['commit']}; medians of {one['repeats']} repeats of jobs of {one['ranks_a_host']} process a host; "
                  f"fitted: {figures}.") + f"\n\n{hosts_table}\n"


def of_readme(measured):
    most = max((line["hosts"] for line in measured), default=0)
    error = (f"Where it was compared, with up to {most} pretend hosts on one machine, it is off by {range_off(measured, 'barrier')} for barriers and by "
             f"{range_off(measured, 'full_fence')} for full fences; no cluster was there to compare with." if measured else "It was not compared with hosts.")
    return ("![Operations of a job against nodes, predicted](docs/performance/scale/overview.svg)\n\n"
            + filled(f"Nothing of this picture was measured: `weftsim` predicts it, from the servers' own schedules and messages, {sweep.PROCESSES} processes a node, "
                     f"and the published or assumed figures of networks. {error} Each operation, memory, and other networks: "
                     "[docs/performance/scale](docs/performance/scale/README.md).") + "\n")


def blocks(predicted, targets, measured, hosts_table, detail, of_table):
    networks = predicted.networks
    small, _ = detail
    rows = [[f"{size:,}", network, *(shown(predicted.time(network, size, operation)) for operation in ("launch", "barrier", "full_fence", "first_touch", "group", "loss"))]
            for size in of_table for network in networks]
    jobs = table(["nodes", "network", "launch", "barrier", "full fence", "first touch of 4", "group", "loss"], rows)
    ports = table(["ports", *networks], [[count, *(shown(predicted.time(network, small, "barrier", f"dissemination:{count}")) for network in networks)]
                                         for count in sweep.PORTS])
    exchanges = table(["nodes", "algorithm", *networks],
                      [[f"{size:,}", f"`{name}`", *(shown(predicted.time(network, size, "full_fence", name)) for network in networks)]
                       for size in detail for name in sweep.EXCHANGES if predicted.time(ONE_NETWORK, size, "full_fence", name)])
    goals = table(["target", "command", "predicted", "at most", "met"],
                  [[what, f"`{command.removeprefix('weftsim ')}`", value, limit, "yes" if verdict == "met" else "**no**"] for verdict, what, value, limit, command in targets])
    return {"operations": jobs + "\n", "ports": ports + "\n", "exchanges": exchanges + "\n", "targets": goals + "\n",
            "hosts": of_hosts(measured, hosts_table), "readme": of_readme(measured)}


def make(weftsim_path, command, measured, is_small):
    """measured: lines of compare_prediction, or none."""
    weftsim = sweep.Weftsim(weftsim_path)
    sizes, detail, of_table = (FEW_NODES, FEW_DETAIL, FEW_OF_TABLE) if is_small else (NODES, DETAIL, OF_TABLE)
    lines = sweep.lines(weftsim, sizes, detail)
    predicted = Predicted(lines, weftsim.networks())
    made = Made({"lines.jsonl": "".join(json.dumps(line) + "\n" for line in lines)}, {}, [overview(predicted)])
    head = filled(f"`{command}`. Nothing here was measured: {sweep.PROCESSES} processes a node, the servers' own schedules and messages, and networks by their published "
                  "or assumed figures. The model, its sources, what it leaves out and how far it was off where it could be compared: "
                  "[simulation.md](../../scale/simulation.md). Each line of `lines.jsonl` has its command.")
    parts = [f"# What large jobs cost, predicted\n\n{head}\n\n![Operations against nodes](overview.svg)\n"]
    for figure, curves, numbers in [*(operation_part(predicted, operation) for operation in TITLES), memory_part(predicted)]:
        made.pictures.append((figure, curves))
        parts.append(f"## {figure.title}\n\n{filled(figure.caption)}\n\n![{figure.title} against nodes]({figure.name}.svg)\n\n{numbers}\n")
    hosts_table = ""
    if measured:
        figure, curves, hosts_table = hosts_part(measured)
        made.pictures.append((figure, curves))
        parts.append(f"## {figure.title}\n\n{of_hosts(measured, f'![{figure.title}]({figure.name}.svg)')}\nThe numbers: [simulation.md](../../scale/simulation.md).\n")
    made.texts["README.md"] = "\n".join(parts)
    made.blocks = blocks(predicted, weftsim.targets(), measured, hosts_table, detail, of_table)
    return made


def with_blocks(text, found, name):
    """The page with each block between marks put in. Failed: it has none, or one that is not made."""
    names = [match[2] for match in MARKS.finditer(text)]
    if not names:
        raise Failed(f"{name}: there is no line {MARK.format('NAME')}")
    for unknown in sorted(set(names) - set(found)):
        raise Failed(f"{name}: nothing is made for {MARK.format(unknown)}; there are {', '.join(sorted(found))}")
    return MARKS.sub(lambda match: f"{match[1]}\n{found[match[2]]}\n{match[3]}", text)


class Folder:
    """docs/performance/scale, with the pages that have a part of it; or another, with copies of the pages in
    its `pages`."""

    def __init__(self, path, is_own):
        self.path = path
        self.pages = {ROOT / name: ROOT / name if is_own else path / "pages" / name for name in PAGES}

    def measured(self):
        path = self.path / HOSTS
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []

    def texts(self, made):
        """{path: what it is to hold}"""
        texts = {self.path / name: text for name, text in made.texts.items()}
        return texts | {path: with_blocks(page.read_text(encoding="utf-8"), made.blocks, page) for page, path in self.pages.items()}

    def write(self, made):
        for path, text in self.texts(made).items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        for figure, curves in made.pictures:
            try:
                gnuplot.draw(figure, curves, [], self.path)
            except gnuplot.NoGnuplot as why:
                raise Failed(str(why)) from why
            (self.path / f"{figure.name}.png").unlink()  # a page takes the other

    def stale(self, made):
        """What write() would change. Of pictures, which differ from one gnuplot to another, only whether they
        are there: they are drawn from the lines."""
        for path, text in self.texts(made).items():
            old = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
            new = text.splitlines()
            if old != new:
                number = next((at for at, (one, other) in enumerate(zip(old, new), 1) if one != other), min(len(old), len(new)) + 1)
                yield f"{path}:{number}: " + (f"now {new[number - 1]!r:.200}" if number <= len(new) else "the rest is not made any more")
        for figure, _ in made.pictures:
            if not (self.path / f"{figure.name}.svg").exists():
                yield f"{self.path / figure.name}.svg is not there"

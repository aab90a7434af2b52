# SPDX-License-Identifier: BSD-3-Clause
"""What runs have printed with --json: lines of weftbench and of the floors, of as many runs and files as
there are."""
import collections
import json
import math
import statistics

# Benches of which the slowest rank counts, not the median one.
SLOWEST = {"init", "finalize", "launch_to_main", "launch_to_joined"}
LAUNCHERS = {"slurmstepd": "Slurm", "prterun": "mpirun", "orterun": "mpirun", "mpirun.openmpi": "mpirun"}
FLOOR = "floor"


class BadLine(Exception):
    """A file that has no such lines: file, line, and what is wrong."""


def series_of(record):
    """What the reader of a picture compares: a library and the launcher that it ran under."""
    if record["bench"].startswith("floor_"):
        return FLOOR
    library = record.get("library", "")
    words = library.split(" (")[0].split()
    if "Weft" in words:  # after the version of the API that it answers with
        words = words[words.index("Weft"):]
    launcher = record.get("launcher", "")
    return f"{' '.join(words) or 'a library'}, {LAUNCHERS.get(launcher, launcher) or 'a launcher'}"


class Measured:
    """Medians of runs. A point: (bench, hosts, ranks, bytes); hosts 0: not known."""

    def __init__(self):
        self.runs = collections.defaultdict(list)  # (series, point)
        self.units = {}
        self.machines, self.commits, self.libraries = set(), set(), {}

    def read(self, path):
        """Adds the lines of a file. BadLine: there is a line of another kind, or none at all."""
        count = 0
        with open(path, encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                if line.strip():
                    try:
                        self.add(json.loads(line))
                    except (ValueError, KeyError, TypeError, AttributeError) as why:
                        raise BadLine(f"{path}:{number}: no line of weftbench --json: {why or type(why).__name__}") from why
                    count += 1
        if count == 0:
            raise BadLine(f"{path}: no line of weftbench --json")

    def add(self, record):
        """ValueError, KeyError, TypeError, AttributeError: it is none of weftbench."""
        unit = next((name.removeprefix("median_") for name in record if name.startswith("median_")), None)
        if unit is None:
            raise ValueError("no field median_ns, median_kib or median_count")
        bench = record["bench"]
        value = float(record[("max_" if bench in SLOWEST else "median_") + unit])
        ranks, hosts, size = int(record["ranks"]), int(record.get("hosts", 0)), int(record["bytes"])
        if not math.isfinite(value) or ranks < 1 or hosts < 0 or size < 0:
            raise ValueError("a number that there cannot be")
        series = series_of(record)
        self.runs[series, (bench, hosts, ranks, size)].append(value)
        self.units[bench] = unit
        self.machines.add(record.get("machine", ""))
        self.commits.add(record.get("commit", ""))
        if series != FLOOR:
            self.libraries[series] = record.get("library", "")

    def series(self):
        """Weft first, then the others; without the floors."""
        names = {series for series, _ in self.runs} - {FLOOR}
        return sorted(names, key=lambda name: (not name.startswith("Weft"), name.lower()))

    def points(self, series, bench):
        """{point: (median, smallest, largest) of the runs}, for values above 0: axes are logarithmic."""
        found = {}
        for (name, point), values in self.runs.items():
            if name == series and point[0] == bench and min(values) > 0:
                found[point] = (statistics.median(values), min(values), max(values))
        return found

# SPDX-License-Identifier: BSD-3-Clause
"""Figures of many runs, and how they are shown."""
import json
import os
import statistics
import subprocess
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
MICRO, MILLI = 1e3, 1e6
CORES = os.cpu_count() or 1
# Of these the largest rank counts, not the median one.
SLOWEST = {"init", "finalize", "memory_client_private", "memory_client_rss", "memory_client_threads",
           "memory_node_server_rss", "memory_bytes_a_card", "barrier_left_early"}


@dataclass
class Target:
    """`bench` must stay below each limit: (text, function of Results and n -> value or None)."""

    what: str
    bench: str
    ranks: list
    limits: list
    bytes: int = 0
    unit: str = "ns"


class Results:
    """Medians of runs by (side, bench, job, bytes); a job is a number of ranks, or hosts and ranks as
    "4x2"."""

    def __init__(self):
        self.runs = defaultdict(list)
        self.units = {}
        self.libraries = {}
        self.records = []  # (side, JSON record)

    def add(self, side, bench, ranks, size, value, unit="ns"):
        self.runs[side, bench, ranks, size].append(value)
        self.units[bench] = unit

    def add_lines(self, side, text, job=None):
        """JSON lines of weftbench or a floor; other lines are output of launchers. job: what to file them
        under instead of the number of ranks. Returns how many there were."""
        count = 0
        for line in text.splitlines():
            if not line.startswith('{"bench":'):
                continue
            record = json.loads(line)
            bench = record["bench"]
            unit = next(k.removeprefix("median_") for k in record if k.startswith("median_"))
            value = record[("max_" if bench in SLOWEST else "median_") + unit]
            self.add(side, bench, job or record["ranks"], record["bytes"], value, unit)
            hosts = int(job.split("x")[0]) if job else 1
            self.records.append((side, {**record, "hosts": record.get("hosts", hosts)}))
            if not bench.startswith("floor_"):
                self.libraries[side] = record["library"]
            count += 1
        return count

    def add_wall(self, side, bench, ranks, value, hosts=None):
        """What this script has timed itself. hosts: of a job of so many ranks each."""
        self.add(side, bench, f"{hosts}x{ranks}" if hosts else ranks, 0, value)
        self.records.append((side, {"bench": bench, "ranks": (hosts or 1) * ranks, "hosts": hosts or 1, "bytes": 0, "median_ns": value}))

    def write_lines(self, path, launchers, commit):
        """All that was measured as lines of weftbench --json, for weftbench --compare and weftplot.
        launchers: their programs' names, by side."""
        with open(path, "w", encoding="utf-8") as lines:
            for side, record in self.records:
                origin = {"library": self.libraries.get(side, "none (bare processes)"), "machine": machine(), "launcher": launchers.get(side, "")}
                lines.write(json.dumps({**origin, **record, "commit": commit}) + "\n")

    def median(self, side, bench, ranks, size=0):
        values = self.runs.get((side, bench, ranks, size))
        return statistics.median(values) if values else None

    def floor(self, *benches, ranks, size=0):
        """The fastest of several ways to do the unavoidable."""
        known = [v for b in benches if (v := self.median("floor", b, ranks, size)) is not None]
        return min(known) if known else None


def times(factor, reference, plus=0.0):
    return None if reference is None else factor * reference + plus


def fixed(text, value):
    return (text, lambda r, n: value)


def shown(value, unit="ns"):
    if value is None:
        return "-"
    if unit == "kib":
        return f"{value:,.0f} KiB"
    if unit == "count":
        return f"{value:g}"
    for limit, divisor, name in ((1e3, 1, "ns"), (1e6, MICRO, "us"), (float("inf"), MILLI, "ms")):
        if value < limit:
            return f"{value / divisor:.3g} {name}"
    return ""


def machine():
    model = "unknown processor"
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            model = line.split(":", 1)[1].strip()
            break
    return f"{CORES} x {model}, Linux {os.uname().release}"


def head_commit():
    done = subprocess.run(["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"], capture_output=True,
                          text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else "unknown"

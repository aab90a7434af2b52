# SPDX-License-Identifier: BSD-3-Clause
"""Many launches in a row: which of them hang, lose a rank, tell the wrong exit status or leave something
behind."""
import re
import sys

from comparison.node_targets import ranks_of, shape_of
from comparison.pretend import DAEMONS

LIMIT_S = 15
BAD_STATUS = 7
LINE = re.compile(r"weft_trivial: rank (\d+) of (\d+)")
WRONG = ("hung", "lost ranks", "wrong status", "left behind")


def faults(out, status, wanted_status, ranks):
    """Of one launch that ended. out: its standard output."""
    said = {(int(r), int(n)) for r, n in LINE.findall(out)}
    found = []
    # After a rank has failed a launcher may end the others before they have spoken.
    if wanted_status == 0 and said != {(r, ranks) for r in range(ranks)}:
        found.append("lost ranks")
    if status != wanted_status:
        found.append("wrong status")
    return found


def count(comparison, launcher, job, launches):
    """Every fifth launch is one whose last rank fails."""
    hosts, ranks = shape_of(job)
    seen = dict.fromkeys(WRONG, 0)
    for number in range(launches):
        wanted = BAD_STATUS if number % 5 == 4 else 0
        command = [*launcher.command(hosts, ranks), comparison.bin / "weft_trivial", "report", wanted]
        ended = comparison.runner.outcome(command, LIMIT_S)
        found = ["hung"] if ended is None else faults(*ended, wanted, ranks_of(job))
        if comparison.inside.sweep({"weft_trivial", *DAEMONS}):
            found.append("left behind")
        for fault in found:
            seen[fault] += 1
            print(f"{launcher.name}, {job}, launch {number + 1}: {fault} {'' if ended is None else ended[1]}",
                  file=sys.stderr)
    return {"side": launcher.name, "job": job, "launches": launches, **seen, "wrong": sum(seen.values())}


def count_all(comparison, launches):
    out = []
    for job in comparison.arguments.jobs:
        for launcher in comparison.launchers:
            comparison.say(f"{launches} launches of {job} by {launcher.name}")
            out.append(count(comparison, launcher, job, launches))
    return out


def table(counts):
    lines = ["| side | hosts x ranks | launches | " + " | ".join(WRONG) + " |", "|" + "---|" * (3 + len(WRONG))]
    for c in counts:
        lines.append(f"| {c['side']} | {c['job']} | {c['launches']} | {' | '.join(str(c[w]) for w in WRONG)} |")
    return lines

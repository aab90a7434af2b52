# SPDX-License-Identifier: BSD-3-Clause
"""What is measured between nodes, and what it has to reach. A job is hosts and ranks a host: "4x2"."""
from comparison.results import CORES, Target, fixed, times

PEERS = ("mpirun", "slurm")

# Phases of weftbench that share one launch, the bytes of their cards, and the jobs they are for (None: all).
GROUPS = {
    "barrier": (["barrier"], 0, None),
    "full_fence_256": (["full_fence"], 256, None),
    "sparse_fence": (["sparse_fence"], 256, None),
    "full_fence_4k": (["full_fence"], 4096, None),
    "repeated_fence": (["repeated_fence"], 256, None),
    "remote_get": (["remote_get"], 0, ["2x2", "4x2"]),
    "first_touch": (["first_touch"], 256, None),
    "init": (["init"], 0, None),
    "memory": (["memory"], 0, None),
    "card_memory": (["card_memory"], 4096, ["4x2", "8x4"]),
}
LAUNCH = "launch"


def shape_of(job):
    hosts, ranks = job.split("x")
    return int(hosts), int(ranks)


def ranks_of(job):
    hosts, ranks = shape_of(job)
    return hosts * ranks


def best_peer(results, bench, job, size=0):
    known = [v for side in PEERS if (v := results.median(side, bench, job, size)) is not None]
    return min(known) if known else None


def part_of_best(text, part, bench, size=0):
    return (f"{text} of the best peer", lambda r, job: times(part, best_peer(r, bench, job, size)))


def barrier_floor(r, job):
    return r.floor("floor_nodes_barrier_read", "floor_nodes_barrier_epoll", ranks=job)


def get_floor(r, kept=False):
    return r.floor("floor_get_kept" if kept else "floor_get", ranks=1, size=64)


def touch_floor(r):
    """Request and answer between two hosts, and a hand-off and back on one, after 50 ms of sleep."""
    get = r.median("floor", "floor_tcp_get_sleep_paused", 2, 256)
    handoff = r.median("floor", "floor_handoff_two_cores_paused", 2)
    return None if get is None or handoff is None else get + handoff


def own(text, factor, bench, size=0):
    return (text, lambda r, job: times(factor, r.median("weft", bench, job, size)))


def targets():
    floor = ("1.5 x floor", lambda r, job: times(1.5, barrier_floor(r, job)))
    reading = ("n x 1.5 floor x ranks a core", lambda r, job: times(
        1.5 * ranks_of(job) * max(1, ranks_of(job) / CORES), get_floor(r)))
    a_get = ("1.5 x local Get's floor", lambda r, job: times(1.5, get_floor(r)))
    out = []
    for job, text, part in (("2x2", "1/2", 1 / 2), ("4x2", "1/3", 1 / 3), ("8x4", "1/5", 1 / 5)):
        out.append(Target("Barrier", "barrier", [job], [floor, part_of_best(text, part, "barrier")]))
    out.append(Target("Barrier", "barrier", ["8x2", "2x4", "4x4"], [floor]))
    twice = [own("2 x own barrier", 2, "barrier"), own("2 x own barrier, timed alike", 2, "lone_barrier", 256)]
    out.append(Target("Full fence, 256 B", "full_fence", ["2x2"], twice, 256))
    for job, text, part in (("4x2", "1/4", 1 / 4), ("8x4", "1/6", 1 / 6)):
        limits = [*twice, part_of_best(text, part, "full_fence", 256)]
        out.append(Target("Full fence, 256 B", "full_fence", [job], limits, 256))
    jobs = ["2x2", "4x2", "8x4"]
    out.append(Target("Full fence, 4 KiB", "full_fence", jobs, [part_of_best("1/6", 1 / 6, "full_fence", 4096)], 4096))
    for what, kind in (("with a new commit each", "new"), ("with nothing new", "same")):
        bench = f"repeated_fence_{kind}"
        out.append(Target(f"20th full fence in a row, {what}", f"{bench}_last", jobs,
                          [own("1.2 x the first", 1.2, f"{bench}_first", 256)], 256))
        out.append(Target(f"17th to 20th, {what}", f"{bench}_late", jobs,
                          [own("1.2 x the 2nd to 5th", 1.2, f"{bench}_early", 256)], 256))
    out += [
        Target("Read all cards after a full fence, 256 B", "read_all", jobs, [reading], 256),
        Target("Get of a remote card after a full fence", "get_remote_alone", ["2x2", "4x2"], [a_get], 64),
        Target("the same, kept", "get_remote_kept_alone", ["2x2", "4x2"],
               [("1.5 x floor", lambda r, job: times(1.5, get_floor(r, kept=True)))], 64),
        Target("First touch, 256 B, alone", "first_touch_alone", jobs,
               [("1.3 x floor", lambda r, job: times(1.3, touch_floor(r))),
                part_of_best("3/4", 3 / 4, "first_touch_alone", 256)], 256),
        Target("First touch, 256 B, one rank a node", "first_touch_node", jobs,
               [part_of_best("3/4", 3 / 4, "first_touch_node", 256)], 256),
        Target("First touch, 256 B, all ranks at once", "first_touch_all", jobs,
               [part_of_best("1/4", 1 / 4, "first_touch_all", 256)], 256),
        Target("Second touch, 256 B", "second_touch_alone", jobs, [a_get], 256),
        Target("Launch + Init + exit, wall", "launch_init", ["2x2", "8x4"],
               [part_of_best("1/2", 1 / 2, "launch_init")]),
        Target("Client's private memory", "memory_client_private", ["8x4"],
               [("that of 2x2 + 4 KiB", lambda r, job: times(1, r.median("weft", "memory_client_private", "2x2"), 4))],
               unit="kib"),
        Target("RSS of a node's server, largest", "memory_node_server_rss", jobs, [fixed("8 MiB", 8192)], unit="kib"),
        # A key of 18 bytes, its length and the card's own come on top.
        Target("A collected card of 4 KiB, bytes", "memory_bytes_a_card", ["4x2", "8x4"],
               [fixed("4096 + 16 + its key", 4096 + 16 + 24)], 4096, unit="count"),
    ]
    return out


def judged(results):
    """One row per target, job and limit; `of_limit` is weft's part of it, `met` None if it is not known."""
    rows = []
    for target in targets():
        for job in target.ranks:
            sides = {side: results.median(side, target.bench, job, target.bytes) for side in ("weft", *PEERS)}
            if not any(value is not None for value in sides.values()):
                continue
            weft, best = sides["weft"], best_peer(results, target.bench, job, target.bytes)
            for text, limit_of in target.limits:
                limit = limit_of(results, job)
                known = weft is not None and limit is not None
                rows.append({"what": target.what, "job": job, "unit": target.unit, **sides, "rule": text,
                             "limit": limit,
                             "best_by_weft": best / weft if weft and best else None,
                             "of_limit": weft / limit if known and limit else None,
                             "met": weft <= limit if known else None})
    return rows

# SPDX-License-Identifier: BSD-3-Clause
"""The pictures: what each shows of the measured, as curves over an axis."""
import collections
import dataclasses

from measured import FLOOR

TEXT_OF_AXIS = {"ranks": "ranks", "hosts": "hosts", "bytes": "bytes of each rank", "nodes": "nodes of 128 processes"}
TEXT_OF_UNIT = {"ns": "time", "bytes": "memory"}


@dataclasses.dataclass(frozen=True)
class Figure:
    """One picture. Of several points at one place of the axis the one with the most ranks counts; against
    bytes all are of one job."""
    name: str          # of its files
    title: str
    caption: str       # what is timed, for the page
    bench: str
    axis: str          # ranks, hosts, bytes or nodes
    bytes: int = None  # of the points; None: any
    several: bool = False  # hosts, not one
    # Ways to do the unavoidable, each a tuple of benches that are added up; the fastest counts.
    floors: tuple = ()
    floor_text: str = ""
    floor_is_level: bool = False  # one value, of few processes, holds for all places
    unit: str = "ns"     # of values: ns or bytes


BARRIER = (("floor_barrier_yield",), ("floor_barrier_futex",))
BARRIER_TEXT = "floor: bare processes, a counter in shared memory"
NODES = (("floor_nodes_barrier_read",), ("floor_nodes_barrier_epoll",))
NODES_TEXT = "floor: bare processes, one connection a pair of hosts"
TOUCH = (("floor_tcp_get_sleep_paused", "floor_handoff_two_cores_paused"),)

FIGURES = (
    Figure("barrier_ranks", "Barrier on one host", "PMIx_Fence of the whole job without data, consecutive rounds as rank 0 sees them.",
           "barrier", "ranks", floors=BARRIER, floor_text=BARRIER_TEXT),
    Figure("full_fence_ranks", "Full fence on one host, 256 B of each rank",
           "PMIx_Fence with PMIX_COLLECT_DATA after a PMIx_Commit of a new key, until the slowest rank is out of it.",
           "full_fence", "ranks", 256, floors=BARRIER, floor_text=BARRIER_TEXT),
    Figure("read_all_ranks", "Full fence on one host, then every card read by every rank", "256 B of each rank; the slowest rank.", "full_fence_read_all", "ranks", 256,
           floors=BARRIER, floor_text=BARRIER_TEXT),
    Figure("full_fence_bytes", "Full fence on one host against what each rank gives", "As above, in the job that most sizes were measured in.", "full_fence", "bytes"),
    Figure("get_ranks", "Get of another rank's card on one host", "PMIx_Get of 64 B, all ranks at once.", "get_peer", "ranks",
           floors=(("floor_get",),), floor_text="floor: hash, two allocations, a copy", floor_is_level=True),
    Figure("init_ranks", "PMIx_Init on one host", "The slowest rank of a launch.", "init", "ranks"),
    Figure("launch_ranks", "Launch on one host", "From the launcher's start to its end: a program that calls PMIx_Init and PMIx_Finalize.", "launch_init", "ranks",
           floors=(("floor_spawn_fork",), ("floor_spawn_vfork",), ("floor_spawn_posix",)), floor_text="floor: the same processes, started and waited for"),
    Figure("groups_ranks", "Group of all ranks on one host", "PMIx_Group_construct and PMIx_Group_destruct.", "group_all", "ranks"),
    Figure("event_ranks", "Event on one host", "From PMIx_Notify_event of rank 0 until the last rank's handler has run.", "event", "ranks"),
    Figure("barrier_hosts", "Barrier of several hosts", "As on one host.", "barrier", "hosts", several=True, floors=NODES, floor_text=NODES_TEXT),
    Figure("full_fence_hosts", "Full fence of several hosts, 256 B of each rank", "As on one host.", "full_fence", "hosts", 256, several=True, floors=NODES,
           floor_text=NODES_TEXT),
    Figure("sparse_fence_hosts", "Fence without data after a commit, several hosts", "256 B of each rank, which stay where they are until they are asked for.", "sparse_fence",
           "hosts", 256, several=True, floors=NODES, floor_text=NODES_TEXT),
    Figure("first_touch_hosts", "First Get of a card of another host", "256 B, after a fence without data; rank 0 alone, each after 50 ms without work.", "first_touch_alone",
           "hosts", 256, several=True, floors=TOUCH, floor_text="floor: two bare processes ask, read and hand over", floor_is_level=True),
    Figure("second_touch_hosts", "The same Get again", "The card is on this host by then.", "second_touch_alone", "hosts", 256, several=True),
    Figure("init_hosts", "PMIx_Init on several hosts", "The slowest rank of a launch.", "init", "hosts", several=True),
    Figure("launch_hosts", "Launch on several hosts", "As on one host.", "launch_init", "hosts", several=True, floors=(("floor_agents",),),
           floor_text="floor: the agents alone, all at once"),
)


def place(figure, point):
    _, hosts, ranks, size = point
    return {"ranks": ranks, "hosts": hosts, "bytes": size}[figure.axis]


def belongs(figure, point):
    _, hosts, _, size = point
    return (figure.bytes is None or size == figure.bytes) and (hosts > 1) == figure.several


def curve(figure, measured, series):
    """[(place, median, smallest, largest)], ascending."""
    chosen = {}
    points = {point: values for point, values in measured.points(series, figure.bench).items() if belongs(figure, point)}
    counts = collections.Counter(point[2] for point in points)
    most = max(counts, key=lambda ranks: (counts[ranks], ranks), default=0)
    for point, values in points.items():
        if figure.axis != "bytes" or point[2] == most:
            at = place(figure, point)
            if at > 0 and (at not in chosen or point[2] > chosen[at][0]):
                chosen[at] = (point[2], values)
    return [(at, *values) for at, (_, values) in sorted(chosen.items())]


def floor(figure, measured, places):
    """[(place, value)] of the fastest floor."""
    ways = []
    for benches in figure.floors:
        parts = [floor_part(figure, measured, bench, places) for bench in benches]
        ways.append({where: sum(part[where] for part in parts) for where in places if all(where in part for part in parts)})
    return [(where, min(known)) for where in places if (known := [way[where] for way in ways if where in way])]


def floor_part(figure, measured, bench, places):
    """{place: value}"""
    found = {place(figure, point): values[0] for point, values in measured.points(FLOOR, bench).items() if figure.bytes is None or point[3] in (0, figure.bytes)}
    return dict.fromkeys(places, min(found.values())) if figure.floor_is_level and found else found


def drawn(measured):
    """Each figure that has a curve of two points or more: (figure, {series: curve}, floor). A series is at
    the same place in all of them, and may be empty."""
    for figure in FIGURES:
        curves = {series: curve(figure, measured, series) for series in measured.series()}
        if any(len(points) > 1 for points in curves.values()):
            yield figure, curves, floor(figure, measured, sorted({point[0] for points in curves.values() for point in points}))

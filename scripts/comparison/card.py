# SPDX-License-Identifier: BSD-3-Clause
"""Figures over an RDMA device (scripts/compare_fabrics --card): pairs as over TCP, and jobs of two virtual
nodes.

Everything runs on one processor, and sleeps when there is nothing to do. Between two processors of an
emulated machine a wake-up waits for the scheduler of the real one, milliseconds on a busy machine, and that
would be what is measured.
"""
import json
import os
import subprocess
from pathlib import Path

DEVICES = Path("/sys/class/infiniband")
PROVIDER, TLS = "verbs;ofi_rxm", "rc_verbs,ud_verbs"
# What transport/ofi/providers/rxm.cpp chooses for two nodes on a card, and no cache of registrations: all
# sides have the same.
RXM = {"FI_UNIVERSE_SIZE": "16", "FI_OFI_RXM_MSG_TX_SIZE": "64", "FI_OFI_RXM_MSG_RX_SIZE": "64",
       "FI_OFI_RXM_BUFFER_SIZE": "2048", "FI_MR_CACHE_MAX_COUNT": "0"}
# Patience, on an emulated machine.
PATIENCE = {"WEFT_LAUNCH_TIMEOUT": "300", "WEFT_LOST_AFTER": "120"}
RUN_LIMIT_S = 120
MESSAGE_BYTES, READ_BYTES = 64, 256
# This side is measured of ucx alone: Weft's connections tell of a lost peer, and those of ofi do so by
# themselves.
TELLS_OF_LOSS = "bare, that tells of a lost peer"
PAUSE_MS = 50  # as weftbench's let_others_sleep()
NODES, RANKS = 2, 2  # virtual nodes, and ranks on each
# A card's first page has room for so many repeats of the first touch; what is longer is asked for by a
# message.
REPEATS = 8


def device():
    """(name, IPv4 address) of the first RDMA device with a network interface that has one; None: there is
    none."""
    for folder in sorted(DEVICES.iterdir()) if DEVICES.is_dir() else ():
        if (folder / "parent").exists():  # Soft-RoCE
            links = [(folder / "parent").read_text(encoding="ascii").strip()]
        else:
            links = sorted(os.listdir(folder / "device" / "net")) if (folder / "device" / "net").is_dir() else []
        for link in links:
            shown = subprocess.run(["ip", "-j", "-4", "addr", "show", "dev", link], capture_output=True, text=True, check=False)
            found = [one["local"] for each in json.loads(shown.stdout or "[]") for one in each.get("addr_info", ())]
            if found:
                return folder.name, found[0]
    return None


class Jobs:
    """What a job of two nodes takes, and the parts that it cannot do without."""

    def __init__(self, runner, results, build, budget_ms):
        self.runner, self.results, self.bin, self.budget_ms = runner, results, build / "bin", budget_ms

    def sides(self, place, fabrics):
        """What a round runs, one after another."""
        out = [lambda: self.hand_off(place)]
        out += [lambda fabric=fabric: self.two_nodes(place, fabric) for fabric in ("shm", *fabrics)]
        out += [lambda fabric=fabric: self.rare_read(place, fabric) for fabric in fabrics]
        return out

    def weftbench(self, place, words, phases, environment):
        command = [self.bin / "weftrun", *words, self.bin / "weftbench", "--json", "--phases", phases, "--expect-ranks", NODES * RANKS,
                   "--card-bytes", READ_BYTES, "--repeats", REPEATS, "--budget-ms", self.budget_ms, "--limit", RUN_LIMIT_S]
        return self.runner.alone(place, command, {**PATIENCE, **environment})

    def two_nodes(self, place, fabric):
        transport = {"ofi": f"ofi:{PROVIDER}", "ucx": f"ucx:{TLS}", "shm": "shm"}[fabric]
        words = ["--virtual-nodes", NODES, "-n", NODES * RANKS]
        out = self.weftbench(place, words, "barrier,first_touch", {"WEFT_TRANSPORT": transport})
        self.add((place[0], fabric, "barrier", "sleep", 0, "two nodes"), out, "barrier")
        self.add((place[0], fabric, "first_touch", "paused", READ_BYTES, "ours"), out, "first_touch_alone")

    def hand_off(self, place):
        out = self.runner.alone(place, [self.bin / "weft_floor_handoff", "--json", 2], {})
        self.add((place[0], "shm", "handoff", "paused", 0, "bare"), out, "floor_handoff_one_core_paused")

    def rare_read(self, place, fabric):
        """A read by the bare program after all have slept."""
        common = [self.bin / f"weft_floor_{fabric}_pair", "--at", "AT:PORT", "--mode", "get", "--wait", "sleep", "--memory-bytes", 4096,
                  "--transport", {"ofi": PROVIDER, "ucx": TLS}[fabric], "--limit", RUN_LIMIT_S]
        out = self.runner.pair(place, [*common, "--serve"], [*common, "--json", "--bytes", READ_BYTES, "--pause-ms", PAUSE_MS])
        self.add((place[0], fabric, "get", "paused", READ_BYTES, "bare"), out, f"floor_{fabric}_get_sleep_paused")

    def add(self, key, text, bench):
        """The median of that record, if the run ended well."""
        if text is None:
            return
        records = [json.loads(line) for line in text.splitlines() if line.startswith('{"bench":')]
        found = [record["median_ns"] for record in records if record["bench"] == bench]
        if found:
            self.results.add(key, found[0])
        else:
            self.runner.failed(key[0], [bench], ["no figures came out"])


def targets():
    """(what, mode, wait, bytes, side of ours, {fabric: sides, each a list of keys' (fabric, mode, wait,
    bytes, side) and its name}, largest ratio)."""
    def bare(mode, size):
        return {fabric: [("bare", [(fabric, mode, "sleep", size, "bare")])] for fabric in ("ofi", "ucx")}

    barrier, touch, bare_touch = {}, {}, {}
    for fabric in ("ofi", "ucx"):
        message, rare = (fabric, "rtt", "sleep", MESSAGE_BYTES, "bare"), (fabric, "get", "paused", READ_BYTES, "bare")
        barrier[fabric] = [("bare there and back + the barrier over shm", [message, ("shm", "barrier", "sleep", 0, "two nodes")])]
        touch[fabric] = [("bare read after 50 ms + the first touch over shm", [rare, ("shm", "first_touch", "paused", READ_BYTES, "ours")])]
        bare_touch[fabric] = [("bare read + bare hand-off, after 50 ms", [rare, ("shm", "handoff", "paused", 0, "bare")])]
    def same(mode, size):
        return {"ofi": [], "ucx": [(TELLS_OF_LOSS, [("ucx", mode, "sleep", size, TELLS_OF_LOSS)])]}

    polling = {fabric: [(tool, [(fabric, "rtt", "poll", MESSAGE_BYTES, tool)]) for tool in tools]
               for fabric, tools in {"ofi": ("bare", "fi_pingpong"), "ucx": ("bare", "am_lat", "ucp_am_lat")}.items()}
    return [(f"there and back, {MESSAGE_BYTES} B, asleep", "rtt", "sleep", MESSAGE_BYTES, "ours", bare("rtt", MESSAGE_BYTES), 1.2),
            (f"there and back, {MESSAGE_BYTES} B, asleep", "rtt", "sleep", MESSAGE_BYTES, "ours", same("rtt", MESSAGE_BYTES), None),
            (f"get, {READ_BYTES} B", "get", "sleep", READ_BYTES, "ours", bare("get", READ_BYTES), 1.2),
            (f"get, {READ_BYTES} B", "get", "sleep", READ_BYTES, "ours", same("get", READ_BYTES), None),
            (f"there and back, {MESSAGE_BYTES} B, polling", "rtt", "poll", MESSAGE_BYTES, "ours", polling, None),
            (f"barrier of two nodes, {RANKS} ranks each", "barrier", "sleep", 0, "two nodes", barrier, 1.5),
            (f"first touch, {READ_BYTES} B, alone", "first_touch", "paused", READ_BYTES, "ours", touch, 1.5),
            (f"first touch, {READ_BYTES} B, alone", "first_touch", "paused", READ_BYTES, "ours", bare_touch, None)]


def judged(results, places, fabrics):
    """Rows as compare_fabrics has them."""
    rows = []
    for what, mode, wait, size, side, against, limit in targets():
        for fabric in fabrics:
            for place in places:
                key = (place, fabric, mode, wait, size, side)
                for name, parts in against[fabric]:
                    others = [(place, *part) for part in parts]
                    medians = [results.median(*other) for other in others]
                    if limit is None and results.median(*key) is None and None in medians:
                        continue  # was not asked for
                    ratio = results.ratio(key, *others, combine=sum)
                    rows.append({"what": what, "fabric": fabric, "place": place, "ours": results.median(*key), "side": name,
                                 "reference": None if None in medians else sum(medians), "ratio": ratio, "limit": limit,
                                 "met": None if limit is None or ratio is None else ratio <= limit})
    return rows

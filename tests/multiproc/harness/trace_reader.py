# SPDX-License-Identifier: BSD-3-Clause
"""Reads a trace of weftrun: holds it to Chrome's trace-event format and to the rules of nested slices."""
import collections
import json


def refuse_constant(text):
    raise AssertionError(f"no JSON: {text}")


def thousandths(text):
    """Times are written with three decimals, and are read without a loss."""
    whole, _, decimals = text.partition(".")
    assert len(decimals) == 3, text
    return int(whole) * 1000 + int(decimals)


class Trace:
    """nodes: {process: name}; tracks: {name: [event]} of all nodes; about: what the file says of itself."""

    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            document = json.load(file, parse_float=thousandths, parse_constant=refuse_constant)
        assert set(document) == {"traceEvents", "displayTimeUnit", "otherData"}, document.keys()
        self.about = document["otherData"]
        self.nodes, self.tracks, names, self.node_of = {}, {}, {}, {}
        slices = collections.defaultdict(list)
        for event in document["traceEvents"]:
            assert event["ph"] in ("M", "X"), event
            if event["ph"] == "X":
                assert isinstance(event["ts"], int) and isinstance(event["dur"], int), event
                assert event["ts"] >= 0 and event["dur"] >= 0, event
                slices[event["pid"], event["tid"]].append(event)
            elif event["name"] == "process_name":
                assert event["pid"] not in self.nodes, event
                self.nodes[event["pid"]] = event["args"]["name"]
            elif event["name"] == "thread_name":
                assert event["tid"] not in {tid for _, tid in names}, "a number is one track's"
                names[event["pid"], event["tid"]] = event["args"]["name"]
        assert set(slices) <= set(names), "an event of a track without a name"
        assert {pid for pid, _ in names} <= set(self.nodes), "a track of a node without a name"
        for key, name in names.items():
            self.hold_nested(slices[key])
            self.tracks.setdefault(name, []).extend(slices[key])
            self.node_of[name] = self.nodes[key[0]]

    @staticmethod
    def hold_nested(events):
        """Of two slices of a track one lies in the other, or ends before the other begins."""
        ends = []
        for event in sorted(events, key=lambda e: (e["ts"], -e["dur"])):
            end = event["ts"] + event["dur"]
            while ends and ends[-1] <= event["ts"]:
                ends.pop()
            assert not ends or end <= ends[-1], event
            ends.append(end)

    def calls(self, name):
        """The names of a track's events, in the order in which they began."""
        return [event["name"] for event in sorted(self.tracks[name], key=lambda e: e["ts"])]

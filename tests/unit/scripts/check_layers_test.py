#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""scripts/checks/check_layers on small trees made here: what it must let pass, and what it must name."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[3] / "scripts" / "checks" / "check_layers"


class CheckLayers(unittest.TestCase):
    def run_on(self, files):
        """files: {path: text}. Returns (exit status, lines that the script printed to stdout)."""
        with tempfile.TemporaryDirectory() as tree:
            for name, text in files.items():
                path = pathlib.Path(tree) / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
            done = subprocess.run([sys.executable, str(SCRIPT), "--root", tree], text=True, capture_output=True,
                                  check=False, timeout=60)
            self.assertEqual(done.stderr if done.returncode != 2 else "", "")
            return done.returncode, done.stdout.splitlines()

    def assert_good(self, path, *includes):
        status, lines = self.run_on({path: "".join(f"#include {name}\n" for name in includes)})
        self.assertEqual((status, lines[:-1]), (0, []))

    def assert_bad(self, path, include, complaint):
        status, lines = self.run_on({path: f"#pragma once\n#include {include}\n"})
        self.assertEqual((status, lines[:-1]), (1, [f"{path}:2: {complaint}"]))

    def test_downwards_and_own_folder_pass(self):
        self.assert_good("core/abi/init.cpp", '"core/abi/guard.hpp"', '"core/client/client.hpp"',
                         '"core/server/server.hpp"', '"core/store/card.hpp"', '"weft/result.hpp"', '"pmix.h"',
                         "<vector>")
        self.assert_good("core/link/socket.cpp", '"core/store/card.hpp"', '"transport/shm/segment.hpp"', "<asio.hpp>")
        self.assert_good("transport/shm/segment.hpp", '"weft/bytes.hpp"', "<sys/mman.h>")
        self.assert_good("base/wire.hpp", '"base/fd.hpp"', '"weft/bytes.hpp"')
        self.assert_good("transport/shm/socket.cpp", '"base/fd.hpp"')
        self.assert_good("tools/weftrun/job.cpp", '"base/wire.hpp"')
        self.assert_good("include/pmix.h", '"pmix_common.h"', "<pmix_version.h>", "<stdint.h>")
        self.assert_good("bench/micro/card.cpp", '"core/store/card.hpp"', '"transport/shm/segment.hpp"',
                         "<benchmark/benchmark.h>")

    def test_upwards_fails(self):
        self.assert_bad("base/fd.cpp", '"transport/base/folder.hpp"', "base may not include transport/base/folder.hpp")
        self.assert_bad("include/weft/transport.hpp", '"base/fd.hpp"', "include/weft may not include base/fd.hpp")
        self.assert_bad("core/data/value.cpp", '"core/store/card.hpp"', "core/data may not include core/store/card.hpp")
        self.assert_bad("core/store/card.hpp", '"core/link/socket.hpp"',
                        "core/store may not include core/link/socket.hpp")
        self.assert_bad("transport/shm/a.hpp", '"core/data/value.hpp"',
                        "transport/shm may not include core/data/value.hpp")
        self.assert_bad("core/client/get.cpp", '"core/abi/guard.hpp"', "core/client may not include core/abi/guard.hpp")
        self.assert_bad("include/weft/transport.hpp", '"transport/shm/a.hpp"',
                        "include/weft may not include transport/shm/a.hpp")

    def test_neighbours_on_a_line_fail(self):
        self.assert_bad("core/client/get.cpp", '"core/server/jobs.hpp"',
                        "core/client may not include core/server/jobs.hpp")
        self.assert_bad("core/server/jobs.cpp", '"core/client/get.hpp"',
                        "core/server may not include core/client/get.hpp")
        self.assert_bad("core/events/table.cpp", '"core/link/socket.hpp"',
                        "core/events may not include core/link/socket.hpp")

    def test_rooms_know_those_before_them(self):
        self.assert_good("core/server/fences/a.hpp", '"core/server/cards/b.hpp"', '"core/server/types.hpp"',
                         '"core/server/fences/c.hpp"')
        self.assert_good("core/server/server.hpp", '"core/server/reports/b.hpp"')
        self.assert_bad("core/server/cards/a.hpp", '"core/server/fences/b.hpp"',
                        "core/server/cards may not include core/server/fences/b.hpp: that room is above it")
        self.assert_bad("core/server/cards/a.hpp", '"core/server/server.hpp"',
                        "core/server/cards may not include core/server/server.hpp: that room is above it")
        self.assert_bad("base/threads/a.hpp", '"base/b.hpp"', "base/threads may not include base/b.hpp: that room is above it")
        self.assert_good("base/b.cpp", '"base/threads/a.hpp"')

    def test_a_room_without_a_place_fails(self):
        status, lines = self.run_on({"core/store/cellar/a.hpp": ""})
        self.assertEqual((status, lines[:-1]),
                         (1, ["core/store/cellar/a.hpp:1: core/store/cellar has no place among the ROOMS of scripts/checks/check_layers"]))

    def test_transport_and_contracts_do_not_know_pmix(self):
        self.assert_bad("transport/shm/a.cpp", "<pmix_common.h>", "transport/shm may not include pmix_common.h")
        self.assert_bad("include/weft/result.hpp", '"pmix.h"', "include/weft may not include pmix.h")
        self.assert_bad("include/pmix.h", '"weft/result.hpp"', "include/pmix may not include weft/result.hpp")

    def test_programs_know_the_public_api_only(self):
        for folder in ("tools/weftrun", "bench/weftbench", "bench/floors"):
            self.assert_good(f"{folder}/main.cpp", '"pmix_server.h"', "<pmix.h>", f'"{folder}/options.hpp"',
                             "<CLI/CLI.hpp>")
            self.assert_bad(f"{folder}/main.cpp", '"weft/result.hpp"', f"{folder} may not include weft/result.hpp")
            self.assert_bad(f"{folder}/main.cpp", '"core/data/value.hpp"',
                            f"{folder} may not include core/data/value.hpp")
        self.assert_bad("tools/weftd/main.cpp", '"tools/weftrun/options.hpp"',
                        "tools/weftd may not include tools/weftrun/options.hpp")
        self.assert_bad("tools/channel/answers.cpp", '"tools/node/program.hpp"',
                        "tools/channel may not include tools/node/program.hpp")
        self.assert_good("tools/node/local_ranks.cpp", '"tools/channel/answers.hpp"', '"tools/job/rank.hpp"')

    def test_a_file_beside_needs_no_folder_in_programs(self):
        status, lines = self.run_on({"tools/weftrun/main.cpp": '#include "options.hpp"\n', "tools/weftrun/options.hpp": ""})
        self.assertEqual((status, lines[:-1]), (0, []))

    def test_the_library_writes_includes_from_the_root(self):
        self.assert_bad("core/store/card.cpp", '"card_layout.hpp"',
                        'includes "card_layout.hpp": write ours from the repository root, and others in <>')
        self.assert_bad("core/store/card.cpp", '"../data/value.hpp"',
                        'includes "../data/value.hpp": write it from the repository root')
        self.assert_bad("core/store/card.cpp", "CARD_HEADER",
                        "includes CARD_HEADER: a computed include hides what it reads")

    def test_headers_of_others_have_their_holders(self):
        self.assert_good("include/weft/result.hpp", "<tl/expected.hpp>")
        self.assert_good("core/topology/topology.cpp", "<hwloc.h>", "<numa.h>")
        self.assert_good("tools/placement/binding.cpp", "<hwloc.h>")
        self.assert_bad("include/weft/bytes.hpp", "<tl/expected.hpp>",
                        "include/weft may not include tl/expected.hpp (only include/weft/result.hpp may)")
        self.assert_bad("core/client/init.cpp", "<hwloc.h>",
                        "core/client may not include hwloc.h (only core/topology, tools/placement, tools/node may)")

    def test_comments_and_strings(self):
        up = '#include "core/abi/guard.hpp"\n'
        status, lines = self.run_on({"core/data/a.cpp": f"// {up}/* {up}\n*/\nauto sign = \"/*\";\n  #  include \"core/abi/x.hpp\"\n// */"})
        self.assertEqual((status, lines[:-1]), (1, ["core/data/a.cpp:6: core/data may not include core/abi/x.hpp"]))

    def test_a_folder_without_a_place_fails(self):
        status, lines = self.run_on({"core/groups/group.hpp": ""})
        self.assertEqual((status, lines[:-1]),
                         (1, ["core/groups/group.hpp:1: core/groups has no place in the tables of scripts/checks/check_layers"]))

    def test_an_empty_tree_is_not_a_success(self):
        self.assertEqual(self.run_on({"docs/README.md": "x"})[0], 2)


if __name__ == "__main__":
    unittest.main()

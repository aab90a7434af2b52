#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""scripts/checks/check_headers on small trees made here: which headers it accepts, and which it names."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[3] / "scripts" / "checks" / "check_headers"
GOOD = "#pragma once\n#include <string>\nnamespace weft { struct Card { std::string text; }; }\n"
# What a header of these tests needs. <chrono> costs much to parse, so what includes it all is parsed once.
ALL = ('#include "core/data/card.hpp"', "#include <chrono>", "#include <vector>")
WITHOUT_CHRONO = (ALL[0], ALL[2])


class CheckHeaders(unittest.TestCase):
    def run_on(self, files, *options, compiler=None):
        """files: {path: text}. Returns (exit status, what the script printed)."""
        environment = {**os.environ, **({"CXX": compiler} if compiler else {})}
        with tempfile.TemporaryDirectory() as tree:
            for name, text in files.items():
                path = pathlib.Path(tree) / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
            done = subprocess.run([sys.executable, str(SCRIPT), "--root", tree, *options], text=True, capture_output=True,
                                  check=False, timeout=120, env=environment)
            return done.returncode, done.stdout

    def test_a_header_that_includes_what_it_uses(self):
        user = '#pragma once\n#include "weft/card.hpp"\nnamespace weft { inline Card card() { return {}; } }\n'
        status, out = self.run_on({"include/weft/card.hpp": GOOD, "core/data/user.hpp": user})
        self.assertEqual(status, 0, out)
        self.assertIn("2 headers", out)

    def test_a_missing_include_is_named(self):
        status, out = self.run_on({"core/data/card.hpp": GOOD.replace("#include <string>\n", "")})
        self.assertEqual(status, 1, out)
        self.assertIn("core/data/card.hpp: does not compile alone", out)

    def test_a_header_without_a_guard_is_named(self):
        status, out = self.run_on({"transport/shm/card.hpp": GOOD.replace("#pragma once\n", "")})
        self.assertEqual(status, 1, out)
        self.assertIn("transport/shm/card.hpp", out)

    def test_a_guard_is_looked_for_in_every_header(self):
        status, out = self.run_on({"core/data/card.hpp": GOOD.replace("#pragma once\n", ""),
                                   "core/data/card.cpp": '#include "core/data/card.hpp"\n'})
        self.assertEqual(status, 1, out)
        self.assertIn("core/data/card.hpp: has no #pragma once", out)

    def among_others(self, name, *lines):
        """A header of these lines that uses what ALL has, among others that include all of that."""
        def header(name, *lines):
            return "\n".join(["#pragma once", *lines, f"namespace weft {{ struct {name} {{", "  std::vector<Card> cards;",
                              "  std::chrono::seconds age;", "}; }", ""])
        others = {f"core/data/user{number}.hpp": header(f"User{number}", *ALL) for number in range(5)}
        return {"core/data/card.hpp": GOOD, f"core/data/{name}.hpp": header("Own", *lines), **others}

    def expect(self, files, *bad, compilers=("clang++",)):
        """All headers are good but these."""
        for compiler in filter(shutil.which, compilers):
            with self.subTest(compiler=compiler):
                status, out = self.run_on(files, compiler=compiler)
                self.assertEqual(status, 1 if bad else 0, out)
                self.assertEqual(re.findall(r"core/data/(\w+)[.]hpp: does not compile alone", out), list(bad), out)
                self.assertIn(f"{len(files)} headers, {len(bad)} not self-contained", out)

    def line_of(self, count, lacking=None):
        """Headers of which each includes the one before, and uses a vector; the first brings it along."""
        def header(number):
            lines = ["#pragma once", "#include <vector>" if number == 0 else f'#include "core/data/h{number - 1}.hpp"']
            uses = "std::chrono::seconds" if number == lacking else f"std::vector<{f'H{number - 1}' if number else 'int'}>"
            return "\n".join([*lines, f"struct H{number} {{ {uses} one; }};", ""])
        return {f"core/data/h{number}.hpp": header(number) for number in range(count)}

    def test_of_headers_that_include_each_other_in_a_line_the_bad_one_and_its_users_are_named(self):
        self.expect(self.line_of(5), compilers=("clang++", "g++"))
        self.expect(self.line_of(5, lacking=4), "h4")
        self.expect(self.line_of(5, lacking=2), "h2", "h3", "h4", compilers=("clang++", "g++"))

    def test_what_a_user_includes_does_not_help_what_is_used(self):
        lines = self.line_of(5, lacking=1)
        name = "core/data/h4.hpp"
        lines[name] = lines[name].replace("#pragma once\n", "#pragma once\n#include <chrono>\n")
        self.expect(lines, "h1", "h2", "h3")

    def test_of_headers_that_include_each_other_each_is_read_first(self):
        ring = {"core/data/one.hpp": '#pragma once\n#include "core/data/two.hpp"\nstruct One { Two* two; };\n',
                "core/data/two.hpp": '#pragma once\n#include "core/data/one.hpp"\nstruct Two { int one; };\n'}
        self.expect(ring, "two")
        self.expect({path: text.replace("Two*", "struct Two*") for path, text in ring.items()})

    def test_headers_that_include_the_same_are_good(self):
        self.expect(self.among_others("good", *ALL))

    def test_a_missing_standard_header_is_named_though_others_include_it(self):
        self.expect(self.among_others("lacking", *WITHOUT_CHRONO), "lacking", compilers=("clang++", "g++"))

    def test_a_missing_header_of_ours_is_named_though_others_include_it(self):
        large = {"core/data/card.hpp": GOOD + "// A large header costs much to parse.\n" * 2000}
        self.expect(self.among_others("lacking", *ALL[1:]) | large, "lacking")

    def test_an_include_below_its_use_is_too_late(self):
        late = ("struct Early { std::chrono::seconds age; };", "#include <chrono>")
        self.expect(self.among_others("late", *WITHOUT_CHRONO, *late), "late")

    def test_an_include_under_a_condition_that_does_not_hold_is_none(self):
        conditional = ("#ifdef NEVER", "#include <chrono>", "#endif")
        self.expect(self.among_others("conditional", *WITHOUT_CHRONO, *conditional), "conditional")

    def test_what_precedes_a_bad_header_where_it_is_included_does_not_help_it(self):
        files = self.among_others("includes_bad", *ALL, '#include "core/data/bad.hpp"')
        self.expect(files | {"core/data/bad.hpp": "#pragma once\nnamespace weft { struct Bad { std::chrono::seconds age; }; }\n"}, "bad")

    def test_no_header_is_not_a_success(self):
        self.assertEqual(self.run_on({"core/data/README.md": ""})[0], 2)


if __name__ == "__main__":
    unittest.main()

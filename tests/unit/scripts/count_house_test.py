#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""scripts/checks/count_house on small trees made here: what it counts, and what it must not be misled by."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[3] / "scripts" / "checks" / "count_house"


def rows_of(section, out):
    """{first cell: the other cells} of the table below `## section`."""
    text = out.split(f"## {section}\n", 1)[1].split("\n## ", 1)[0]
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in text.splitlines() if line.startswith("| ")]
    return {first: rest for first, *rest in cells[1:]}


class CountHouse(unittest.TestCase):
    def run_on(self, files):
        with tempfile.TemporaryDirectory() as tree:
            for name, text in files.items():
                path = pathlib.Path(tree) / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
            done = subprocess.run([sys.executable, str(SCRIPT), "--root", tree], text=True, capture_output=True,
                                  check=True, timeout=60)
            return done.stdout

    def test_files_and_lines(self):
        out = self.run_on({"core/store/a.cpp": "int a();\n" * 10, "core/store/b.hpp": "int b();\n" * 4,
                           "core/server/fences/c.cpp": "\n" * 7, "scripts/d": "#!/bin/sh\n", "core/store/README.md": "-\n"})
        rows = rows_of("Files and lines", out)
        self.assertEqual(rows["core/store"], ["2", "14", "7", "10"])
        self.assertEqual(rows["core/server/fences"], ["1", "7", "7", "7"])
        self.assertEqual(rows["scripts"], ["1", "1", "1", "1"])

    def test_functions(self):
        body = "".join(f"  if (a) {{ b(); }}  // {{ {i}\n" for i in range(40))
        code = ('namespace weft::store {\nvoid short_one() { const char* s = "}{"; }\n'
                f"int Log::append(std::vector<int> v,\n                int a) {{\n{body}  auto f = [&](int x) {{ return x; }};\n  return 1;\n}}\n"
                "constexpr int table[] = {1, 2, 3};\nLog::Log() : a_{1}, b_(2) {}\nint number = 10'000;\n}\n")
        out = self.run_on({"core/store/a.cpp": code})
        self.assertEqual(rows_of("Functions", out)["product"], ["3", "1", "45", "45", "1", "0", "0"])
        self.assertIn("`Log::append` 45 (core/store/a.cpp:3)", out)

    def test_comments(self):
        out = self.run_on({"core/store/a.cpp": '// One.\n/* Two,\n   three. */\nint a;  // behind\nint b;\nchar c[] = "// none";\nint d;\n'})
        self.assertEqual(rows_of("Comments", out)["core/store"], ["75", "100"])

    def test_classes_of_one_name_are_not_mixed_up(self):
        methods = "".join(f"  int m{i}() const;\n" for i in range(16))
        head = f"namespace weft::a {{\nclass Big {{\n public:\n  Big();\n{methods}\n private:\n  struct In {{ int x; }};\n  void hidden();\n  int a_ = f();\n}};\n}}\n"
        other = "namespace weft::b {\nstruct Big { int only(); };\n}\n"
        body = "namespace weft::a {\nint Big::m0() const {\n  return 1;\n}\n}\n"
        rows = rows_of("Large classes", self.run_on({"core/store/a.hpp": head, "core/store/b.hpp": other, "core/store/a.cpp": body}))
        self.assertEqual(rows, {"`a::Big`": ["16", "17", "28", "core/store/a.hpp:2"]})

    def test_state(self):
        code = ("namespace weft {\nint counted;\nstd::atomic<const int*> current{nullptr};\nconst int fixed = 1;\nconstexpr int also = 2;\n"
                "int declared(int a);\nusing Name = int;\nRole& role() {\n  static Role* const only = new Role;\n"
                "  static const Table names{1};\n  int mine = 1;\n  thread_local Seed seed{};\n  return *only;\n}\n}\n")
        out = self.run_on({"core/store/a.cpp": code})
        self.assertEqual(list(rows_of("State as long as the process", out)), ["`counted`", "`current`", "`only`", "`seed`"])

    def test_nothing_to_count_is_not_a_success(self):
        with tempfile.TemporaryDirectory() as tree:
            done = subprocess.run([sys.executable, str(SCRIPT), "--root", tree], capture_output=True, check=False, timeout=60)
        self.assertEqual(done.returncode, 2)


if __name__ == "__main__":
    unittest.main()

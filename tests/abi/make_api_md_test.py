#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""scripts/make_api_md on small trees: what it takes for done, for not yet, and for wrong.

usage: make_api_md_test.py PATH_TO_MAKE_API_MD
"""
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = sys.argv.pop(1)
HEADERS = ("pmix_macros.h", "pmix_utilities.h", "pmix_server.h", "pmix_tool.h", "pmix_deprecated.h",
           "weft/pmix_extensions.h")
PMIX_H = """/* ---- Publish/Lookup Operations ---- */
PMIX_EXPORT pmix_status_t PMIx_Publish(const pmix_info_t* info,
                                       size_t ninfo);
/* ---- Synchronization ---- */
PMIX_EXPORT void PMIx_Fence(void);
"""
PUBLISH = "pmix_status_t PMIx_Publish(const pmix_info_t*,\n size_t) { return PMIX_ERR_NOT_SUPPORTED; }\n"
FENCE = "void PMIx_Fence() { while (PMIx_Publish(a, b)) { return; } }\n"


class MakeApiMd(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.root = pathlib.Path(self.folder.name)
        for name in ("include", "core/abi", "docs"):
            (self.root / name).mkdir(parents=True)
        for name in HEADERS:
            header = self.root / "include" / name
            header.parent.mkdir(exist_ok=True)
            header.write_text("// Chapter of the PMIx Standard: Elsewhere.\n")
        (self.root / "include/pmix.h").write_text(PMIX_H)
        self.define("not_supported_publish.cpp", PUBLISH)
        self.define("fence.cpp", FENCE)

    def tearDown(self):
        self.folder.cleanup()

    def define(self, file, text):
        (self.root / "core/abi" / file).write_text(text)

    def run_script(self, *options):
        return subprocess.run([SCRIPT, "--root", str(self.root), *options], text=True, capture_output=True, check=False)

    def test_states_and_chapters(self):
        self.assertEqual(self.run_script().returncode, 0)
        page = (self.root / "docs/API.md").read_text()
        self.assertIn("## Publish/Lookup Operations", page)
        self.assertIn("| `PMIx_Publish` | `pmix.h` | not yet: returns `PMIX_ERR_NOT_SUPPORTED` |", page)
        self.assertIn("| `PMIx_Fence` | `pmix.h` | done |", page)
        self.assertIn("2 functions are declared and exported, 1 of them done", page)

    def test_a_function_that_is_done_in_part(self):
        self.define("fence.cpp", "/// Waits.\n/// Not yet: the first thing;\n///   and the second.\nextern \"C\" " + FENCE)
        self.assertEqual(self.run_script().returncode, 0)
        page = (self.root / "docs/API.md").read_text()
        self.assertIn("| `PMIx_Fence` | `pmix.h` | done; not yet: the first thing; and the second |", page)
        self.assertIn("1 of them done, 1 of these not in every part", page)
        self.assertIn("| [Synchronization](#synchronization) | 1 | 0 |", page)

    def test_a_lack_of_no_function_fails(self):
        for between in ("\n", "// more\n", "int x;\n"):
            self.define("fence.cpp", "/// Not yet: the lost one.\n" + between + FENCE)
            done = self.run_script()
            self.assertEqual((between, done.returncode), (between, 1))
            self.assertIn("the lost one", done.stderr)

    def test_a_function_without_a_definition_fails(self):
        self.define("fence.cpp", "// void PMIx_Fence() {}\nvoid other() { PMIx_Fence(); }\n")
        done = self.run_script()
        self.assertEqual(done.returncode, 1)
        self.assertIn("PMIx_Fence: declared, but defined nowhere", done.stderr)

    def test_two_definitions_fail(self):
        self.define("fence_too.cpp", FENCE)
        self.assertEqual(self.run_script().returncode, 1)

    def test_a_definition_that_no_header_declares_fails(self):
        self.define("more.cpp", "bool PMIx_More() noexcept { return true; }\n")
        done = self.run_script()
        self.assertEqual(done.returncode, 1)
        self.assertIn("PMIx_More", done.stderr)

    def test_check_sees_an_old_page(self):
        self.assertEqual(self.run_script("--check").returncode, 1)
        self.assertEqual(self.run_script().returncode, 0)
        self.assertEqual(self.run_script("--check").returncode, 0)
        self.define("fence.cpp", "")
        self.define("not_supported_fence.cpp", FENCE)
        self.assertEqual(self.run_script("--check").returncode, 1)


if __name__ == "__main__":
    unittest.main()

# SPDX-License-Identifier: BSD-3-Clause
"""scripts/report --small, from nothing to a page that has every picture there is.

  python3 report_run_test.py BUILD

Status 77: no root, no mpirun or no gnuplot here, without which some pictures cannot be.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path[:0] = [str(ROOT / "bench" / "plot"), str(ROOT / "scripts")]

import figures  # noqa: E402  pylint: disable=wrong-import-position
from comparison import scale  # noqa: E402  pylint: disable=wrong-import-position


def main():
    for what, is_there in (("root", os.geteuid() == 0), ("mpirun", shutil.which("mpirun")), ("gnuplot", shutil.which("gnuplot"))):
        if not is_there:
            print(f"skipped: there is no {what}")
            return 77
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder, "out")
        done = subprocess.run([ROOT / "scripts" / "report", "--small", "--build", sys.argv[1], "--out", out], stdin=subprocess.DEVNULL, check=False)
        if done.returncode != 0:
            print(f"report ends with status {done.returncode}")
            return 1
        found = {path.name for path in out.iterdir()}
        wanted = {"README.md", "index.html", "lines.jsonl"} | {f"{one.name}.{kind}" for one in figures.FIGURES for kind in ("svg", "png")}
        page = (out / "index.html").read_text(encoding="utf-8")
        predicted = {"README.md"} | {f"{name}.svg" for name in (*scale.TITLES, "memory", "overview", "hosts")}
        missing = sorted(predicted - {path.name for path in (out / "scale").iterdir()})
        missing += sorted(wanted - found) + [one.name for one in figures.FIGURES if f'id="{one.name}"' not in page]
    print(f"missing: {missing}" if missing else f"{len(figures.FIGURES)} pictures")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())

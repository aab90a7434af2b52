# SPDX-License-Identifier: BSD-3-Clause
"""The page of bench/plot in a real browser, headless: no script error, every picture loads, and no text is
cut off at 1280 and at 400 pixels.

Status 77: there is no browser or no gnuplot. A server on loopback hands the page out, beside a page that
looks at it in frames of those widths.
"""
import functools
import http.server
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading

ROOT = pathlib.Path(__file__).resolve().parents[2]
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
WIDTHS = (1280, 400)
SERIES = (("4.2.2 Weft 0.1.0 (PMIx Standard 4.2)", "weftrun", 1), ("OpenPMIx 4.2.2rc2 (PMIx Standard: 4.2)", "mpirun", 30), ("OpenPMIx 4.2.2rc2 (PMIx)", "slurmstepd", 50),
          ("none (bare processes)", "sh", 0.5))
BENCHES = {"barrier": ("floor_barrier_yield", 0), "full_fence": ("floor_barrier_yield", 256), "launch_init": ("floor_spawn_fork", 0)}
LOOK = """<!doctype html><title>look</title><body>%s<script>
const errors = [];
addEventListener("error", event => errors.push(String(event.message)));
function seen(frame) {
  const inside = frame.contentDocument, root = inside.documentElement;
  const cut = [...inside.querySelectorAll("h1, h2, p, li, td, th, code")].filter(one => one.scrollWidth > one.clientWidth + 1 && one.clientWidth > 0 ||
    one.getBoundingClientRect().right > frame.clientWidth + 1);
  return {width: frame.clientWidth, wide: root.scrollWidth, pictures: [...inside.images].map(one => one.complete ? one.naturalWidth : -1),
    sections: inside.querySelectorAll("section").length, cut: cut.map(one => one.textContent.slice(0, 60))};
}
const frames = [...document.querySelectorAll("iframe")];
for (const frame of frames) frame.contentWindow.addEventListener("error", event => errors.push(String(event.message)));
addEventListener("load", () => {
  document.body.innerHTML = "<pre>SEEN" + JSON.stringify({errors: errors, frames: frames.map(seen)}).replace(/&/g, "&amp;").replace(/</g, "&lt;") + "SEEN</pre>";
});
</script>"""


def draw(folder):
    """The page, with three curves and a floor in each picture; the texts are as long as they come."""
    lines = [{"bench": floor if launcher == "sh" else bench, "ranks": 4 * hosts if several else count, "hosts": hosts if several else 1, "bytes": size,
              "median_ns": 1e3 * factor * count * (1 + run / 10), "library": library, "launcher": launcher,
              "machine": "a-host-with-a-rather-long-name.example, 2 x A Processor With A Long Name @ 3.00GHz, Linux 6.18.44-something-v782", "commit": "0123456789abcdef0123456789abcdef01234567"}
             for bench, (floor, size) in BENCHES.items() for library, launcher, factor in SERIES for several in (False, True)
             for count, hosts in ((2, 2), (4, 4), (64, 8)) for run in range(3)]
    path = pathlib.Path(folder, "lines.jsonl")
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    done = subprocess.run([ROOT / "bench" / "plot" / "weftplot", folder, path], capture_output=True, text=True, check=False)
    if "gnuplot is not there" in done.stderr:
        print(f"skipped: {done.stderr}", end="")
        sys.exit(77)
    if done.returncode != 0:
        sys.exit(done.stderr)


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def look(browser, folder):
    """What the page that looks has seen."""
    frames = "".join(f'<iframe src="index.html" width="{width}" height="900" style="border:0;flex:none"></iframe>' for width in WIDTHS)
    pathlib.Path(folder, "look.html").write_text(LOOK % frames, encoding="utf-8")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        done = subprocess.run([browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", f"--user-data-dir={folder}/profile", "--window-size=1400,1000",
                               "--dump-dom", f"http://127.0.0.1:{server.server_port}/look.html"], capture_output=True, text=True, check=False, timeout=240)
    finally:
        server.shutdown()
    found = re.search(r"SEEN(.*)SEEN", done.stdout, re.S)
    if not found:
        sys.exit(f"the browser has shown nothing: {done.stdout[-2000:]} {done.stderr[-2000:]}")
    return json.loads(found[1].replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))


def main():
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        print("skipped: there is no browser (Debian: chromium)")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        draw(folder)
        seen = look(browser, folder)
    wrong = [f"error: {error}" for error in seen["errors"]]
    for frame in seen["frames"]:
        where = f"at {frame['width']} pixels"
        if frame["sections"] < 4 or len(frame["pictures"]) != frame["sections"] or min(frame["pictures"], default=0) <= 0:
            wrong.append(f"{where}: pictures of {frame['sections']} sections: {frame['pictures']}")
        if frame["wide"] > frame["width"]:
            wrong.append(f"{where}: the page is {frame['wide']} wide")
        wrong += [f"{where}: cut off: {text}" for text in frame["cut"]]
    if [frame["width"] for frame in seen["frames"]] != list(WIDTHS):
        wrong.append(f"the frames are {[frame['width'] for frame in seen['frames']]} wide")
    print("\n".join(wrong) or f"{[len(frame['pictures']) for frame in seen['frames']]} pictures, as they should be")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()

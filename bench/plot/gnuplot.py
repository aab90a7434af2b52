# SPDX-License-Identifier: BSD-3-Clause
"""A picture by gnuplot, as SVG and PNG: told apart by marks and dashes, so that it is read in black and white
as well."""
import math
import os
import shutil
import subprocess

from figures import TEXT_OF_AXIS, TEXT_OF_UNIT
from page import shown

# gnuplot's numbers of marks and dashes, and colours that differ in brightness too.
STYLES = (("7", "1", "#0b3d91"), ("4", "2", "#c44e00"), ("8", "4", "#3a7d44"), ("10", "5", "#7a3b8f"), ("12", "1", "#b8860b"), ("6", "2", "#111111"))
FLOOR_STYLE = ("1", "3", "#555555")
WIDTH, HEIGHT = 640, 440


class NoGnuplot(Exception):
    """It is not installed, or refuses the picture."""


def quoted(text):
    """For gnuplot, in single quotes. Backslashes and braces mean something to its texts, so those of a
    library's name go."""
    return "'" + "".join(" " if letter in "\\{}^_@&~" or letter < " " else letter for letter in text).replace("'", "''") + "'"


def block(name, points):
    return f"${name} << EOD\n" + "".join(" ".join(f"{value:.9g}" for value in point) + "\n" for point in points) + "EOD\n"


def tics_of(smallest, largest, unit):
    """The tics of an axis that has both. Of nanoseconds: 100 ns, 1 us, 10 us; on a short one those of 2 and
    5, too. Of bytes: powers of four."""
    base, steps = (4, (1,)) if unit == "bytes" else (10, (1, 2, 5) if largest < 100 * smallest else (1,))
    exponents = range(math.floor(math.log(smallest, base)), math.ceil(math.log(largest, base)) + 1)
    return ", ".join(f"'{shown(step * base**exponent, unit)}' {step * base**exponent:g}" for exponent in exponents for step in steps)


def script(figure, curves, floor, name):
    """What gnuplot is told: both files, to `name`.svg and `name`.png."""
    blocks, bars, plots = "", [], []
    places = sorted({point[0] for points in curves.values() for point in points})
    values = [value for points in curves.values() for point in points for value in point[1:]] + [value for _, value in floor]
    if len(curves) > len(STYLES):
        raise NoGnuplot(f"{figure.name} has {len(curves)} curves; marks and dashes are there for {len(STYLES)}")
    # A series looks the same in all pictures.
    for number, ((series, points), (mark, dash, colour)) in enumerate(zip(curves.items(), STYLES)):
        if not points:
            continue
        blocks += block(f"c{number}", points)
        style = f"lt 1 dt {dash} lc rgb '{colour}' pt {mark} ps 0.9 lw 2"
        bars.append(f"$c{number} using 1:2:3:4 with yerrorbars lc rgb '{colour}' ps 0 lw 1 notitle")
        plots.append(f"$c{number} using 1:2 with linespoints {style} title {quoted(series)}")
    if floor:
        mark, dash, colour = FLOOR_STYLE
        blocks += block("floor", floor)
        plots.append(f"$floor using 1:2 with lines dt {dash} lc rgb '{colour}' lw 2 title {quoted(figure.floor_text)}")
    tics = ", ".join(f"'{at:g}' {at:g}" for at in places)
    common = (f"set title {quoted(figure.title)}\nset logscale xy\nset xlabel '{TEXT_OF_AXIS[figure.axis]}' offset 0,0.5\nset ylabel '{TEXT_OF_UNIT[figure.unit]}'\n"
              f"set xtics ({tics})\nset ytics ({tics_of(min(values), max(values), figure.unit)})\nset grid ytics lc rgb '#dddddd'\nset border 3\nset tics nomirror\n"
              f"set xrange [{places[0] * 0.8:g}:{places[-1] * 1.25:g}]\nset yrange [{min(values) / 1.5:g}:{max(values) * 1.5:g}]\nset key below left Left reverse samplen 3 maxcols 1\n")
    plot = "plot " + ", ".join(bars + plots) + "\n"
    svg = f"set terminal svg size {WIDTH},{HEIGHT} dynamic font 'DejaVu Sans,14' background 'white'\nset output {quoted_path(name + '.svg')}\n"
    png = f"set terminal pngcairo size {2 * WIDTH},{2 * HEIGHT} font 'DejaVu Sans,14' fontscale 1.6 linewidth 2\nset output {quoted_path(name + '.png')}\n"
    return blocks + common + svg + plot + png + plot


def quoted_path(path):
    return "'" + path.replace("'", "''") + "'"


def draw(figure, curves, floor, folder):
    """Writes FOLDER/NAME.svg and .png. NoGnuplot: with what it said."""
    if shutil.which("gnuplot") is None:
        raise NoGnuplot("gnuplot is not there (Debian: gnuplot-nox)")
    done = subprocess.run(["gnuplot"], input=script(figure, curves, floor, os.path.join(folder, figure.name)), text=True, capture_output=True, check=False)
    if done.returncode != 0 or "error" in done.stderr.lower():
        raise NoGnuplot(f"gnuplot refuses {figure.name}: {done.stderr.strip()}")

# SPDX-License-Identifier: BSD-3-Clause
"""One page of HTML with all pictures and, under each, its numbers. It needs nothing but the pictures beside
it."""
import html
import os

STYLE = """
body { font: 1rem/1.5 system-ui, sans-serif; color: #111; background: #fff; max-width: 46rem; margin: 0 auto; padding: 0 1rem 3rem; overflow-wrap: anywhere; }
h2 { margin: 2.5rem 0 0; font-size: 1.2rem; }
img { display: block; width: 100%; height: auto; }
table { border-collapse: collapse; width: 100%; font-size: .85rem; }
th, td { text-align: right; padding: .15rem .3rem; border-bottom: 1px solid #ccc; vertical-align: top; }
th:first-child, td:first-child { text-align: left; }
td small { color: #555; display: block; }
"""


SCALES = {"ns": ((1e3, 1, "ns"), (1e6, 1e3, "us"), (1e9, 1e6, "ms"), (float("inf"), 1e9, "s")),
          "bytes": ((2**10, 1, "B"), (2**20, 2**10, "KiB"), (2**30, 2**20, "MiB"), (float("inf"), 2**30, "GiB"))}


def shown(value, unit="ns"):
    """Three digits with the unit that keeps them short."""
    for limit, divisor, name in SCALES[unit]:
        digits = float(f"{value / divisor:.3g}")
        if max(value, digits * divisor) < limit:
            return f"{digits:g} {name}"
    return ""


def row(tag, cells):
    return "<tr>" + "".join(f"<{tag}>{cell}</{tag}>" for cell in cells) + "</tr>\n"


def table(figure, curves, floor):
    floors = dict(floor)
    curves = {series: points for series, points in curves.items() if points}
    places = sorted({point[0] for points in curves.values() for point in points})
    heads = [html.escape(figure.axis), *map(html.escape, curves), *(["floor"] if floors else [])]
    text = "<table>\n" + row("th", heads)
    by_place = {series: {at: values for at, *values in points} for series, points in curves.items()}
    for at in places:
        cells = [f"{at:,}"]
        for points in by_place.values():
            if at not in points:
                cells.append("-")
                continue
            middle, smallest, largest = map(shown, points[at])
            cells.append(middle + (f"<small>{smallest} to {largest}</small>" if smallest != largest else ""))
        if floors:
            cells.append(shown(floors[at]) if at in floors else "-")
        text += row("td", cells)
    return text + "</table>\n"


def section(figure, curves, floor):
    alternative = f"{figure.title}: " + "; ".join(series for series, points in curves.items() if points) + ". The numbers are in the table below."
    return (f'<section id="{figure.name}">\n<h2>{html.escape(figure.title)}</h2>\n<p>{html.escape(figure.caption)}</p>\n'
            f'<img src="{figure.name}.svg" width="640" height="440" alt="{html.escape(alternative)}">\n{table(figure, curves, floor)}</section>\n')


def write(folder, drawn, measured, command):
    """FOLDER/index.html. drawn: of figures.drawn()."""
    facts = [("measured on", measured.machines), ("commit", measured.commits), ("libraries", measured.libraries.values())]
    listed = "".join(f"<li>{name}: {html.escape('; '.join(sorted(filter(None, values))))}</li>\n" for name, values in facts if any(values))
    made = f"<p>Made by <code>{html.escape(command)}</code>.</p>\n" if command else ""
    text = (f'<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            f"<title>Weft: what was measured</title>\n<style>{STYLE}</style>\n<h1>What was measured</h1>\n{made}<ul>\n{listed}</ul>\n"
            "<p>Medians of runs that alternated, with the smallest and the largest run. Both axes are logarithmic. Figures of two days or two machines do not "
            "compare: only those of one picture do.</p>\n" + "".join(section(*one) for one in drawn) + "</html>\n")
    with open(os.path.join(folder, "index.html"), "w", encoding="utf-8") as page:
        page.write(text)

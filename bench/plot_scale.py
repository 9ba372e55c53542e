#!/usr/bin/env python3
"""Plots the results of extract_scale_bench as an SVG: seconds over nodes, both axes logarithmic.

    bench/plot_scale.py SCALE.json PLOT.svg

SCALE.json is the program's output, or bench/results/extract_scale_bench.json from `./dev bench`.
"""
import json
import math
import sys

WIDTH, HEIGHT, LEFT, BOTTOM = 640, 400, 60, 40
COLOURS = {"greedy": "#1b9e77", "greedy-shared": "#d95f02", "greedy-dag": "#7570b3",
           "ilp": "#e7298a", "lp": "#66a61e", "best": "#333333"}


def main():
    source, target = sys.argv[1:3]
    with open(source, encoding="utf-8") as text:
        rows = json.load(text)
    if isinstance(rows, dict):
        rows = rows["measured"]
    rows = [r for r in rows if r["seconds"] >= 0]
    floor = 1e-4
    x_of = lambda nodes: LEFT + (math.log10(nodes) - 3) / 3 * (WIDTH - LEFT - 120)
    y_of = lambda s: HEIGHT - BOTTOM - (math.log10(max(s, floor)) + 4) / 6 * (HEIGHT - BOTTOM - 20)
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
             'font-family="sans-serif" font-size="12">',
             f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>']
    for power in range(3, 7):
        x = x_of(10 ** power)
        parts.append(f'<path d="M{x:.1f} 20V{HEIGHT - BOTTOM}" stroke="#ddd"/>'
                     f'<text x="{x:.1f}" y="{HEIGHT - 20}" text-anchor="middle">1e{power} nodes</text>')
    for power in range(-4, 3):
        y = y_of(10 ** power)
        parts.append(f'<path d="M{LEFT} {y:.1f}H{WIDTH - 120}" stroke="#ddd"/>'
                     f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{10.0 ** power:g} s</text>')
    for name, colour in COLOURS.items():
        points = [(x_of(r["nodes"]), y_of(r["seconds"])) for r in rows if r["extractor"] == name]
        if not points:
            continue
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>'
                     f'<text x="{points[-1][0] + 6:.1f}" y="{points[-1][1] + 4:.1f}" '
                     f'fill="{colour}">{name}</text>')
    parts.append("</svg>\n")
    with open(target, "w", encoding="utf-8") as out:
        out.write("\n".join(parts))


if __name__ == "__main__":
    main()

"""Reports as HTML: tables and both graphs."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import TYPE_CHECKING

from . import _core

if TYPE_CHECKING:
    from ._report import Report

_STYLE = """
.tangram td{text-align:left;vertical-align:top;padding:2px 10px}
.tangram .graphs{display:flex;gap:12px;overflow:auto;max-height:600px}
.tangram .graphs>div{overflow:auto;flex:1}
"""


def _table(rows: Sequence[Sequence[str]]) -> str:
    cells = ("".join(f"<td>{html.escape(cell)}</td>" for cell in row) for row in rows)
    return "<table>" + "".join(f"<tr>{row}</tr>" for row in cells) + "</table>"


def _steps(title: str, timing: _core.Timing) -> str:
    rows = [(f"{step.median_us:.1f} us", step.name, step.result, step.implementation)
            for step in sorted(timing.steps, key=lambda step: -step.median_us)]
    return f"<h3>{html.escape(title)}: {timing.median_us:.1f} us</h3>{_table(rows)}"


def report_body(report: Report, timings: Sequence[_core.Timing]) -> str:
    """Returns the figures, both graphs with differences marked, and the time of each operator."""
    parts = [f"<style>{_STYLE}{_core.svg_style()}</style><div class='tangram'>",
             _table(list(report.lines()))]
    if all(report.graphs):
        drawings = "".join(f"<div>{svg}</div>" for svg in report.graphs)
        parts.append(f"<div class='graphs'>{drawings}</div>")
    parts += [_steps(title, timing) for title, timing in zip(("source", "result"), timings)]
    return "".join([*parts, "</div>"])


def page(title: str, body: str, course: str = "") -> str:
    """Returns a complete file; `course`, a separate page, is shown below in a frame."""
    frame = ""
    if course:
        frame = (f'<iframe srcdoc="{html.escape(course, quote=True)}" '
                 'style="width:100%;height:1200px;border:0"></iframe>')
    return ('<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
            f"<title>{html.escape(title)}</title></head><body>{body}{frame}</body></html>\n")

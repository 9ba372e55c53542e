"""The report of a search, as text, in a notebook and as an HTML page."""

from __future__ import annotations

import html
import json
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from . import _core, _pages

if TYPE_CHECKING:
    from ._model import Model


#: Sizes whose results, with their programs, are kept.
_MOST_SIZES = 16


class Repeated(NamedTuple):
    """A model that was optimised by the rewrites of another search. Costs are microseconds."""

    model: Model
    steps: int
    """Rewrites that were applied."""
    skipped: int
    """Rewrites that do not apply at these sizes."""
    cost_before_us: float
    cost_after_us: float
    source_returned: bool
    """The rewritten model would cost more."""


def _repeated(out: _core.Repeated) -> Repeated:
    from ._model import Model

    return Repeated(
        Model(out.model), out.steps, out.skipped, out.cost_before_us, out.cost_after_us, out.source_returned
    )


class Optimized(NamedTuple):
    """A model and the report of its search; shown as a picture in a notebook."""

    model: Model
    report: Report

    def repeat(self, model: Model) -> Repeated:
        """Applies the rewrites of the search to the same model at other sizes, within milliseconds.

        Each rewrite is matched anew, and the chain is checked against the text of the rules. Needs
        `optimize(recipe=True)`. Raises ValueError without it, and Error E0801 for another model.

        >>> import tangram
        >>> text = "model m(x: f32[N, 8], N: int = 4) { relu(relu(x)) + 0.0 }"
        >>> best = tangram.parse(text).optimize(cost="analytic:cpu", recipe=True)
        >>> best.repeat(tangram.parse(text, set={"N": 100})).model.op_count
        1
        """
        if self.report._recipe is None:
            raise ValueError("there is no recipe: call `optimize(recipe=True)`")
        return _repeated(_core.repeat(self.report._recipe, model._core))

    def at(self, **sizes: int) -> Repeated:
        """Returns the result at these sizes, for a model with open sizes (`Model.open_sizes`). There is no search: the
        recipe that serves the sizes is repeated, within milliseconds. Sizes that are not given have their defaults.
        The last results are kept, with their compiled programs.

        Raises `Error` for an unknown name and for a size outside of its range.

        >>> import tangram
        >>> model = tangram.parse("model m(x: f32[S, 8], S: int in 1..512 = 64) { relu(relu(x)) + 0.0 }")
        >>> best = model.optimize(cost="analytic:cpu")
        >>> best.at(S=77).model.op_count, best.at(S=77).model.inputs[0].shape
        (1, (77, 8))
        """
        return self.report._at(sizes)

    def _repr_html_(self) -> str:
        return self.report._repr_html_()


class Report:
    """The report of an optimization.

    The fields are those of `tg opt --json` (docs/json.md), with the same names: costs (`cost_before_us`,
    `cost_after_us`, `lower_bound_us`) in microseconds by the prices in use; `median_before_us`,
    `median_after_us` and `speedup` of whole runs, if both graphs were run; `nodes_before`, `nodes_after`;
    `rules_applied` {rule: nodes that it made}; `notes` on requests that were not fulfilled; `stopped_by`, `total_s`,
    `source_returned` and others. In addition, `steps` is the chain of rewrites, with
    `optimize(explain=True)`, and `verified` is 'not asked', 'equal' or 'undecided'.

    >>> import tangram
    >>> model = tangram.parse("model m(x: f32[64, 64]) { relu(relu(x)) + 0.0 }")
    >>> report = model.optimize(cost="analytic:cpu").report
    >>> print(report)
    m: 3 → 1 operators, ... us (...x) by analytic:cpu; ...
    """

    def __init__(self, found: _core.Optimized, source: Model, result: Model) -> None:
        self._core = found.report
        self._trace = found.trace_json
        self._json = found.report_json
        self._recipe = found.recipe
        self._found, self._at_sizes = found, {}
        self._source, self._result = source, result
        self.steps: list[_core.Step] = found.steps

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # of a copy under construction
            raise AttributeError(name)
        return getattr(self._core, name)

    def _at(self, sizes: dict[str, int]) -> Repeated:
        from ._model import _open_sizes

        key = tuple(sorted(_open_sizes(sizes).items()))
        known = self._at_sizes.pop(key, None)
        if known is None:
            known = _repeated(self._found.at(dict(key)))
        self._at_sizes[key] = known  # the last one is the most recent
        while len(self._at_sizes) > _MOST_SIZES:
            self._at_sizes.pop(next(iter(self._at_sizes)), None)
        return known

    @property
    def speedup(self) -> float:
        """The speedup by whole runs if both graphs were run, else by prices."""
        r = self._core
        if r.speedup is not None:
            return r.speedup
        return r.cost_before_us / r.cost_after_us if r.changed and r.cost_after_us else 1.0

    @property
    def json(self) -> dict[str, Any]:
        """All fields: the output of `tg opt --json`."""
        return json.loads(self._json)

    def profile(self, *inputs: Any, **options: Any) -> tuple[_core.Timing, _core.Timing]:
        """Returns the time of each operator, of the source and of the result, on these inputs (random ones
        if none are given), in microseconds. `options` are those of `Model.compile`."""
        from ._inputs import random_inputs

        values = inputs or random_inputs(self._source.inputs)
        source, result = (m.compile(**options).time(*values, steps=True)
                          for m in (self._source, self._result))
        return source, result

    def html(self, profile: bool = False) -> str:
        """Returns one self-contained page: figures, both graphs with differences marked,
        with `optimize(trace=True)` the course of the search. With `profile`, both graphs are compiled and run now, and
        the page has the time of each operator."""
        if self._trace and not profile:
            return _core.report_page(self._trace)
        timings = self.profile() if profile else ()
        course = _core.report_page(self._trace) if self._trace else ""
        return _pages.page(self._core.model, _pages.report_body(self, timings), course)

    def save_html(self, path: str | os.PathLike[str], profile: bool = False) -> None:
        """Writes the page of `html` to a file. Raises `OSError` if it cannot be written.

        >>> import tangram, tempfile, os
        >>> model = tangram.parse("model m(x: f32[8]) { relu(relu(x)) }")
        >>> report = model.optimize(cost="analytic:cpu", trace=True).report
        >>> path = os.path.join(tempfile.mkdtemp(), "report.html")
        >>> report.save_html(path)
        >>> open(path).read().startswith("<!doctype html>")
        True
        """
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.html(profile))

    def lines(self) -> Iterator[tuple[str, str]]:
        """Yields the figures of the page and of notebooks: (name, text)."""
        r = self._core
        yield "operators", f"{r.nodes_before} → {r.nodes_after}"
        yield "cost", f"{r.cost_before_us:.1f} → {r.cost_after_us:.1f} us by {r.cost_model}"
        if r.median_before_us is not None:
            yield "whole runs", f"{r.median_before_us:.1f} → {r.median_after_us:.1f} us" + (
                " of the new graph" if r.source_returned else "")
        yield "speedup", f"{self.speedup:.2f}x" + (", the source is returned" if r.source_returned else "")
        rules = sorted(r.rules_applied.items(), key=lambda rule: -rule[1])
        yield "rules", ", ".join(f"{name} x{count}" for name, count in rules) or "none"
        yield "search", f"{r.search}, {r.total_s:.2f} s, stopped by: {r.stopped_by}"
        for note in r.notes:
            yield "note", note

    def __str__(self) -> str:
        r = self._core
        rules = ", ".join(f"{name} x{count}" for name, count in r.rules_applied.items()) or "no rule"
        return (f"{r.model}: {r.nodes_before} → {r.nodes_after} operators, {r.cost_before_us:.1f} → "
                f"{r.cost_after_us:.1f} us ({self.speedup:.2f}x) by {r.cost_model}; {rules}")

    def __repr__(self) -> str:
        return f"<tangram.Report {self}>"

    def _repr_html_(self) -> str:
        if self._trace:  # a page of its own, with a script: separate from the notebook's
            page = html.escape(_core.report_page(self._trace), quote=True)
            return f'<iframe srcdoc="{page}" style="width:100%;height:900px;border:0"></iframe>'
        return _pages.report_body(self, ())

    @property
    def graphs(self) -> tuple[str, str]:
        """The source and the result as SVG, each with the operators marked that the other does not have."""
        return self._source.svg(self._result), self._result.svg(self._source)

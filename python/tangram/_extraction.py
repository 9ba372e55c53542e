"""Extraction alone: the best graph of an e-graph in a file."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any, Literal

from . import _arguments, _core

Extraction = _core.Extraction


def extract(
    egraph: str | os.PathLike[str] | Mapping[str, Any],
    *,
    extractor: Literal["greedy", "greedy-shared", "greedy-dag", "ilp", "lp", "best"] = "best",
    check: bool = False,
    seed: int = 1,
    time_limit: float | None = None,
) -> Extraction:
    """Returns the best choice of nodes of an e-graph in egraph-serialize format: a file, or a dict.
    Costs are in the unit of the file, and `time_limit` is in seconds (default 60). With `check`, a separate checker
    confirms the choice.

    Raises `Error` for an invalid e-graph, and for a root without a choice of finite cost.

    >>> import tangram
    >>> found = tangram.extract({
    ...     "nodes": {"a": {"op": "a", "children": [], "eclass": "0", "cost": 3.0},
    ...               "b": {"op": "b", "children": [], "eclass": "0", "cost": 2.0}},
    ...     "root_eclasses": ["0"]})
    >>> found.choices, found.dag_cost, found.optimal
    ({'0': 'b'}, 2.0, True)
    """
    if isinstance(egraph, Mapping):
        text, name = json.dumps(egraph), "<e-graph>"
    else:
        name = _arguments.path("egraph", egraph)
        with open(name, encoding="utf-8") as file:
            text = file.read()
    return _core.extract(text, name, _arguments.text("extractor", extractor), _arguments.flag("check", check),
                         _arguments.whole("seed", seed, high=2**64 - 1), _arguments.seconds("time_limit", time_limit))

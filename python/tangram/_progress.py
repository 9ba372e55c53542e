"""The progress line of a search, in a terminal or a notebook."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO

from . import _core

Notify = Callable[[_core.SearchProgress], Any]
_WIDTH = 24


def bar(progress: _core.SearchProgress) -> str:
    """Returns one line: the share of time used, the cost of the network, and the rules
    with the largest gains."""
    part = min(progress.seconds / progress.time_limit_s, 1.0) if progress.time_limit_s > 0 else 0.0
    full = round(part * _WIDTH)
    gain = progress.source_us / progress.best_us if progress.best_us > 0 else 1.0
    rules = ", ".join(name for name, _ in progress.rules[:3])
    return (f"[{'#' * full}{'.' * (_WIDTH - full)}] {progress.seconds:.1f} s  "
            f"{progress.source_us:.0f} → {progress.best_us:.0f} us ({gain:.2f}x)  {rules}")


def _in_notebook() -> bool:
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return shell is not None and hasattr(shell, "kernel")


@contextmanager
def _progress_in_notebook() -> Iterator[Notify]:
    from IPython.display import HTML, display  # type: ignore[import-not-found]

    handle = display(HTML(""), display_id=True)
    yield lambda progress: handle.update(HTML(f"<pre>{bar(progress)}</pre>"))
    handle.update(HTML(""))


@contextmanager
def _progress_on_terminal(out: TextIO) -> Iterator[Notify]:
    def show(progress: _core.SearchProgress) -> None:
        out.write(f"\r\x1b[2K{bar(progress)}")
        out.flush()

    yield show
    out.write("\r\x1b[2K")
    out.flush()


@contextmanager
def listener(progress: bool | Notify) -> Iterator[Notify | None]:
    """Returns the function that a search notifies; None outside a terminal or notebook."""
    if not callable(progress) and not isinstance(progress, bool):
        raise TypeError(f"progress must be True, False or a function, not {progress!r}")
    if callable(progress):
        yield progress
    elif progress and _in_notebook():
        with _progress_in_notebook() as notify:
            yield notify
    elif progress and sys.stderr.isatty():
        with _progress_on_terminal(sys.stderr) as notify:
            yield notify
    else:
        yield None

"""Prices of this machine."""

from __future__ import annotations

from . import _arguments, _core


def calibrate(*, time_limit: float = 60, threads: int = 0) -> _core.Calibration:
    """Times operators of all kinds on this machine, so that searches can estimate prices from these times.

    The times are kept in the user's cache folder. `time_limit` is in seconds; a later call continues.
    """
    return _core.calibrate(_arguments.number("time_limit", time_limit), _arguments.whole("threads", threads, high=1024))

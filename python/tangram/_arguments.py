"""Checks of arguments: messages name the argument, state the accepted values and show the given one."""

from __future__ import annotations

import math
import operator
import os
from collections.abc import Mapping
from typing import Any

_LARGEST = 2**31 - 1


def whole(name: str, value: Any, low: int = 0, high: int = _LARGEST) -> int:
    """Returns a whole number in a range.

    >>> whole("threads", -1)
    Traceback (most recent call last):
    ValueError: threads must be a whole number from 0 to 2147483647, not -1
    """
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be a whole number, not {value!r}") from None
    if not low <= number <= high:
        raise ValueError(f"{name} must be a whole number from {low} to {high}, not {value!r}")
    return number


def number(name: str, value: Any, low: float = 0.0) -> float:
    """Returns a finite number that is at least `low`."""
    if isinstance(value, (str, bytes)) or not hasattr(value, "__float__") and not hasattr(value, "__index__"):
        raise TypeError(f"{name} must be a number, not {value!r}")
    found = float(value)
    if not (math.isfinite(found) and found >= low):
        raise ValueError(f"{name} must be a finite number of at least {low:g}, not {value!r}")
    return found


def seconds(name: str, value: Any) -> float:
    """Returns a time limit in seconds; None, the default, becomes -1."""
    return -1.0 if value is None else number(name, value)


def flag(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be True or False, not {value!r}")
    return value


def text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a str, not {value!r}")
    return unicode(name, value)


def unicode(name: str, value: str) -> str:
    """Returns the text if UTF-8 can represent it: halves of a surrogate pair are not text."""
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{name} is not Unicode text: {value!r}") from None
    return value


def path(name: str, value: Any) -> str:
    if not isinstance(value, (str, os.PathLike)):
        raise TypeError(f"{name} must be a str or a path, not {value!r}")
    if not os.fspath(value):
        raise ValueError(f"{name} must not be empty")
    if not isinstance(os.fspath(value), str):
        raise TypeError(f"{name} must be a str or a text path, not {value!r}")
    return unicode(name, os.fspath(value))


def mapping(name: str, value: Any) -> dict[str, Any]:
    """Returns a dict whose keys are names; None becomes an empty dict."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise TypeError(f"{name} must be a dict, not {value!r}")
    for key in value:
        if not isinstance(key, str):
            raise TypeError(f"the keys of {name} must be strings, not {key!r}")
        unicode(f"a key of {name}", key)
    return dict(value)


def model(name: str, value: Any) -> Any:
    from ._model import Model

    if not isinstance(value, Model):
        raise TypeError(f"{name} must be a tangram.Model, not {value!r}")
    return value

"""Rewrite rules: listing and verification.

>>> import tangram
>>> verdict, = tangram.rules.verify("rule wrong(x) { relu(x) => x }")
>>> verdict.status
'refuted'
>>> tangram.parse(verdict.counterexample, model="left")
<tangram.Model left(x: f32[1]), 1 operator>
"""

from __future__ import annotations

import os
from collections.abc import Iterable

from . import _arguments, _core

RuleInfo = _core.RuleInfo
RuleVerdict = _core.RuleVerdict

__all__ = ["RuleInfo", "RuleVerdict", "list", "selection", "verify"]

_list = list  # the function below has the same name


def selection(rules: str | os.PathLike[str] | Iterable[str | os.PathLike[str]]) -> tuple[_list[str], str]:
    """Splits a selection into names and files, and the text of its rules: an item with `=>` is a text.

    >>> import tangram
    >>> tangram.rules.selection(["algebra", "rule r(x) { relu(relu(x)) => relu(x) }"])
    (['algebra'], 'rule r(x) { relu(relu(x)) => relu(x) }')
    """
    if not isinstance(rules, (str, os.PathLike, Iterable)):
        raise TypeError(f"rules must be names, files or texts of rules, not {rules!r}")
    parts = [_arguments.path("a rule", part) for part in ([rules] if isinstance(rules, (str, os.PathLike)) else rules)]
    texts = [part for part in parts if "=>" in part]
    return [part for part in parts if part not in texts], "\n".join(texts)


def list(*rules: str | os.PathLike[str]) -> _list[RuleInfo]:
    """Returns the rules of a selection: rule sets, rules or files; without arguments, the whole library.
    Raises `Error` for unknown names and unreadable files.

    >>> import tangram
    >>> [rule.rule for rule in tangram.rules.list("relu_relu")]
    ['relu_relu']
    """
    return _core.list_rules([_arguments.path("a rule", rule) for rule in rules])


def verify(
    *rules: str | os.PathLike[str],
    instances: int = 200,
    proof: bool = False,
    seed: int = 1,
    time_limit: float | None = None,
    threads: int = 0,
) -> _list[RuleVerdict]:
    """Verifies rules given as texts, files, rule sets or single rules, and returns one verdict each.
    `time_limit` is in seconds; `proof` also tries to prove each rule for all sizes, which requires Z3.

    `status` is 'proved', 'tested', 'untested', 'refuted', 'empty', 'fault', 'stopped' or 'unread'.
    A refuted rule has a `counterexample`, .tg text with the models `left` and `right`.
    A rule that cannot be read is 'unread', with the error as its `why`; all other rules are verified.
    Raises `Error` for unknown names, unreadable files, and texts without a readable rule.

    >>> import tangram
    >>> verdict, = tangram.rules.verify("rule r(x) { relu(relu(x)) => relu(x) }", instances=20)
    >>> verdict.status, verdict.cases
    ('tested', 20)
    """
    names, text = selection(rules)
    return _core.verify_rules(
        names, text, _arguments.whole("instances", instances, 1, 1_000_000), _arguments.flag("proof", proof),
        _arguments.whole("seed", seed, high=2**64 - 1), _arguments.seconds("time_limit", time_limit),
        _arguments.whole("threads", threads, high=1024))

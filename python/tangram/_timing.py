"""Runs two programs interleaved and decides whether one is faster beyond the noise."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

_RUNS_PER_PAIR = 3  # other programs only add time, in bursts: the least counts
_LEAST_PAIRS, _MOST_PAIRS = 9, 500


@dataclass(frozen=True)
class Comparison:
    """`ratio` is the median of first / second over pairs of runs (above 1: the second is faster), and
    [low, high] its 95% interval. `first_us` is a median in microseconds, and `second_us` is
    `first_us / ratio`."""

    first_us: float
    second_us: float
    ratio: float
    low: float
    high: float
    pairs: int
    medians_agree: bool = True  # the median of the second alone is below that of the first

    @property
    def second_faster(self) -> bool:
        """True if the interval is above 1 and the medians agree."""
        return self.low > 1 and self.medians_agree

    @property
    def decided(self) -> bool:
        """True if 1 is outside of the interval."""
        return self.second_faster or self.high < 1

    def __str__(self) -> str:
        return (f"{self.first_us:.1f} → {self.second_us:.1f} us, {self.ratio:.3f}x "
                f"[{self.low:.3f}, {self.high:.3f}] over {self.pairs} pairs")


def interval_of_median(values: Sequence[float]) -> tuple[float, float]:
    """Returns an interval of at least 95%, by order statistics, for any distribution (Conover, section 3.2).

    >>> interval_of_median([1, 2, 3, 4, 5, 6, 7, 8, 9])
    (2, 8)
    >>> interval_of_median([1, 2])
    (-inf, inf)
    """
    ordered, count = sorted(values), len(values)
    below, ways = 0, 1  # integers, scaled by 2 ** count, so that no probability underflows
    while 40 * ways <= 1 << count:
        below += 1
        ways += math.comb(count, below)
    if below == 0:
        return -math.inf, math.inf
    return ordered[below - 1], ordered[count - below]


def compare(
    first: Callable[[], object], second: Callable[[], object], seconds: float = 3, patience: float = 12
) -> Comparison:
    """Runs both interleaved for `seconds`, and for up to `patience` if the samples do not decide.
    The decision is checked only when the number of pairs has doubled, because frequent checks would decide
    by chance."""
    first(), second()
    samples: tuple[list[float], list[float]] = ([], [])
    begun, look = time.perf_counter(), _LEAST_PAIRS
    while True:
        best = [math.inf, math.inf]
        for turn in range(2 * _RUNS_PER_PAIR):
            which = (turn + turn // 2) % 2  # which goes first alternates
            start = time.perf_counter()
            (first, second)[which]()
            best[which] = min(best[which], time.perf_counter() - start)
        for list_of, value in zip(samples, best):
            list_of.append(1e6 * value)
        pairs, spent = len(samples[0]), time.perf_counter() - begun
        if pairs < _MOST_PAIRS and (pairs < look or spent < seconds):
            continue
        found = summary(*samples)
        if found.decided or spent > patience or pairs >= _MOST_PAIRS:
            return found
        look = 2 * pairs


def summary(first: Sequence[float], second: Sequence[float]) -> Comparison:
    ratios = [a / b for a, b in zip(first, second)]
    low, high = interval_of_median(ratios)
    first_us, ratio = statistics.median(first), statistics.median(ratios)
    return Comparison(first_us, first_us / ratio, ratio, low, high, len(ratios), statistics.median(second) < first_us)

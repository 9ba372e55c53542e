#!/usr/bin/env python3
"""Measures the rounding error of F(4x4, 3x3) with different interpolation points against the definition, in f32:

    bench/winograd_points.py [CHANNELS [TILES]]

Tiles have normal numbers, or the same after a relu; kernels have variance 1 / (9 CHANNELS). Transforms are computed
exactly (Toom and Cook) and applied in f32 without fused multiply-adds; channels are summed one by one. A row has the
root mean square and the largest difference from the sums in double precision, over the largest result, first for
tiles, then for the definition summed in f32; and the largest factor by which a tile's transforms amplify a rounding
error (tests/unit/cpu/winograd_test.cpp).
"""
import sys
from fractions import Fraction

import numpy as np

POINTS = {
    "1, 2": (1, 2),
    "1, 1/2": (1, Fraction(1, 2)),
    "1/2, 2": (Fraction(1, 2), 2),
    "1/2, 3/2": (Fraction(1, 2), Fraction(3, 2)),
    "2/3, 3/2": (Fraction(2, 3), Fraction(3, 2)),
    "5/7, 7/5": (Fraction(5, 7), Fraction(7, 5)),
    "3/4, 4/3": (Fraction(3, 4), Fraction(4, 3)),
    "5/8, 3/2": (Fraction(5, 8), Fraction(3, 2)),
}
RESULTS, TAPS = 4, 3


def polynomial(roots):
    """Returns the coefficients of the product of x - r over all roots r, lowest first."""
    made = [Fraction(1)]
    for root in roots:
        made = [Fraction(0), *made]
        for i in range(len(made) - 1):
            made[i] -= root * made[i + 1]
    return made


def transforms(points):
    """Returns A', G, B' for the points 0, each of `points` with both signs, and infinity."""
    finite = [Fraction(0)] + [sign * Fraction(p) for p in points for sign in (1, -1)]
    outputs = [[p**i for p in finite] + [Fraction(int(i == RESULTS - 1))] for i in range(RESULTS)]
    weights, inputs = [], []
    for i, p in enumerate(finite):
        others = finite[:i] + finite[i + 1:]
        scale = np.prod([p - q for q in others])
        weights.append([p**j / scale for j in range(TAPS)])
        inputs.append(polynomial(others) + [Fraction(0)])
    weights.append([Fraction(0)] * (TAPS - 1) + [Fraction(1)])
    inputs.append(polynomial(finite))
    return [np.array(m, dtype=np.float64) for m in (outputs, weights, inputs)]


def apply(matrix, x, axis):
    """Multiplies x by a matrix along an axis, with each operation rounded to f32."""
    x, rows = np.moveaxis(x, axis, 0), []
    for row in matrix.astype(np.float32):
        terms = [factor * v for factor, v in zip(row, x) if factor != 0]
        total = terms[0]
        for term in terms[1:]:
            total = total + term
        rows.append(total)
    return np.moveaxis(np.stack(rows), 0, axis)


def enlarged(outputs, weights, inputs):
    lengths = (weights**2).sum(axis=1) * (inputs**2).sum(axis=1)
    return np.sqrt((outputs**2 @ lengths).max())


def by_definition(tiles, kernels, dtype):
    total = np.zeros((len(tiles), RESULTS, RESULTS), dtype)
    for channel in range(len(kernels)):
        for i in range(TAPS):
            for j in range(TAPS):
                total = total + tiles[:, channel, i:i + RESULTS, j:j + RESULTS].astype(dtype) * dtype(kernels[channel, i, j])
    return total


def by_tiles(tiles, kernels, outputs, weights, inputs):
    transformed = (weights @ kernels.astype(np.float64) @ weights.T).astype(np.float32)
    read = apply(inputs, apply(inputs, tiles, -2), -1)
    total = np.zeros((len(tiles), *transformed.shape[1:]), np.float32)
    for channel in range(len(kernels)):
        total = total + read[:, channel] * transformed[channel]
    return apply(outputs, apply(outputs, total, -2), -1)


def main():
    channels = int(sys.argv[1]) if len(sys.argv) > 1 else 64
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 400
    random = np.random.default_rng(0)
    normal = random.standard_normal((count, channels, 6, 6)).astype(np.float32)
    kernels = (random.standard_normal((channels, TAPS, TAPS)) / np.sqrt(9 * channels)).astype(np.float32)
    print(f"{channels} channels, {count} tiles; differences in 1e-7 of the largest result")
    print("points (±)    enlarged     normal: rms     max       relu: rms     max")
    images = (normal, np.maximum(normal, 0))
    exact = [by_definition(x, kernels, np.float64) for x in images]
    def row(name, factor, results):
        text = f"{name:<14}{factor:>8}  "
        for got, want in zip(results, exact):
            off = (got - want) / np.abs(want).max() * 1e7
            text += f"{np.sqrt((off**2).mean()):>15.2f}{np.abs(off).max():>8.1f}"
        print(text)
    for name, points in POINTS.items():
        parts = transforms(points)
        row(name, f"{enlarged(*parts):.2f}", [by_tiles(x, kernels, *parts) for x in images])
    row("definition", "", [by_definition(x, kernels, np.float32) for x in images])


if __name__ == "__main__":
    main()

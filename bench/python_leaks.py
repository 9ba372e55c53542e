#!/usr/bin/env python3
"""Repeats the usual calls of the Python package, for LeakSanitizer: its report must not grow with the number of calls.

    LD_PRELOAD="$(gcc -print-file-name=libasan.so) $(gcc -print-file-name=libstdc++.so)" PYTHONMALLOC=malloc \\
      ASAN_OPTIONS=detect_leaks=1 bench/python_leaks.py [CALLS]

Without the preloaded library it only makes the calls: CALLS of them (default 10,000), and 20 searches.
"""
import sys

import numpy

import tangram

SEARCH = {"cost": "analytic:cpu", "finalists": 0, "time_limit": 1, "iterations": 2}


def main():
    calls = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    model = tangram.parse("model m(x: f32[4, 4]) { relu(x @ x) }")
    program, x = model.compile(), numpy.ones((4, 4), "float32")
    for _ in range(calls):
        program(x)
        model.run(x)
        tangram.parse("model m(x: f32[4, 4]) { x + x }")
        try:
            tangram.parse("model m(x: f32[4, 4]) { x @ 3 }")
        except tangram.Error:
            pass
    for _ in range(20):
        model.optimize(**SEARCH)
    print(f"{calls} calls of each kind, 20 searches")


if __name__ == "__main__":
    main()

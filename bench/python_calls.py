#!/usr/bin/env python3
"""Measures the overhead of a call from Python over one from C++, on a model with one input and almost no work.

    bench/python_calls.py      requires the installed package (python/README.md)

Prints medians in microseconds: of a run alone, timed in C++; of a call of `Program` with a NumPy array; with a
PyTorch tensor, if PyTorch is installed; and of the call by `torch.compile`, most of which is Dynamo's overhead, as
with a backend that does nothing.
"""
import statistics
import time

import numpy

import tangram


def median_us(call, runs=20_000):
    samples = []
    for _ in range(runs):
        start = time.perf_counter_ns()
        call()
        samples.append((time.perf_counter_ns() - start) / 1000)
    return statistics.median(samples)


def main():
    program = tangram.parse("model m(x: f32[1, 16]) { relu(x) }").compile(threads=1)
    x = numpy.ones((1, 16), "float32")
    alone = program.time(x, runs=300).median_us
    print(f"a run alone          {alone:7.2f} us")
    print(f"a call with NumPy    {median_us(lambda: program(x)):7.2f} us")
    try:
        import torch
    except ImportError:
        return
    tensor = torch.ones(1, 16)
    print(f"a call with PyTorch  {median_us(lambda: program(tensor)):7.2f} us")
    with torch.no_grad():
        for name, backend in (("tangram", "tangram"), ("nothing", lambda graph, inputs: lambda x: (x,))):
            torch._dynamo.reset()
            compiled = torch.compile(torch.nn.ReLU(), backend=backend)
            compiled(tensor)
            print(f"torch.compile, {name} {median_us(lambda: compiled(tensor)):5.2f} us")


if __name__ == "__main__":
    main()

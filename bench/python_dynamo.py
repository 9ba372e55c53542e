#!/usr/bin/env python3
"""Splits the time of a call by `torch.compile(backend="tangram")`, against `tangram.compile` of the same network.

    bench/python_dynamo.py [--threads N] [--rounds N] NETWORK...      networks of bench/python_networks.py

The ways run in one process, in interleaved blocks of calls, with clocks around our part of a call and around its
comparison of weights (`Watch.state`). Prints medians in microseconds as Markdown: the whole call, our part, the
remainder, the comparison. Ways: unchanged Dynamo; without guards of PyTorch's own modules; with
`use_recursive_dict_tags_for_guards`; without guards; `tangram.compile`, which does not use Dynamo.
"""
import argparse
import os
import statistics
import time

BLOCK_S = 0.1


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("networks", nargs="+")
    return parser.parse_args()


OPTIONS = arguments()
os.environ["OMP_NUM_THREADS"] = str(OPTIONS.threads)  # before PyTorch is imported

import torch  # noqa: E402
from python_networks import NETWORKS, Plain  # noqa: E402

import tangram  # noqa: E402
from tangram.torch import dynamo  # noqa: E402


class Clock:
    """Times all calls of a method, on all objects of its class."""

    def __init__(self, owner, name):
        self.times = []
        inner = getattr(owner, name)

        def timed(*args):
            start = time.perf_counter()
            found = inner(*args)
            self.times.append(time.perf_counter() - start)
            return found

        setattr(owner, name, timed)


def ways(module, inputs):
    """Yields each way's name and a function that compiles the network that way, from scratch. The way's configuration
    is set until the next one is requested."""
    def compiled(**options):
        torch._dynamo.reset()
        made = torch.compile(module, backend="tangram", **options)
        made(*inputs)
        return made

    def filtered(guards):
        return compiled(options={"guard_filter_fn": guards})

    yield "`torch.compile`", compiled
    yield "guards of PyTorch's modules skipped", lambda: filtered(torch.compiler.skip_guard_on_inbuilt_nn_modules_unsafe)
    with torch._dynamo.config.patch(use_recursive_dict_tags_for_guards=True):
        yield "`use_recursive_dict_tags_for_guards`", compiled
    yield "all guards skipped", lambda: filtered(torch.compiler.skip_all_guards_unsafe)


def block(call, inputs):
    times, end = [], time.perf_counter() + BLOCK_S
    while time.perf_counter() < end or len(times) < 3:
        start = time.perf_counter()
        call(*inputs)
        times.append(time.perf_counter() - start)
    return times


def measured(call, program, inputs, clocks):
    """Returns the medians of the call, of each clock during the calls, and of the program, in microseconds."""
    calls, programs = [], []
    for _ in range(OPTIONS.rounds):
        programs += block(program, inputs)
        calls += block(call, inputs)
    return [statistics.median(times) * 1e6 for times in (calls, *(clock.times for clock in clocks), programs)]


def main():
    torch.set_num_threads(OPTIONS.threads)
    part, watch = Clock(dynamo.Part, "__call__"), Clock(dynamo.Watch, "state")
    print("| network, parameters and buffers | way | the call | our part of it | outside of it | `Watch.state` | `tangram.compile` beside it |")
    print("|---|---|--:|--:|--:|--:|--:|")
    for name in OPTIONS.networks:
        torch.manual_seed(1)
        module, inputs = NETWORKS[name](name)
        module = Plain(module).eval().requires_grad_(False)
        label = f"{name}, {len([*module.parameters(), *module.buffers()])}"
        with torch.no_grad():
            program = tangram.compile(module, inputs, threads=OPTIONS.threads)
            for way, make in ways(module, inputs):
                call = make()
                block(call, inputs)
                part.times.clear()
                watch.times.clear()
                whole, inside, watched, beside = measured(call, program, inputs, (part, watch))
                print(f"| {label} | {way} | {whole:.0f} | {inside:.0f} | {whole - inside:.0f} | {watched:.0f} | {beside:.0f} |", flush=True)
                label = ""


if __name__ == "__main__":
    main()

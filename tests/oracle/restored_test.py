#!/usr/bin/env python3
"""Checks that operators of ONNX files are restored when a file is written again. ONNX's node tests are converted from
ONNX to ONNX by `tg export` and `tg opt`. The written file must

  - have the inputs and outputs of its source: names, order, types and, unless they depend on data, sizes;
  - be readable by `tg import`, pass the onnx package's checker, and compute the source's outputs in ONNX Runtime;
  - have one node, the operator of the source, unless SEVERAL lists the operator.

The table of changes in write/restore.cpp is compared with the onnx package's schemas.

    tests/oracle/restored_test.py [--tg build/tg] [--jobs N] [--table] [--all] [NAME...]

NAME selects tests whose name contains it. Without --all or NAME, two tests of each operator are run, and the first one
is also optimised. Tile and Expand are optimised with many ranks and sizes, because rules for images match them.
"""
import argparse
import collections
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from export_test import ROOT, difference, load
from import_nodes_test import FOUR_DIGITS, collect

import numpy as np
import onnx
import onnxruntime as ort

LIMIT_S = 120
# Operators that are written as several nodes, with reasons.
SEVERAL = {
    "ai.onnx.preview.FlexAttention": "of another domain", "ai.onnx.ml.Binarizer": "of another domain",
    "ai.onnx.ml.ArrayFeatureExtractor": "of another domain",
    "CausalConvWithState": "newer than opset 24", "CumProd": "newer than opset 24", "LinearAttention": "newer than opset 24",
    "SwiGLU": "newer than opset 24",
    "GRU": "one step takes no longer written out", "LSTM": "one step takes no longer written out",
    "RNN": "one step takes no longer written out",
    "LRN": "faster written out", "ReduceLogSumExp": "faster written out",
    "Loop": "written out", "Scan": "written out",
}
# Operators that write/restore.cpp writes in the form of newer opsets, and operators with subgraphs.
MODERNISED = {"GridSample", "If", "Loop", "RoiAlign", "Scan", "Scatter", "Split"}
# Tests with types that were added after opset 24.
NEWER_TYPES = re.compile("celu_float16|mod_.*float64|bitshift_.*_int")
REFUSED = "refused"


class Repeated:
    """A model that repeats a tensor: Tile, or Expand of axes of size 1."""

    def __init__(self, kind, shape, times, dtype):
        self.kind, self.expanded = kind, False
        self.name = f"repeated_{kind}_{dtype.__name__}_{'x'.join(map(str, shape))}_by_{'x'.join(map(str, times))}"
        x = (np.arange(np.prod(shape)) % 251).reshape(shape).astype(dtype)
        y = np.tile(x, times) if kind == "Tile" else np.broadcast_to(x, times)
        self.inputs, self.outputs = {"x": x}, {"y": np.ascontiguousarray(y)}
        helper, dtype = onnx.helper, onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        node = helper.make_node(kind, ["x", "times"], ["y"])
        graph = helper.make_graph([node], "repeated", [helper.make_tensor_value_info("x", dtype, x.shape)],
                                  [helper.make_tensor_value_info("y", dtype, y.shape)],
                                  [onnx.numpy_helper.from_array(np.array(times, np.int64), "times")])
        self.model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def repeated():
    """Yields models of ranks 1 to 5, small and large, repeated along each axis and along several axes."""
    for dtype in (np.float32, np.int64):
        for shape in ((3,), (1, 5), (2, 3), (1, 3, 4), (2, 3, 4), (1, 2, 3, 4), (2, 3, 16, 16), (1, 8, 64, 64), (1, 2, 3, 4, 5)):
            ones = [1] * len(shape)
            along = [ones[:i] + [times] + ones[i + 1:] for i in range(len(shape)) for times in (2, 5)]
            for times in [*along, [2] * len(shape), ones[:-2] + [2, 3][-len(shape):]]:
                yield Repeated("Tile", shape, times, dtype)
            axis_of_one = [i for i, n in enumerate(shape) if n == 1]
            for to in ([7, *shape], *([*shape[:i], 6, *shape[i + 1:]] for i in axis_of_one)):
                yield Repeated("Expand", shape, list(to), dtype)


class Failure(Exception):
    """A written file is wrong."""


def tg(options, arguments):
    done = subprocess.run([options.tg, *map(str, arguments)], capture_output=True, text=True, check=False, timeout=LIMIT_S)
    if done.returncode not in (0, 1):
        raise Failure(f"tg {arguments[0]} ends with {done.returncode}: {done.stderr.strip()[:200]}")
    return done


def signature(values):
    """Returns names, element types and sizes; None for a size that depends on data."""
    return [(v.name, v.type.tensor_type.elem_type,
             [d.dim_value if d.HasField("dim_value") else None for d in v.type.tensor_type.shape.dim]) for v in values]


def check_interface(source, written):
    for kind in ("input", "output"):
        want, got = signature(getattr(source.graph, kind)), signature(getattr(written.graph, kind))
        if [v[:2] for v in want] != [v[:2] for v in got]:
            raise Failure(f"{kind}s {got}, expected {want}")
        for (name, _, sizes), (_, _, found) in zip(want, got):
            if len(sizes) != len(found) or any(a != b for a, b in zip(sizes, found) if a is not None and b is not None):
                raise Failure(f"{kind} `{name}` has sizes {found}, expected {sizes}")


def outputs_of(path, inputs):
    """Returns the outputs of ONNX Runtime, or None if it does not have the operator."""
    try:
        session = load(path)
    except Exception as error:  # noqa: BLE001 its exceptions have no common class
        if "NOT_IMPLEMENTED" in str(error) or "is not a registered function/op" in str(error) or "under development" in str(error):
            return None
        raise Failure(f"ONNX Runtime does not load it: {str(error)[:200]}") from error
    names = {i.name for i in session.get_inputs()}
    return dict(zip([o.name for o in session.get_outputs()], session.run(None, {n: x for n, x in inputs.items() if n in names})))


def check_values(case, source, path):
    got = outputs_of(path, case.inputs)
    want = outputs_of(source, case.inputs) if got is not None else None
    if got is None or want is None:
        return
    for name, expected in want.items():
        found = got[name]
        if found.dtype != expected.dtype or found.shape != expected.shape:
            raise Failure(f"{name} is {found.dtype}{list(found.shape)}, expected {expected.dtype}{list(expected.shape)}")
        if expected.size and str(expected.dtype) != "bfloat16" and difference(found, expected) > 1:
            raise Failure(f"{name} is {difference(found, expected):.3g} times further off than allowed")


def nodes_of(model):
    """Returns the operators that compute something."""
    return [n.op_type for n in model.graph.node if n.op_type not in ("Constant", "Identity")]


def written(case, options, folder, command):
    """Returns (operators of the written file, its size in bytes), or REFUSED if the source cannot be read."""
    source, out = folder / "m.onnx", folder / f"{command[0]}.onnx"
    done = tg(options, [*command[:1], source, *command[1:], "-o", out])
    if done.returncode == 1:
        return REFUSED
    model = onnx.load(out)
    try:
        onnx.checker.check_model(model)
    except onnx.checker.ValidationError as error:
        raise Failure(f"the checker refuses it: {str(error)[:200]}") from error
    check_interface(case.model, model)
    again = tg(options, ["import", out, "-o", folder / "again.tg"])
    if again.returncode != 0:
        raise Failure(f"it cannot be read again: {again.stderr.strip()[:200]}")
    check_values(case, source, out)
    return nodes_of(model), out.stat().st_size


COMMANDS = [["export"], ["opt", "--cost", "analytic:cpu", "--time-limit", "20", "--quiet"]]


def run(case, commands, options):
    """Returns {command: (operators, bytes), REFUSED or a Failure}."""
    results = {}
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        onnx.save(case.model, folder / "m.onnx")
        for command in commands:
            try:
                results[command[0]] = written(case, options, folder, command)
            except (Failure, subprocess.TimeoutExpired) as error:
                results[command[0]] = error
            except Exception as error:  # noqa: BLE001 continue with the other tests
                results[command[0]] = Failure(f"{type(error).__name__}: {str(error)[:200]}")
    return results


def is_kept(case, nodes):
    """Returns true if the file has the same operators as the source, or at most one."""
    nodes = ["Scatter" if n == "ScatterElements" and case.kind == "Scatter" else n for n in nodes]
    return len(nodes) <= 1 or collections.Counter(nodes) == collections.Counter(nodes_of(case.model))


def usable(case):
    return (not case.expanded and all(isinstance(x, np.ndarray) for x in [*case.inputs.values(), *case.outputs.values()])
            and all(v.type.HasField("tensor_type") for v in [*case.model.graph.input, *case.model.graph.output]))


def signature_of(schema):
    inputs = [(i.name, i.option == onnx.defs.OpSchema.FormalParameterOption.Optional) for i in schema.inputs]
    return inputs, {k: (a.type, str(a.default_value)) for k, a in schema.attributes.items()}


def changes_of_schemas():
    """Returns {operator: the newest opset up to 24 in which an older form is not valid any more}."""
    histories = collections.defaultdict(list)
    for schema in onnx.defs.get_all_schemas_with_history():
        if schema.domain == "" and schema.since_version <= 24:
            histories[schema.name].append(schema)
    changes = {}
    for name, history in histories.items():
        history.sort(key=lambda s: s.since_version)
        for old, new in zip(history, history[1:]):
            (inputs, attributes), (more, others) = signature_of(old), signature_of(new)
            added = more[len(inputs):]
            same = ([n for n, _ in more[:len(inputs)]] == [n for n, _ in inputs] and all(optional for _, optional in added)
                    and all(others.get(k) == v for k, v in attributes.items()))
            if not same and new.since_version > 7:
                changes[name] = new.since_version
    return changes


def check_changes():
    """Returns faults for operators whose changes of schemas are not in restore.cpp."""
    text = (ROOT / "compiler/import/onnx/write/restore.cpp").read_text(encoding="utf-8")
    known = collections.defaultdict(int)
    for name, opset in re.findall(r'\{"(\w+)", (\w+)', text):
        known[name] = max(known[name], 99 if opset == "kNever" else int(opset))
    return [f"{name} changes at opset {opset}, and restore.cpp has {known[name] or 'nothing'}"
            for name, opset in sorted(changes_of_schemas().items())
            if opset > known[name] and name not in MODERNISED and not name.startswith("Reduce")]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tg", default=str(ROOT / "build/tg"))
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--table", action="store_true", help="print all operators, not only those that fail")
    parser.add_argument("--all", action="store_true", help="optimise and check all tests")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    ort.set_default_logger_severity(4)
    options.as_generated = False
    repeats = [c for c in repeated() if not options.names or any(n in c.name for n in options.names)]
    cases = [c for c in collect(options) if usable(c) and (not options.names or any(n in c.name for n in options.names))]
    seen = collections.Counter()
    jobs = []
    for case in cases:
        if options.all or options.names or seen[case.kind] < 2:
            jobs.append((case, COMMANDS if options.all or seen[case.kind] == 0 else COMMANDS[:1]))
        seen[case.kind] += 1
    jobs += [(case, COMMANDS[1:]) for case in repeats]
    with ThreadPoolExecutor(options.jobs) as pool:
        results = list(pool.map(lambda job: run(*job, options), jobs))
    failures, counts = [], collections.defaultdict(lambda: [0, 0, 0, set()])
    for (case, _), result in zip(jobs, results):
        for command, one in result.items():
            row = counts[case.kind, command]
            if isinstance(one, Exception):
                failures.append(f"{case.name} ({case.kind}), tg {command}: {one}")
            elif one == REFUSED:
                row[2] += 1
            elif is_kept(case, one[0]):
                row[0] += 1
            else:
                row[1] += 1
                row[3].add(len(one[0]))
                if case.kind not in SEVERAL and not NEWER_TYPES.search(case.name):
                    failures.append(f"{case.name} ({case.kind}), tg {command}: written as {' '.join(one[0][:12])}")
    print(f"{'operator':<28}{'command':<10}{'kept':>6}{'several':>9}{'refused':>9}  nodes")
    for (kind, command), (kept, several, refused, sizes) in sorted(counts.items()):
        if options.table or several:
            print(f"{kind:<28}{command:<10}{kept:>6}{several:>9}{refused:>9}  {sorted(sizes)}")
    failures += check_changes()
    for failure in failures:
        print(failure)
    print(f"{len(jobs)} tests, {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

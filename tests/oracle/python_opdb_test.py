#!/usr/bin/env python3
"""Runs PyTorch's database of operators and samples under torch.compile(backend="tangram") and compares values, types
and shapes with eager runs. Operators that the package does not support must stay with PyTorch, without an error.

    tests/oracle/python_opdb_test.py [--tg build/tg] [--full] [--part I/N] [NAME...]

For each operator and type (f32, i64, bool) it runs up to 24 samples with a tensor of rank 0 and two others; with --full
every sample (32,000, an hour or two). Names select operators. Requires the installed package (`./dev test --oracle
--full` installs it), PyTorch and expecttest; otherwise the test is skipped.
"""
import argparse
import copy
import sys
import time
import warnings

from python_package import SEARCH, required, tangram, torch  # skips this test if packages are missing

op_db = required("torch.testing._internal.common_methods_invocations").op_db
DTYPES = (torch.float32, torch.int64, torch.bool)
NUMBERS, OTHERS = 24, 2  # samples per operator and type, with and without a tensor of rank 0
TOGETHER = 16            # samples that are compiled as one function

#: Operators whose values are undefined: uninitialised memory and random numbers.
UNDETERMINED = ("empty", "new_empty", "bernoulli", "cauchy", "dropout", "exponential", "geometric", "log_normal",
                "multinomial", "normal", "rand", "uniform", "rrelu", "fractional_max_pool", "svd_lowrank", "pca_lowrank")
#: Operators whose indices are undefined for equal elements. Elements of f32 samples are distinct.
TIES = ("topk", "sort", "argsort", "kthvalue", "mode")


def tensors(value):
    return [leaf for leaf in torch.utils._pytree.tree_leaves(value) if isinstance(leaf, torch.Tensor)]


def selected(op, dtype, full):
    """Yields samples of the operator. The database itself fails for some."""
    rest = {True: NUMBERS, False: OTHERS}
    try:
        for sample in op.sample_inputs("cpu", dtype):
            number = any(one.dim() == 0 for one in tensors((sample.input, sample.args, sample.kwargs)))
            rest[number] -= 1
            if full or rest[number] >= 0:
                yield sample
    except Exception as error:  # noqa: BLE001  an error of the database
        print(f"[note] {op.formatted_name} {dtype}: no more samples: {str(error).splitlines()[0]}")


def run(function, samples):
    """Calls the function on copies of the samples, with a fixed seed."""
    torch.manual_seed(1)
    with torch.no_grad():
        return function([copy.deepcopy((one.input, one.args, one.kwargs)) for one in samples])


def plain(value):
    """Returns the leaves of a value, with sparse tensors as dense ones."""
    return [leaf if not isinstance(leaf, torch.Tensor) or leaf.layout == torch.strided else leaf.to_dense()
            for leaf in torch.utils._pytree.tree_leaves(value)]


def difference(op, ours, theirs):
    """Returns a description of the difference, or None."""
    ours, theirs = plain(ours), plain(theirs)
    tied = op.name in TIES and not any(one.is_floating_point() for one in tensors(theirs))
    if len(ours) != len(theirs):
        return f"{len(ours)} results for {len(theirs)}"
    for a, b in zip(ours, theirs):
        if isinstance(a, torch.Tensor) != isinstance(b, torch.Tensor):
            return f"{type(a)} for {type(b)}"
        if isinstance(a, torch.Tensor) and (a.dtype, a.shape) != (b.dtype, b.shape):
            return f"{a.dtype}{list(a.shape)} for {b.dtype}{list(b.shape)}"
        if any(word in op.name for word in UNDETERMINED) or tied and a is ours[-1]:
            continue
        try:
            torch.testing.assert_close(a, b, atol=1e-4, rtol=1e-4, equal_nan=True)
        except AssertionError as why:
            return " ".join(str(why).split())[:200]
    return None


def compiled_as(backend, op, samples):
    torch._dynamo.reset()
    tangram.torch.reset()
    options = {"options": SEARCH} if backend == "tangram" else {}
    return run(torch.compile(applied(op), backend=backend, **options), samples)


def applied(op):
    return lambda given: [op(x, *args, **kwargs) for x, args, kwargs in given]


def failed_rows():
    return [f"{name}: {why}" for made in tangram.torch.report() for name, why in made.kept.items() if "its row failed" in why]


def failure(op, sample, wanted):
    """Returns the fault of one sample, or None. None also if Dynamo itself rejects the sample."""
    try:
        found, = compiled_as("tangram", op, [sample])
    except Exception as error:  # noqa: BLE001
        try:
            compiled_as("aot_eager", op, [sample])
        except Exception:  # noqa: BLE001
            return None
        error = getattr(error, "inner_exception", error)
        return f"{type(error).__name__}: {' '.join(str(error).split())}"[:300]
    wrong = difference(op, found, wanted) or "; ".join(failed_rows()) or None
    if wrong is not None and difference(op, compiled_as("aot_eager", op, [sample])[0], wanted) is not None:
        return None  # PyTorch's own decompositions also differ
    return wrong


def failures(op, samples):
    """Returns [(sample, fault)]. All samples are compiled as one function, and separately if that fails."""
    wanted = []
    for sample in samples:
        try:
            wanted.append((sample, run(applied(op), [sample])[0]))
        except Exception:  # noqa: BLE001  eager PyTorch rejects the sample
            continue
    try:
        found = compiled_as("tangram", op, [sample for sample, _ in wanted])
        if not failed_rows() and not any(difference(op, a, b) for a, (_, b) in zip(found, wanted)):
            return []
    except Exception:  # noqa: BLE001
        pass
    tried = ((sample, failure(op, sample, eager)) for sample, eager in wanted)
    return [(sample, wrong) for sample, wrong in tried if wrong is not None]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tg")  # every oracle test gets this option; this one uses the package
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--part", default="0/1", help="every N-th operator, from the I-th on")
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    # Dynamo times the guards of each graph after a cache flush, which takes longer than most samples.
    torch._dynamo.guards.profile_guard_manager = lambda *_: 0.0
    first, parts = map(int, args.part.split("/"))
    tried = failed = 0
    start = time.monotonic()
    for op in op_db[first::parts]:
        if args.names and op.name not in args.names:
            continue
        for dtype in DTYPES:
            if dtype not in op.supported_dtypes("cpu"):
                continue
            samples = list(selected(op, dtype, args.full))
            tried += len(samples)
            for at in range(0, len(samples), TOGETHER):
                for sample, wrong in failures(op, samples[at:at + TOGETHER]):
                    failed += 1
                    shown = sample.summary() if hasattr(sample, "summary") else sample
                    print(f"[FAIL] {op.formatted_name} {dtype}: {wrong}\n       {str(shown)[:300]}", flush=True)
    print(f"{tried} samples, {failed} failures, {time.monotonic() - start:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

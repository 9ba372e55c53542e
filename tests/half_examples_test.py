#!/usr/bin/env python3
"""Runs the models of examples/ in f16 and bf16 on the processor and compares them with `ref` in f32, within the
bounds of `tg run --check` (runtime/tensor.h). Deep models have fewer layers, and the padding mask has zeros and ones.
The full test (`./dev test --full`) runs all models; otherwise a few of each kind are run.

    half_examples_test.py TG
"""
import os
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
#: Settings that make models smaller than published, where `ref` would take long.
SIZES = {
    "bert_base": ["S=32", "layers=2", "vocabulary=1000"],
    "gpt2": ["layers=2", "vocabulary=1000"],
    "llama_block": ["D=512", "heads=8", "kv_heads=2", "hidden=1024"],
    "vit_base": ["layers=2"],
    "paper/dalle": ["layers=2"],
    "paper/vit_base": ["layers=2"],
    "paper/vit_large": ["layers=2"],
    "paper/vit_huge": ["layers=2"],
}
FEW = ("hello", "mlp", "lstm", "squeezenet", "bert_base", "gpt2", "llama_block")


def write_mask(path, shape, seen):
    """Writes a .npy file. The first `seen` elements of each row are 1; the remainder is padding."""
    rows, columns = shape
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({rows}, {columns}), }}"
    header = header.ljust(117) + "\n"
    row = [1.0] * seen + [0.0] * (columns - seen)
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode()
                     + struct.pack(f"<{rows * columns}f", *(row * rows)))


def problem(tg, name, dtype, folder):
    """Returns the error of an example that exceeds its bounds, else None."""
    command = [tg, "run", EXAMPLES / f"{name}.tg", "--dtype", dtype, "--check", "--runs", "1", "--quiet"]
    for setting in SIZES.get(name, []):
        command += ["--set", setting]
    if name == "bert_base":
        mask = folder / "mask.npy"
        write_mask(mask, (1, 32), 20)
        command += ["--input", f"mask={mask}"]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=600)
    return f"{name}, {dtype}: exit {done.returncode}: {done.stderr}" if done.returncode else None


def main():
    tg = Path(sys.argv[1]).resolve()
    every = sorted(str(f.relative_to(EXAMPLES))[:-3] for f in [*EXAMPLES.glob("*.tg"), *EXAMPLES.glob("paper/*.tg")])
    names = every if os.environ.get("TANGRAM_FULL_TESTS") else FEW
    with tempfile.TemporaryDirectory(prefix="tg-halves-") as scratch:
        found = [problem(tg, name, dtype, Path(scratch)) for name in names for dtype in ("f16", "bf16")]
    found = [text for text in found if text]
    print("\n".join(found) or f"half_examples: {len(names)} models are within their bounds")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

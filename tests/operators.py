#!/usr/bin/env python3
"""Checks that each operator of lang/core/ops.def occurs in the places that the build does not check: ONNX import,
PyTorch, CUDA kernels and gradient tests. The error names the missing place and the text to add. PLACES lists exceptions
with reasons; a reason that is no longer needed is also an error.

The build itself reports a missing shape rule, meaning, sampler, degree, gradient, proof, ONNX form and cpu kernel
(CONTRIBUTING.md, "Add an operator"). `run.py --coverage`, `editors.py` and the test of documents check other places.

    operators.py              check
    operators.py --self-test  prove that the check can fail
"""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OURS = "made by rules of the optimiser"
LOAD = "rearranges kernels at load, made by rules"
BOOLS = "no gradient comes through"
SIGN = "written as a sign"


def all_with(reason, names):
    return dict.fromkeys(names.split(), reason)


#: Place, folders, pattern of an operator there ({kind}, {name}), instruction, and exceptions with reasons.
PLACES = [
    ("ONNX files that are read", ["compiler/import/onnx/read", "compiler/ir/node_builder.cpp"], r'OpKind::{kind}\b|"{kind}"',
     "a form in compiler/import/onnx/read/forms/, or a reason in tests/operators.py",
     all_with(OURS, "WinogradWeight WinogradConv2d FusedMap") | all_with(LOAD, "Enlarge MergeGconv")
     | {"Relu6": "ONNX has Clip", "Log1p": "ONNX has Log", "Extern": "declared by programs"}),
    ("operators of PyTorch", ["python/tangram/torch"], r"\b{name}\b",
     "a row in python/tangram/torch/, or a reason in tests/operators.py",
     all_with(OURS, "WinogradWeight WinogradConv2d FusedMap") | all_with(LOAD, "Enlarge MergeGconv")
     | all_with(SIGN, "LessEqual Greater GreaterEqual NotEqual")
     | {"Identity": "nothing to compute", "Extern": "declared by programs",
        "NonMaxSuppression": "torchvision's gives as many rows as it finds"}),
    ("kernels of cuda", ["runtime/cuda"], r"OpKind::{kind}\b",
     "a row in runtime/cuda/codegen/pull.cpp or pull_layout.cpp, or a reason in tests/operators.py",
     all_with("run by its definition, on the host", "ConvTranspose2d Conv3d ReduceProd TopK Scatter NonMaxSuppression")),
    ("gradients' cases", ["tests/property/grad"], r"\b{name}\b", "a case in tests/property/grad/gradients_test.cpp",
     all_with(OURS, "WinogradWeight WinogradConv2d")
     | all_with(BOOLS, "LessEqual Greater GreaterEqual Equal NotEqual LogicalAnd LogicalOr LogicalNot TopK Iota NonMaxSuppression")
     | {"Extern": "says nothing of its gradient"}),
]


def operators():
    """Returns (kind, name, has a formula from which kernels are generated) of all operators except leaves and sugar."""
    table = (ROOT / "lang/core/ops.def").read_text(encoding="utf-8")
    rows = re.findall(r'^(TG_OP|TG_POINTWISE)\((\w+),\s*"(\w+)",(.*)$', table, re.M)
    return [(kind, name, macro == "TG_POINTWISE") for macro, kind, name, rest in rows
            if "Trait::Leaf" not in rest and "Trait::Sugar" not in rest]


def text_of(places):
    files = [path for place in places for path in sorted((ROOT / place).rglob("*")) or [ROOT / place]]
    return "\n".join(path.read_text(encoding="utf-8") for path in files if path.suffix in (".cpp", ".h", ".py"))


def faults(rows):
    found = []
    for what, places, pattern, todo, without in PLACES:
        text = text_of(places)
        for kind, name, pointwise in rows:
            known = re.search(pattern.format(kind=kind, name=name), text)
            if not known and kind not in without and not (pointwise and what == "kernels of cuda"):
                found.append(f"`{name}` is missing among {what}: {todo}")
            if known and kind in without:
                found.append(f"`{name}` is now among {what}: remove its reason from tests/operators.py")
        for kind in without.keys() - {kind for kind, _, _ in rows}:
            found.append(f"tests/operators.py has a reason for {kind}, which is not an operator")
    return found


def main():
    if "--self-test" in sys.argv:
        found = faults([*operators(), ("Forgotten", "forgotten_operator", False)])
        named = [fault for fault in found if "`forgotten_operator` is missing" in fault]
        print(f"an operator without places: {len(named)} of {len(PLACES)} named")
        return 0 if len(named) == len(PLACES) else 1
    found = faults(operators())
    print("\n".join(found) or f"{len(operators())} operators are in all of {len(PLACES)} places")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

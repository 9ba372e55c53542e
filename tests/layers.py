#!/usr/bin/env python3
"""Checks include directions: reads every `#include "..."` of lang/, compiler/, runtime/ and python/, and fails on an
edge that the table below does not allow. The table is the architecture: decide on a new edge, and add it here first.

    layers.py [ROOT]       check a tree
    layers.py --self-test  prove that the check can fail
"""
import re
import sys
import tempfile
from pathlib import Path

# layer -> layers that it may include in addition to itself. A folder belongs to its longest prefix in the table.
# A named file ("runtime/plan.h") is a separate layer.
CORE = {"lang/core"}
SYNTAX = {*CORE, "lang/syntax"}
LANG = {*SYNTAX, "lang/check"}
IR = {*LANG, "compiler/ir", "runtime/plan.h"}
RULES = {*IR, "compiler/rules"}
EGRAPH = {*RULES, "compiler/egraph"}
EXTRACT = {*EGRAPH, "compiler/extract"}
COMPILER = {*EXTRACT, "compiler/search", "compiler/verify", "compiler/optimizer", "compiler/emit", "compiler/import"}
BACKENDS = {"runtime/ref", "runtime/cpu", "runtime/cuda"}
RUNTIME = {"runtime", "runtime/tune"}
PUBLIC = "compiler/api/include"  # includes no other layer; included as tangram/...
# Layers between a graph and the library, each above the previous. None includes the body of a public function.
BACKED = {*COMPILER, *RUNTIME, PUBLIC, "compiler/api/backends"}
FILES = {*BACKED, "compiler/import/text", "compiler/api/files"}
PRICING = {*FILES, "compiler/pricing"}
TRIAL = {*PRICING, "compiler/trial"}
ALLOWED = {
    "lang/core": set(),
    "lang/syntax": SYNTAX,
    "lang/check": LANG,
    "compiler/ir": IR,
    "compiler/import": {*IR, "compiler/import"},
    # Writes imported graphs as readable text; rules find calls of library functions.
    "compiler/import/text": RULES,
    "compiler/rules": RULES,
    "compiler/egraph": EGRAPH,
    "compiler/extract": EXTRACT,
    "compiler/search": {*EXTRACT, "compiler/search"},
    "compiler/optimizer": {*EXTRACT, "compiler/search", "compiler/verify"},
    "compiler/verify": {*EGRAPH, "compiler/verify"}, # verifies both rules and graphs
    "compiler/emit": IR,
    # The only layer that includes backends; each has its row in a separate file.
    "compiler/api/backends": {*COMPILER, *RUNTIME, *BACKENDS, PUBLIC},
    "compiler/api/files": FILES,
    "compiler/pricing": PRICING,
    "compiler/trial": TRIAL,
    "compiler/report": {*COMPILER, *RUNTIME, PUBLIC, "compiler/api/files"},
    "compiler/api": {*TRIAL, "compiler/report"},
    # The program uses the public library, and its implementation for source locations.
    "compiler/cli": {*LANG, "compiler/ir", "compiler/api", "compiler/api/files", "compiler/api/backends", "compiler/pricing",
                     "compiler/trial", "compiler/report", "compiler/import/text", PUBLIC},
    PUBLIC: set(),
    "python/bindings": {PUBLIC},
    "runtime/plan.h": CORE,
    "runtime": {*CORE, "runtime/plan.h"},
    # Accesses devices only through an interface, which the measuring layer implements.
    "runtime/tune": CORE,
    # Backends share the runtime and may fall back to ref, but do not include each other.
    "runtime/ref": {*CORE, "runtime", "runtime/plan.h"},
    "runtime/cpu": {*CORE, "runtime", "runtime/plan.h", "runtime/ref", "runtime/cpu/tile", "runtime/tune"},
    # Generates code for a processor, independent of plans and backends.
    "runtime/cpu/tile": CORE,
    "runtime/cuda": {*CORE, "runtime", "runtime/plan.h", "runtime/ref"},
}
# Files that a layer may include in addition, with reasons.
EXCEPTIONS = {
    "compiler/cli": {
        "compiler/rules/from_ast.h": "rules that a file or the prompt declares and a selection names",
        "compiler/rules/text.h": "`tg rules`: a rule on a line",
        "compiler/rules/numerics/derived_class.h": "`tg check`: the class that a rule states",
        "compiler/rules/rule_form.h": "`tg rules list`: which rules say the same",
        "runtime/execute.h": "`--input`: whether a tensor is of the input's type",
        "runtime/files/numpy.h": "`--input`, `--output`: files of tensors",
        "runtime/random.h": "inputs and weights that are not given",
    },
}
# Generated headers, by the name in `#include`, and their layers.
GENERATED = {"lang/syntax/parser.h": "lang/syntax", "lang/syntax/lexer.h": "lang/syntax"}
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"')


def layer_of(path):
    """Returns the layer of a path relative to the root, or None."""
    if path in GENERATED:
        return GENERATED[path]
    if path.startswith("tangram/"):
        return PUBLIC
    parts = path.split("/")
    for end in range(len(parts), 0, -1):
        if (prefix := "/".join(parts[:end])) in ALLOWED:
            return prefix
    return None


def violations(root):
    unused = {(layer, target) for layer, targets in EXCEPTIONS.items() for target in targets
              if any(root.joinpath(layer).rglob("*"))}
    for folder in ("lang", "compiler", "runtime", "python"):
        for source in sorted((root / folder).rglob("*")):
            if source.suffix not in {".h", ".cpp", ".l", ".y", ".inc", ".def"}:
                continue
            name = source.relative_to(root).as_posix()
            own = layer_of(name)
            for number, line in enumerate(source.read_text(encoding="utf-8").splitlines(), 1):
                if not (match := INCLUDE.match(line)):
                    continue
                place, target = f"{name}:{number}", match.group(1)
                if own is None:
                    yield f"{place}: {name} is not in a known layer"
                elif target in EXCEPTIONS.get(own, {}):
                    unused.discard((own, target))
                elif (layer := layer_of(target)) is None:
                    yield f'{place}: "{target}" is not a path from the root of a known layer'
                elif layer != own and layer not in ALLOWED[own]:
                    yield f"{place}: {own} may not include {layer} ({target})"
    for layer, target in sorted(unused):
        yield f"layers.py: {layer} does not include {target} any more: take the exception out"


def self_test():
    """Each forbidden edge must be found in a small tree, and an allowed one must not."""
    cases = {
        "lang/core/a.h": ("lang/syntax/parse.h", True),
        "lang/syntax/a.cpp": ("lang/check/check.h", True),
        "lang/check/b.cpp": ("compiler/ir/graph.h", True),
        "compiler/ir/c.cpp": ("runtime/tensor.h", True),
        "compiler/ir/d.cpp": ("compiler/egraph/egraph.h", True),
        "compiler/ir/n.cpp": ("compiler/import/onnx/file/schema.h", True),
        "compiler/import/onnx/o.cpp": ("compiler/rules/rule.h", True),
        "compiler/import/onnx/p.cpp": ("compiler/ir/graph.h", False),
        "compiler/rules/e.h": ("compiler/egraph/egraph.h", True),
        "compiler/egraph/e.h": ("compiler/search/saturate.h", True),
        "runtime/f.cpp": ("lang/syntax/ast.h", True),
        "runtime/cpu/g.cpp": ("runtime/cuda/handle.h", True),
        "runtime/cpu/u.cpp": ("runtime/cpu/tile/product.h", False),
        "runtime/cpu/tile/v.cpp": ("runtime/tensor.h", True),
        "runtime/tune/y.cpp": ("runtime/cpu/tile/product.h", True),
        "runtime/h.cpp": ("h_private.h", True),
        "compiler/emit/i.cpp": ("runtime/plan.h", False),
        "compiler/api/j.cpp": ("runtime/cpu/engine.h", True),
        "compiler/pricing/j.cpp": ("runtime/measure/measure.h", False),
        "compiler/api/backends/j.cpp": ("runtime/cpu/engine.h", False),
        "compiler/api/q.cpp": ("compiler/cli/session.h", True),
        "compiler/api/include/tangram/r.h": ("lang/core/type.h", True),
        "compiler/api/t.cpp": ("tangram/tangram.h", False),
        "python/bindings/w.cpp": ("compiler/ir/graph.h", True),
        "python/bindings/x.cpp": ("tangram/tangram.h", False),
        "compiler/optimizer/l.cpp": ("runtime/backend.h", True),
        "compiler/optimizer/m.cpp": ("compiler/api/backends/prepare.h", True),
        "compiler/search/k.cpp": ("compiler/extract/cost/cost.h", False),
    }
    for file, (target, forbidden) in cases.items():
        with tempfile.TemporaryDirectory() as scratch:
            path = Path(scratch, file)
            path.parent.mkdir(parents=True)
            path.write_text(f'#include "{target}"\n')
            if bool(found := list(violations(Path(scratch)))) != forbidden:
                return f"self-test: {file} -> {target}: found {found}, expected forbidden={forbidden}"
    # The program: allowed and forbidden includes, and an exception that is not needed any more.
    wanted = list(EXCEPTIONS["compiler/cli"])
    for more, forbidden in (("compiler/api/optimize_model.h", False), ("compiler/search/limits.h", True),
                            ("runtime/tensor.h", True)):
        if problem := check_program([*wanted, more], forbidden):
            return problem
    return check_program(wanted[1:], True)


def check_program(targets, forbidden):
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch, "compiler/cli/s.cpp")
        path.parent.mkdir(parents=True)
        path.write_text("".join(f'#include "{target}"\n' for target in targets))
        found = list(violations(Path(scratch)))
    return None if bool(found) == forbidden else f"self-test: the program with {targets}: {found}"


def main():
    if "--self-test" in sys.argv[1:]:
        problem = self_test()
        print(problem or "layers: the check finds every planted fault")
        return 1 if problem else 0
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent
    found = list(violations(root))
    for line in found:
        print(line)
    print(f"layers: {len(found)} forbidden" if found else "layers: every include goes the right way")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

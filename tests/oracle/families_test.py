#!/usr/bin/env python3
"""Compares published networks (families.py), imported into Tangram in several ways, with ONNX Runtime on the file of
PyTorch's exporter:

    run      `tg run NAME.onnx`
    opt      `tg opt -o fast.tg --weights-out F`, then `tg run`
    export   `tg opt -o fast.onnx`, then ONNX Runtime
    backend  the module with `torch.compile(backend="tangram")`; operators that stay with PyTorch are listed in STAYS
    program  the module with `tangram.compile`

    tests/oracle/families_test.py [--tg build/tg] [--table F.md] [NAME...]

Cells are those of import_networks_test.py. Each network is written into a scratch folder, in a separate process. NAMEs
select networks whose name contains one of them.
"""
import argparse
import json
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

from export_test import ROOT  # also skips this test if packages are missing

import families
import networks
from import_networks_test import Case, Failure, write_table

try:
    import timm  # noqa: F401
    import torch
    import torchvision  # noqa: F401
    import transformers  # noqa: F401

    import tangram
    import tangram.torch
except ImportError as missing:
    print(f"[SKIP] {missing.name} is not installed")
    sys.exit(77)

SEARCH = {"cost": "analytic:cpu", "finalists": 0, "time_limit": 2}
STEPS = ("run", "opt", "export", "backend", "program")
LIMIT_S = 900
#: Operators that may stay with PyTorch: {network: operator}. `program` rejects such networks.
STAYS = {"Mixtral": "grouped_mm_fallback"}
#: torch.export rejects these networks, because they read values of tensors.
ASK_FOR_VALUES = {"Longformer"}


class Family(Case):
    """A network, its file, and the outputs of ONNX Runtime (of PyTorch if there is no file)."""

    def __init__(self, name, options, folder):
        self.name, self.options, self.shapes = name, options, []
        self.net = families.network(name)
        self.values = list(self.net.inputs.values())
        with torch.no_grad():
            self.want = dict(zip(self.net.outputs, (t.numpy() for t in self.net.module(*self.values))))
        self.path, self.nodes = folder / "net.onnx", 0
        if name in families.NOT_EXPORTED:
            return
        families.export(name, self.net, self.path)
        graph = networks.onnx.load(self.path, load_external_data=False).graph
        self.nodes = sum(node.op_type != "Constant" for node in graph.node)
        self.inputs = {i.name: self.net.inputs[i.name].numpy() for i in graph.input}
        self.want = self.run_onnx(self.path)

    def exact(self):
        return networks.torch_in_double(families.network(self.name))

    def outputs(self, found):
        return dict(zip(self.want, (t.numpy() for t in families.tensors(found))))

    def backend(self, _):
        tangram.torch.reset()
        with torch.no_grad():
            found = torch.compile(self.net.module, backend="tangram", dynamic=False, options=SEARCH)(*self.values)
        kept = {name: why for made in tangram.torch.report() for name, why in made.kept.items()}
        if any(STAYS.get(self.name, name) not in name for name in kept):
            raise Failure(f"stays with PyTorch: {kept}")
        return self.outputs(found)

    def program(self, _):
        return self.outputs(tangram.compile(self.net.module, self.values, **SEARCH)(*self.values))

    def step(self, name):
        """Returns the cell of a step, or "-" if the step is not possible."""
        if name in ("run", "opt", "export") and self.name in families.NOT_EXPORTED:
            return "-"
        if name == "program" and self.name in ASK_FOR_VALUES | STAYS.keys():
            return "-"
        with tempfile.TemporaryDirectory() as scratch:
            try:
                return self.judge(getattr(self, name)(Path(scratch)))
            except Failure as failure:
                return f"FAIL {failure}"
            except Exception as error:  # noqa: BLE001 continue with the other steps
                return f"FAIL {type(error).__name__}: {str(error).strip().splitlines()[0]}"


def one(name, options):
    """Prints the cells of a network as JSON on the last line."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(options.threads)
    with tempfile.TemporaryDirectory() as folder:
        case = Family(name, options, Path(folder))
        print(json.dumps([case.nodes, *map(case.step, STEPS)]))


def row(name, options):
    line = [sys.executable, __file__, "--one", name, "--tg", options.tg, "--threads", str(options.threads)]
    try:
        done = subprocess.run(line, capture_output=True, text=True, check=False, timeout=LIMIT_S)
        return [name, *json.loads(done.stdout.splitlines()[-1])]
    except subprocess.TimeoutExpired:
        return [name, 0, f"FAIL no end after {LIMIT_S} s"]
    except (IndexError, ValueError):
        return [name, 0, f"FAIL {(done.stderr.strip().splitlines() or ['no output'])[-1]}"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tg", default=str(ROOT / "build/tg"))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--cost", default="analytic:cpu", help="prices for tg opt")
    parser.add_argument("--table", help="write the table as Markdown, after each network")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    if options.one:
        return one(options.one, options)
    rows = []
    for name in (n for n in families.FAMILIES if not options.names or any(part in n for part in options.names)):
        start = time.monotonic()
        rows.append(row(name, options))
        print("  ".join(f"{cell:<10}" if i else f"{cell:<34}" for i, cell in enumerate(rows[-1])),
              f"  {time.monotonic() - start:.0f} s", flush=True)
        if options.table:
            write_table(options.table, STEPS, rows)
    wrong = [cell for cells in rows for cell in cells if str(cell).startswith("FAIL")]
    print(f"{len(rows)} networks, {len(wrong)} cells wrong")
    return 1 if wrong or not rows else 0


if __name__ == "__main__":
    sys.exit(main())

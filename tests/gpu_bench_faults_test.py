#!/usr/bin/env python3
"""bench/gpu/run.py and peers.py where something is amiss. It needs no GPU, and no PyTorch: that is
made up.

    gpu_bench_faults_test.py TG
"""
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
#: What peers.py and compare_torch.py look at while they are read.
PACKAGES = {"torch.py": "float32 = float16 = bfloat16 = None\nclass nn: Module = object\n",
            "numpy.py": "", "safetensors/__init__.py": "",
            "safetensors/numpy.py": "def save_file(tensors, path): pass\n"}


class Bench:
    def __init__(self, tg, folder):
        self.tg, self.folder = str(Path(tg).resolve()), Path(folder)
        self.packages = self.folder / "packages"
        for name, text in PACKAGES.items():
            (self.packages / name).parent.mkdir(parents=True, exist_ok=True)
            (self.packages / name).write_text(text)

    def call(self, script, *arguments, **environment):
        """Exit code, output and errors."""
        done = subprocess.run([sys.executable, ROOT / "bench/gpu" / script, *arguments], text=True,
                              capture_output=True, timeout=120, cwd=self.folder,
                              env={**os.environ, "PYTHONPATH": str(self.packages), **environment})
        return done.returncode, done.stdout, done.stderr


REFUSED = {
    "run.py": ("--batch x", "--batch 0", "--batch 1,-1", "--limit nan", "--limit -1", "--limit inf",
               "--limit 0", "--dtype f33", "--dtype f32,", "--peers nonsense", "--models nosuch",
               "--networks nosuch", "--python /no/such", "--tg /no/such", "--peer-device tpu",
               "--total-limit nan", "--total-limit -1", "--search-seconds 0"),
    "peers.py": ("--batch 0", "--batch 1.5", "--seconds nan", "--seconds 0", "--tg /no/such"),
}


def options(bench):
    """One line says which option it is; nothing is measured."""
    for script, refused in REFUSED.items():
        first = {"run.py": ("correct", "--backend", "ref", "--json", "options.json"),
                 "peers.py": ("nasrnn", "--device", "cpu")}[script]
        for option in refused:
            name, value = option.split()
            code, out, errors = bench.call(script, *first, "--tg", bench.tg, name, value)
            said = errors.strip().splitlines()[-1] if errors.strip() else ""
            if code != 2 or out or not said.startswith(f"{script}: error: argument {name}: "):
                yield f"{script} {option}: exit {code}: {out}{errors}"
    if (bench.folder / "options.json").exists():
        yield "results of options that are refused"


def main():
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(sys.argv[1], folder)
        found = [problem for part in (options,) for problem in part(bench)]
    print("\n".join(found) or "gpu_bench_faults: each is told in a line")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

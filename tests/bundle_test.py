#!/usr/bin/env python3
"""The archive of `./dev bundle` works where it is unpacked: program, libraries, rules, examples and
the GPU benchmarks, of this build, in a scratch folder, without the build's own libraries in sight.

    bundle_test.py BUILD_DIR
"""
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WANTED = ("stdlib", "rules/algebra.tg", "examples/hello.tg", "bench/gpu/run.py",
          "bench/gpu/peers.py", "bench/gpu/jax_from_torch.py", "bench/gpu/oracle/compare_torch.py",
          "share/man/man1/tg.1", "share/bash-completion/completions/tg", "LICENSE", "README.md")


def run(*command, **environment):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=300,
                          env={"PATH": os.environ["PATH"], "HOME": "/nonexistent", **environment})
    return done.returncode, done.stdout + done.stderr


def gpu_bench(top, scratch):
    """The benchmarks find the archive's own program, and say of which commit it is."""
    table = Path(scratch, "gpu.json")
    code, text = run(sys.executable, top / "bench" / "gpu" / "run.py", "correct", "--backend", "ref",
                     "--models", "hello", "--json", table)
    if code != 0 or "Correct against ref: 3 of 3." not in text:
        yield f"bench/gpu/run.py in the archive: exit {code}: {text}"
        return
    commit = (top / "COMMIT").read_text().strip() if (top / "COMMIT").exists() else ""
    if json.loads(table.read_text())["environment"]["commit"] != commit:
        yield f"the results are not of commit {commit}: {table.read_text()}"


def problems(build, scratch):
    archive = Path(scratch, "tangram.tar.gz")
    code, text = run(ROOT / "cmake" / "bundle.sh", build, archive)
    if code != 0 or "the program in it" not in text:
        yield f"bundle.sh: exit {code}: {text}"
        return
    elsewhere = Path(scratch, "else where")  # a name that needs quotes
    with tarfile.open(archive) as packed:
        packed.extractall(elsewhere)
    top, = elsewhere.iterdir()
    for name in WANTED:
        if not (top / name).exists():
            yield f"the archive has no {name}"
    tg = top / "bin" / "tg"
    link = Path(scratch, "tg")
    link.symlink_to(tg)
    for program in (tg, link):
        code, text = run(program, "run", top / "examples" / "hello.tg", "--backend", "ref")
        if code != 0:
            yield f"{program}: exit {code}: {text}"
    yield from gpu_bench(top, scratch)
    code, text = run(tg, "devices")
    if code != 0 or "cuda" not in text:
        yield f"tg devices: exit {code}: {text}"
    missing = [line for line in run("ldd", top / "libexec" / "tg",
                                    LD_LIBRARY_PATH=str(top / "lib"))[1].splitlines()
               if "not found" in line]
    if missing:
        yield f"libraries that are not there: {missing}"


def main():
    with tempfile.TemporaryDirectory() as scratch:
        found = list(problems(Path(sys.argv[1]).resolve(), scratch))
    print("\n".join(found) or "bundle: unpacked, found its libraries, run")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

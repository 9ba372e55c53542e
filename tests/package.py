#!/usr/bin/env python3
"""Tests the installed package: installs a build into a scratch folder, builds examples/embed against it with CMake
and with pkg-config, as another project does, and runs it.

    package.py BUILD_DIR
"""
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SHARE = ("bash-completion/completions/tg", "zsh/site-functions/_tg", "fish/vendor_completions.d/tg.fish",
         "man/man1/tg.1", "bash-completion/completions/tg-paper", "man/man1/tg-paper.1")
EXPECTED = ("twins: 7 operators, then 3", "2 outputs, equal", "a mistake: E0213",
            "both_signs: tested at 200 instances", "a wrong rule: E0306")


def run(*command, **environment):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False, env={**os.environ, **environment})
    if done.returncode != 0:
        sys.exit(f"package: `{' '.join(map(str, command))}` failed:\n{done.stdout}")
    return done.stdout


def build_by_pkg_config(prefix, program):
    """Compiles the example with one compiler call and the flags of pkg-config."""
    flags = run("pkg-config", "--cflags", "--libs", "tangram",
                PKG_CONFIG_PATH=str(prefix / "lib/pkgconfig")).split()
    run("g++", "-std=c++20", ROOT / "examples/embed/main.cpp", "-o", program, *flags)
    return program


def main():
    build = Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as scratch:
        prefix, work = Path(scratch, "prefix"), Path(scratch, "work")
        run("cmake", "--install", build, "--prefix", prefix)
        run("cmake", "-G", "Ninja", "-S", ROOT / "examples" / "embed", "-B", work,
            f"-DCMAKE_PREFIX_PATH={prefix}")
        run("cmake", "--build", work)
        programs = [work / "embed"]
        if shutil.which("pkg-config"):
            programs.append(build_by_pkg_config(prefix, Path(scratch, "embed")))
        for program in programs:
            output = run(program)
            missing = [text for text in EXPECTED if text not in output]
            if missing:
                print(f"package: {missing} not in the output of the example:\n{output}")
                return 1
        run(prefix / "bin" / "tg", "--version")
        for name in SHARE:
            if "--time-limit" not in (prefix / "share" / name).read_text().replace("\\-", "-").replace("-l t", "--t"):
                sys.exit(f"package: share/{name} does not know --time-limit")
    print("package: installed, found, linked, run")
    return 0


if __name__ == "__main__":
    sys.exit(main())

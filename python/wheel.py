#!/usr/bin/env python3
"""Packs the wheel from a finished build: installs the library into the build's python/prefix and compiles the
module against it, as any other user of the library does. The library is not compiled again.

    wheel.py BUILD [--out FOLDER] [--python INTERPRETER]
    wheel.py --ready      exit code 0 if this interpreter can make virtual environments and has its headers

Prints the path of the wheel. pip installs the build requirements (scikit-build-core, nanobind, wheel) into a
virtual environment in the user's cache folder. Exit code 77: pip could not reach its index.
"""
import argparse
import os
import platform
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TOOLS = ("scikit-build-core>=0.10", "nanobind>=2.4", "wheel")
LARGEST = 60 << 20


def ready():
    try:
        import ensurepip  # noqa: F401
    except ImportError:
        return False
    return Path(sysconfig.get_path("include"), "Python.h").exists()


class Unreachable(Exception):
    """pip cannot reach its package index."""


def run(*command, **environment):
    done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, text=True,
                          stderr=subprocess.STDOUT, check=False, env={**os.environ, **environment})
    if done.returncode != 0:
        raise RuntimeError(f"`{' '.join(map(str, command))}` failed:\n{done.stdout}")
    return done.stdout


def pip_install(python, *arguments):
    try:
        run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *arguments)
    except RuntimeError as error:
        lines = ("No matching distribution", "Could not find a version", "Temporary failure", "Max retries")
        if any(line in str(error) for line in lines):
            raise Unreachable(str(error)) from error
        raise


def environment(folder, python, *packages):
    """Returns the interpreter of a virtual environment with the packages, which is created
    if it does not exist."""
    inside = folder / "bin" / "python"
    if not (folder / "complete").exists():
        run(python, "-m", "venv", folder)
        pip_install(inside, *packages)
        (folder / "complete").touch()
    return inside


def cache():
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tangram"


def sanitized(tree):
    """Returns true if the build uses the sanitizers of the preset asan."""
    return "TG_ASAN:BOOL=ON" in (tree / "CMakeCache.txt").read_text(encoding="utf-8")


def preloaded():
    """Returns the environment that an interpreter without sanitizers needs for a module with them.
    Leak detection is off, because interpreters leak; bench/python_leaks.py checks for leaks."""
    libraries = [run("gcc", f"-print-file-name=lib{name}.so").strip() for name in ("asan", "ubsan", "stdc++")]
    return {**os.environ, "LD_PRELOAD": " ".join(libraries), "ASAN_OPTIONS": "detect_leaks=0:quarantine_size_mb=1",
            "UBSAN_OPTIONS": "print_stacktrace=1"}


def build(tree, out, python):
    """Builds a wheel in `out` and returns its path."""
    version = run(python, "-c", "import sys; print('%d.%d' % sys.version_info[:2])").strip()
    tools = environment(cache() / f"wheel-{version}", python, *TOOLS)
    place = tree / "python"
    run("cmake", "--install", tree, "--prefix", place / "prefix")
    packed = place / "packed"
    packed.mkdir(parents=True, exist_ok=True)
    for old in packed.glob("*.whl"):
        old.unlink()
    run(tools, "-m", "pip", "wheel", "--no-build-isolation", "--no-deps", "--wheel-dir", packed,
        "-C", f"build-dir={place / version}", "-C", f"cmake.define.CMAKE_PREFIX_PATH={place / 'prefix'}",
        "-C", f"cmake.define.TANGRAM_BUILD={tree}", "-C", f"cmake.define.TG_ASAN={'ON' if sanitized(tree) else 'OFF'}", ROOT)
    made, = packed.glob("*.whl")
    libc = platform.libc_ver()[1].replace(".", "_")
    name = run(tools, "-m", "wheel", "tags", "--remove", "--platform-tag",
               f"manylinux_{libc}_{platform.machine()}", made).strip().splitlines()[-1]
    wheel = packed / Path(name).name
    if wheel.stat().st_size > LARGEST and not sanitized(tree):
        raise RuntimeError(f"{wheel} has {wheel.stat().st_size >> 20} MiB, more than {LARGEST >> 20}")
    out.mkdir(parents=True, exist_ok=True)
    return shutil.move(wheel, out / wheel.name)  # also across file systems


def main():
    if sys.argv[1:] == ["--ready"]:
        return 0 if ready() else 1
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("build", type=lambda text: Path(text).resolve())
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    parser.add_argument("--python", default=sys.executable)
    args = parser.parse_args()
    try:
        print(build(args.build, args.out, args.python))
    except Unreachable as error:
        print(f"wheel: {error}", file=sys.stderr)
        return 77
    except RuntimeError as error:
        print(f"wheel: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Tests the installed Python package: packs the wheel from a build (python/wheel.py), installs it with only NumPy into
a new virtual environment, and runs the tests of python/tests and the recipe of examples/recipes there. The tests of
tangram.rl then run again with Gymnasium. If the build has sanitizers, so has the module, and they are preloaded into
the interpreter.

    python_test.py BUILD_DIR

Exit code 77 (skipped): pip cannot reach its index, or Python cannot build extensions.
"""
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "python"))
import wheel  # noqa: E402
from release_test import bill_of_materials, contents  # noqa: E402

# Libraries that must come from the wheel. Those of manylinux's list and the interpreter's own may come from the system.
OURS = ("libdnnl", "libgomp", "libz3", "libCbc", "libClp", "libsqlite3")
VERSION = "import sys, tangram; sys.exit(tangram.__version__ != sys.argv[1])"
CHECK = """
import sys, tangram
tangram.parse("model m(x: f32[2]) { relu(x) }").run([1, 2])
loaded = {line.split()[-1] for line in open("/proc/self/maps") if ".so" in line}
for name in sys.argv[1:]:
    for path in loaded:
        if path.rpartition("/")[2].startswith(name) and "/site-packages/" not in path:
            sys.exit(f"{name} was taken from {path}, not from the wheel")
"""


def carried(packed, scratch):
    """Checks that the wheel has the version of CMakeLists.txt, and a licence and a row for each library."""
    with zipfile.ZipFile(packed) as file:
        file.extractall(scratch / "unpacked")
    lib = scratch / "unpacked" / "tangram" / "lib"
    found = list(bill_of_materials(lib, sorted(path.name for path in lib.glob("*.so*"))))
    if not packed.name.startswith(f"tangram_tg-{contents.version()}-"):
        found.append(f"{packed.name} is not of version {contents.version()}")
    if not (lib / "licenses" / "nanobind.txt").exists():
        found.append("no licence of nanobind")
    return found


def main():
    build = Path(sys.argv[1]).resolve()
    if not wheel.ready():
        print("[SKIP] this Python has no headers, or makes no virtual environments")
        return 77
    with tempfile.TemporaryDirectory() as scratch:
        try:
            packed = wheel.build(build, Path(scratch), sys.executable)
            python = wheel.environment(Path(scratch, "fresh"), sys.executable, packed)
        except wheel.Unreachable as error:
            print(f"[SKIP] pip cannot reach its index: {str(error).splitlines()[-1]}")
            return 77
        except RuntimeError as error:
            print(f"python: {error}")
            return 1
        print(f"python: {packed.name}, {packed.stat().st_size / 2**20:.1f} MiB", flush=True)
        if problems := carried(packed, Path(scratch)):
            print("\n".join(problems))
            return 1
        environment = wheel.preloaded() if wheel.sanitized(build) else None
        for arguments in (["-c", VERSION, contents.version()], ["-c", CHECK, *OURS],
                          [ROOT / "python" / "tests" / "run.py"],
                          [ROOT / "examples" / "recipes" / "with_numpy.py"]):
            # Runs outside the source tree, so that nothing is imported from it.
            if subprocess.run([python, *arguments], cwd=scratch, env=environment, check=False).returncode != 0:
                return 1
        return with_gymnasium(python, scratch, environment)


def with_gymnasium(python, scratch, environment):
    """Tests the environment again with Gymnasium's checker, if pip can install Gymnasium."""
    try:
        wheel.pip_install(python, "gymnasium")
    except wheel.Unreachable as error:
        print(f"[SKIP] Gymnasium's check: {str(error).splitlines()[-1]}")
        return 0
    return subprocess.run([python, ROOT / "python" / "tests" / "run.py", "rl"], cwd=scratch, env=environment,
                          check=False).returncode


if __name__ == "__main__":
    sys.exit(main())

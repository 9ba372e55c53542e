#!/usr/bin/env python3
"""The installed package works: installs a build into a scratch folder, builds examples/embed against
it as a stranger would, and runs it.

    package.py BUILD_DIR
"""
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EXPECTED = ("twins: 4 operators, then ", "2 outputs, equal", "a mistake: E0213")


def run(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False)
    if done.returncode != 0:
        sys.exit(f"package: `{' '.join(map(str, command))}` failed:\n{done.stdout}")
    return done.stdout


def main():
    build = Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as scratch:
        prefix, work = Path(scratch, "prefix"), Path(scratch, "work")
        run("cmake", "--install", build, "--prefix", prefix)
        run("cmake", "-G", "Ninja", "-S", ROOT / "examples" / "embed", "-B", work,
            f"-DCMAKE_PREFIX_PATH={prefix}")
        run("cmake", "--build", work)
        output = run(work / "embed")
        missing = [text for text in EXPECTED if text not in output]
        if missing:
            print(f"package: {missing} not in the output of the example:\n{output}")
            return 1
        run(prefix / "bin" / "tg", "--version")
    print("package: installed, found, linked, run")
    return 0


if __name__ == "__main__":
    sys.exit(main())

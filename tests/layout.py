#!/usr/bin/env python3
"""Checks that every .tg file of the repository is formatted as by `tg fmt`. Exceptions are listed in
tests/golden/UNFORMATTED: files that test bad formatting or text that does not parse. Files below tests/golden/error/
that do not parse need no entry.

    layout.py TG            check; an exception that is formatted is also an error
    layout.py TG --fix      format the files
"""
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ["stdlib", "rules", "examples", "tests"]
ERRORS = ROOT / "tests" / "golden" / "error"
EXCEPTIONS = ROOT / "tests" / "golden" / "UNFORMATTED"


def exceptions():
    """Returns the excepted paths with their reasons."""
    found = {}
    for line in EXCEPTIONS.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            path, _, reason = line.partition(" ")
            found[ROOT / "tests" / path] = reason
    return found


def faults(tg, files, excused):
    """Yields one line per fault."""
    for path, reason in excused.items():
        if path not in files:
            yield f"{EXCEPTIONS.name}: {path.relative_to(ROOT)} does not exist"
        elif not reason:
            yield f"{EXCEPTIONS.name}: {path.relative_to(ROOT)} has no reason"
        elif check(tg, [path]).returncode == 0:
            yield f"{EXCEPTIONS.name}: {path.relative_to(ROOT)} is formatted; remove it from the list"
    rest = [path for path in files if path not in excused]
    done = check(tg, [path for path in rest if path.parent != ERRORS])
    if done.returncode != 0:
        yield output_of(done).rstrip()
    mistakes = output_of(check(tg, [path for path in rest if path.parent == ERRORS]))
    yield from (line for line in mistakes.splitlines() if line.startswith("not formatted"))


def output_of(done):
    return done.stdout.decode("utf-8", "replace")


def check(tg, files):
    return subprocess.run([tg, "fmt", "--check", *[p.relative_to(ROOT) for p in files]], cwd=ROOT,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)


def main():
    if len(sys.argv) not in (2, 3) or sys.argv[2:] not in ([], ["--fix"]):
        sys.exit(__doc__)
    tg = str(Path(sys.argv[1]).resolve())
    files = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.tg"))
    excused = exceptions()
    if "--fix" in sys.argv:
        wanted = [path.relative_to(ROOT) for path in files if path not in excused]
        subprocess.run([tg, "fmt", *wanted], cwd=ROOT, stderr=subprocess.DEVNULL, check=False)
    found = list(faults(tg, files, excused))
    print("\n".join(found) or f"layout: {len(files) - len(excused)} files, {len(excused)} excused")
    return 1 if found or not files else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Every .tg file of the repository is laid out as `tg fmt` has it, but for those that
tests/golden/UNFORMATTED names: files whose point is a bad layout or text that does not parse. Under
tests/golden/error/ a file that does not parse needs no entry.

    layout.py TG            checks; an exception that is laid out after all is a fault too
    layout.py TG --fix      lays out what is not
"""
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ["stdlib", "rules", "examples", "tests"]
ERRORS = ROOT / "tests" / "golden" / "error"
EXCEPTIONS = ROOT / "tests" / "golden" / "UNFORMATTED"


def exceptions():
    """Paths below tests/ with their reasons."""
    found = {}
    for line in EXCEPTIONS.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            path, _, reason = line.partition(" ")
            found[ROOT / "tests" / path] = reason
    return found


def faults(tg, files, excused):
    """What is wrong, a line each."""
    for path, reason in excused.items():
        if path not in files:
            yield f"{EXCEPTIONS.name}: {path.relative_to(ROOT)} does not exist"
        elif not reason:
            yield f"{EXCEPTIONS.name}: {path.relative_to(ROOT)} has no reason"
        elif check(tg, [path]).returncode == 0:
            yield f"{EXCEPTIONS.name}: {path.relative_to(ROOT)} is laid out; take it off the list"
    rest = [path for path in files if path not in excused]
    done = check(tg, [path for path in rest if path.parent != ERRORS])
    if done.returncode != 0:
        yield output_of(done).rstrip()
    mistakes = output_of(check(tg, [path for path in rest if path.parent == ERRORS]))
    yield from (line for line in mistakes.splitlines() if line.startswith("not laid out"))


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

#!/usr/bin/env python3
"""`tg devices` and `--backend cuda` on whatever machine this is: a backend is usable or missing with
a reason, never both, and a run on a missing one fails with that reason.

    devices_test.py TG
"""
import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EXAMPLE = ROOT / "examples" / "hello.tg"


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout, done.stderr


def problems(tg):
    code, out, err = run(tg, "devices", "--json")
    if code != 0:
        yield f"tg devices --json: exit {code}, {err}"
        return
    report = json.loads(out)
    usable = {device["backend"] for device in report["devices"]}
    missing = {device["backend"]: device["reason"] for device in report["missing"]}
    if "ref" not in usable:
        yield "`ref` can be used everywhere"
    if ("cuda" in usable) == ("cuda" in missing):
        yield f"cuda is usable or missing, one of the two: {out}"
    code, text, _ = run(tg, "devices")
    if code != 0 or not all(any(line.startswith(name) for line in text.splitlines())
                            for name in (*usable, *missing)):
        yield f"tg devices names each backend at the start of a line: {text}"
    readme = (ROOT / "README.md").read_text()
    for version in report["untested"]:
        if version not in text or version not in readme:
            yield f"{version} is untested: `tg devices` and README.md say so, not: {text}"
    if not report["untested"] and "(TG_CUDA was off)" not in missing.get("cuda", ""):
        yield "no version is untested?"
    code, _, err = run(tg, "run", str(EXAMPLE), "--backend", "cuda")
    if "cuda" in usable and code != 0:
        yield f"a run on cuda fails: {err}"
    if "cuda" in missing and (code != 1 or "E0702" not in err):
        yield f"a run on a missing cuda says E0702 and exits with 1, not {code}: {err}"


def main():
    found = list(problems(sys.argv[1]))
    print("\n".join(found) or "devices: usable or missing with a reason")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Tests `tg devices` and `--backend cuda` on any machine: a backend is either usable or missing with a reason, and
a run on a missing backend fails with an error.

    devices_test.py TG
"""
import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EXAMPLE = ROOT / "examples" / "hello.tg"
PAGE = " ".join((ROOT / "docs" / "commands.md").read_text().split())


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout, done.stderr


def how_far_tried(report, text):
    """Checks the lists of versions of NVIDIA's libraries that were run on a GPU, or only used to compile or to plan:
    text, JSON and docs/commands.md must agree."""
    tried = report["tried"]
    if not tried["on_gpu"]:
        for place, words in (("tg devices", text), ("docs/commands.md", PAGE)):
            if "nothing was tested on a GPU" not in words:
                yield f"{place} says that nothing was tested on a GPU, not: {words}"
    cuda = [d for d in report["devices"] + report["missing"] if d["backend"] == "cuda"][0]
    for library, version in cuda["library_versions"].items():
        label = version.partition(" ")[2]
        if label not in ("", "(compiled only)", "(planned only)", "(untested)"):
            yield f"how far {library} was tried has another name: {version}"
        if not label and f"{library} {version}" not in tried["on_gpu"]:
            yield f"{library} {version} is listed as if it had been run on a GPU"
    if not tried["compiled_only"] or not tried["planned_only"]:
        yield f"NVRTC has compiled, and cuDNN has planned: {tried}"
    for version in sum((tried[kind] for kind in ("on_gpu", "compiled_only", "planned_only")),
                       report["untested"]):
        if version not in text or version not in PAGE:
            yield f"`tg devices` and docs/commands.md name {version}, not: {text}"
    # Versions that were not run on a GPU are untested, including the newest ones.
    untested = set(report["untested"])
    if not tried["on_gpu"] and not {"CUDA 11.8", "CUDA 12", "CUDA 13", "cuDNN 8.9",
                                    "cuDNN 9"} <= untested:
        yield f"nothing has run, and yet some versions are not untested: {untested}"


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
    if "(TG_CUDA was off)" not in missing.get("cuda", ""):
        yield from how_far_tried(report, text)
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

#!/usr/bin/env python3
"""Runs clang-tidy on changed sources, on all cores. A file that passed is checked again if the file, an included
header of this repository, its compile command, .clang-tidy or clang-tidy itself has changed. BUILD/lint/ records the
files that passed.

    lint.py BUILD [--all] [FILE...]     FILEs: paths or folders; default: lang compiler runtime

BUILD is a configured and built tree, which has the compile commands and the headers of each file.
"""
import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# clang 14 cannot compile LLVM 14's JSON.h as C++20 (a vector of an incomplete type), so that files that
# include it are skipped.
UNREADABLE = "/llvm/Support/JSON.h"


def includes(build):
    """Returns {object file: headers}, as recorded by ninja in the last build."""
    listing = subprocess.run(["ninja", "-C", build, "-t", "deps"], stdout=subprocess.PIPE,
                             text=True, check=True).stdout
    found, headers = {}, []
    for line in listing.splitlines():
        if match := re.match(r"^(\S+): #deps", line):
            headers = found.setdefault(match.group(1), [])
        elif line.startswith("    "):
            headers.append(line.strip())
    return found


def commands(build):
    """Returns the compile commands without precompiled headers, and writes them to BUILD/lint/commands/. clang cannot
    read g++'s precompiled headers, and each file must include the headers that it uses."""
    entries = json.loads((build / "compile_commands.json").read_text(encoding="utf-8"))
    for entry in entries:
        entry["command"] = re.sub(r' -Winvalid-pch| -include "?[^"]*?cmake_pch\.hxx"?', "",
                                  entry["command"])
    folder = build / "lint" / "commands"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "compile_commands.json").write_text(json.dumps(entries), encoding="utf-8")
    return entries


def digest(paths, more):
    total = hashlib.sha256(more.encode())
    for path in sorted(paths):
        total.update(str(path).encode())
        total.update(Path(path).read_bytes())
    return total.hexdigest()


def jobs(build, selected):
    """Yields (file, key) for each selected source. The key is a hash of everything that affects the result."""
    version = subprocess.run(["clang-tidy", "--version"], stdout=subprocess.PIPE, text=True,
                             check=True).stdout
    rules = (ROOT / ".clang-tidy").read_text(encoding="utf-8")
    headers = includes(build)
    for entry in commands(build):
        file = Path(entry["file"])
        if ROOT not in file.parents or not any(
                file == s or s in file.parents for s in selected):
            continue
        known = headers.get(entry.get("output", ""), None)
        if known is None:  # the output is only in the command
            output = re.search(r" -o (\S+)", entry["command"])
            known = headers.get(output.group(1) if output else "", [])
        known = [Path(os.path.normpath(build / h)) for h in known]
        if any(str(h).endswith(UNREADABLE) for h in known):
            continue
        ours = {h for h in known if ROOT in h.parents and h.exists()} | {file}
        yield file, digest(ours, version + rules + entry["command"])


def look(build, file, key):
    """Returns the complaints of clang-tidy, or an empty string."""
    stamp = build / "lint" / key
    if stamp.exists():
        return ""
    done = subprocess.run(["clang-tidy", "--quiet", "-p", str(build / "lint" / "commands"), str(file)],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode == 0:
        stamp.touch()
        return ""
    return done.stdout.strip() or done.stderr.strip() or f"{file}: clang-tidy failed"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=Path)
    parser.add_argument("--all", action="store_true", help="also check files that passed before")
    parser.add_argument("files", nargs="*", default=["lang", "compiler", "runtime"])
    options = parser.parse_args()
    build = options.build.resolve()
    stamps = build / "lint"
    stamps.mkdir(exist_ok=True)
    if options.all:
        for stamp in stamps.iterdir():
            if stamp.is_file():
                stamp.unlink()
    selected = [(ROOT / f).resolve() for f in options.files]
    work = list(jobs(build, selected))
    fresh = sum(not (stamps / key).exists() for _, key in work)
    print(f"lint: {len(work)} files, {fresh} to read", flush=True)
    failed = 0
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        for complaint in pool.map(lambda job: look(build, *job), work):
            if complaint:
                failed += 1
                print(complaint, flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

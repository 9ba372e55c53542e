"""What experiments over `tg` have in common: cells that are kept in FOLDER/cells.json, one command of `tg` with its report, and
tables in Markdown."""
import fcntl
import json
import os
import resource
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


class Cells:
    """FOLDER/cells.json: an object of each kind of cell, by name."""

    def __init__(self, folder):
        self.path = folder / "cells.json"
        self.read()

    def get(self, kind, name):
        return self.all.get(kind, {}).get(name)

    def put(self, kind, name, cell):
        """Beside what other runs wrote meanwhile."""
        with open(self.path.with_suffix(".lock"), "w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self.read()
            self.all.setdefault(kind, {})[name] = cell
            temporary = self.path.with_suffix(".new")
            temporary.write_text(json.dumps(self.all, indent=1, sort_keys=True) + "\n", encoding="utf-8")
            temporary.replace(self.path)

    def read(self):
        self.all = json.loads(self.path.read_text(encoding="utf-8")) if self.path.exists() else {}


class Experiment:
    """Of options with `tg`, `state`, a folder that is made, and `clock`, "wall" or "processor" (processor_clock.c)."""

    def __init__(self, options):
        self.o = options
        self.folder = options.state
        self.folder.mkdir(parents=True, exist_ok=True)
        self.cells = Cells(self.folder)

    def say(self, text):
        print(text, file=sys.stderr, flush=True)

    def environment(self, clock):
        """With the library that tells processor time, built if it is not there."""
        if clock != "processor":
            return None
        library = self.folder / "processor_clock.so"
        if not library.exists():
            subprocess.run([os.environ.get("CC", "cc"), "-O2", "-shared", "-fPIC", "-o", library,
                            ROOT / "bench/processor_clock.c", "-ldl"], check=True)
        return {**os.environ, "LD_PRELOAD": str(library)}

    def tg(self, *args, clock=None):
        """The report of a command, and the processor time that it took; None where it failed."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run([self.o.tg, *map(str, args), "--json"], cwd=ROOT, capture_output=True, text=True, check=False,
                              env=self.environment(clock or self.o.clock))
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode != 0:
            self.say(f"tg {' '.join(map(str, args))}: {done.stderr.strip()}")
            return None
        report = json.loads(done.stdout)
        report["processor_s"] = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return report

    def priced(self):
        return ["--cost", self.o.cost, "--threads", "1", "--finalists", "0"]

    def refuse_others(self, kind, name, depends):
        """Ends where the cell that is there came about otherwise; one that does not say how is taken."""
        known = (self.cells.get(kind, name) or {}).get("depends", depends)
        others = ", ".join(f"{key} {known.get(key)}, not {value}" for key, value in depends.items() if known.get(key) != value)
        if others:
            sys.exit(f"{self.cells.path}: {kind} {name} was computed with {others}; another --state keeps both")

    def table(self, head, rows, left=1):
        print("| " + " | ".join(head) + " |")
        print("| " + " | ".join("---" if i < left else "--:" for i in range(len(head))) + " |")
        for row in rows:
            print("| " + " | ".join(row) + " |")
        print()

    def commit(self):
        done = subprocess.run(["git", "rev-parse", "--short=8", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)
        return done.stdout.strip()

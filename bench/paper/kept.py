"""Shared by experiments over `tg`: cells kept in FOLDER/cells.json, commands that end by themselves when the experiment
is interrupted, reports of `tg` commands, and tables in Markdown."""
import ctypes
import fcntl
import json
import os
import resource
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
LIBC = ctypes.CDLL(None)
PR_SET_PDEATHSIG = 1  # linux/prctl.h
NOT_KEPT = "not kept"  # the commit of cells that are older than the record of commits


class Ended(BaseException):
    """A signal ended the experiment."""

    def __init__(self, number):
        super().__init__(number)
        self.number = number


def run_main(main):
    """Returns the exit code of `main`. If a signal ended it, this process ends by the same signal, for the shell."""
    try:
        return main()
    except Ended as ended:
        print("interrupted; finished cells are kept, and the same command continues", file=sys.stderr)
        sys.stdout.flush()
        signal.signal(ended.number, signal.SIG_DFL)
        os.kill(os.getpid(), ended.number)
        return 128 + ended.number


def begin_command(mask):
    """Runs in a new process before exec: restores the signal mask, and requests SIGTERM if the experiment is killed."""
    LIBC.prctl(PR_SET_PDEATHSIG, ctypes.c_ulong(signal.SIGTERM))
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def git(*arguments):
    try:
        done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def commits_of(cells):
    """Returns the commits of the cells in a line."""
    return ", ".join(dict.fromkeys(commit for cell in cells for commit in cell.get("commits", [NOT_KEPT]))) or "none"


class Commands:
    """Runs commands one after another. The first signal is forwarded to the running command, on which `tg` stops with
    its best result; no further command is started. A second signal is also forwarded and ends `tg` at once. Each
    command has its own session: otherwise Ctrl-C in a terminal, which signals the whole group, would arrive twice."""

    def __init__(self):
        self.asked, self.running = None, None
        for number in SIGNALS:
            if signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, self.on_signal)

    def on_signal(self, number, _):
        self.asked = self.asked or number
        if self.running:
            self.running.send_signal(signal.SIGTERM)

    def end_if_asked(self):
        if self.asked:
            raise Ended(self.asked)

    def run(self, command, env=None):
        """Runs a command. Returns its exit code, output and errors, even if a signal arrives meanwhile."""
        self.end_if_asked()
        before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)  # until the process to forward to is known
        try:
            self.running = subprocess.Popen(list(map(str, command)), cwd=ROOT, env=env, text=True, stdout=subprocess.PIPE,
                                            stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, start_new_session=True,
                                            preexec_fn=partial(begin_command, before))
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        output, errors = self.running.communicate()
        code, self.running = self.running.returncode, None
        return subprocess.CompletedProcess(command, code, output, errors)


class Cells:
    """FOLDER/cells.json: an object per kind of cell, with the cells by name."""

    def __init__(self, folder):
        self.path = folder / "cells.json"
        self.read()

    def get(self, kind, name):
        return self.all.get(kind, {}).get(name)

    def put(self, kind, name, cell):
        """Writes a cell and keeps the cells that other runs wrote meanwhile."""
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
    """An experiment with the options `tg`, `state` (a folder, created if missing) and `clock` ("wall" or "processor",
    see processor_clock.c). A signal ends it (Ended) after the current command. An interrupted command gives no cell,
    except with `unfinished`."""

    def __init__(self, options):
        self.o = options
        self.folder = options.state
        self.folder.mkdir(parents=True, exist_ok=True)
        self.cells = Cells(self.folder)
        self.commands = Commands()
        self.commit = None

    def say(self, text):
        print(text, file=sys.stderr, flush=True)

    def environment(self, clock):
        """Returns the environment that preloads the clock of processor time, building the library if it is missing."""
        if clock != "processor":
            return None
        library = self.folder / "processor_clock.so"
        if not library.exists():
            new = self.folder / f"processor_clock.{os.getpid()}"
            built = self.commands.run([os.environ.get("CC", "cc"), "-O2", "-shared", "-fPIC", "-o", new,
                                       ROOT / "bench/processor_clock.c", "-ldl"])
            self.commands.end_if_asked()
            if built.returncode != 0:
                sys.exit(f"{library}: {built.stderr.strip()}")
            new.replace(library)
        return {**os.environ, "LD_PRELOAD": str(library)}

    def commits(self, cell=None):
        """Returns the commits of a cell to write: its earlier ones, and the tree's commit at the start of this run with
        the version of `tg`."""
        before = cell.get("commits", [NOT_KEPT]) if cell else []
        return before if self.commit in before else [*before, self.commit]

    def find_commit(self):
        commit = git("rev-parse", "--short=8", "HEAD") or "unknown"
        changes = "+changes" if git("status", "--porcelain", "-uno") else ""
        version = self.commands.run([self.o.tg, "--version"]).stdout.strip()
        self.commit = f"{commit}{changes}" + (f" ({version})" if version else "")

    def tg(self, *args, clock=None, unfinished=False):
        """Returns the report of a command with its processor time, or None if it failed. With `unfinished` it also
        returns the report of an interrupted command; the caller must then end."""
        if self.commit is None:
            self.find_commit()
        environment = self.environment(clock or self.o.clock)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = self.commands.run([self.o.tg, *args, "--json"], environment)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if not unfinished:
            self.commands.end_if_asked()
        if done.returncode != 0:
            self.say(f"{self.o.tg.name} {' '.join(map(str, args))}: {done.stderr.strip() or f'exit code {done.returncode}'}")
            return None
        report = json.loads(done.stdout)
        report["processor_s"] = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return report

    def priced(self):
        return ["--cost", self.o.cost, "--threads", "1", "--finalists", "0"]

    def refuse_others(self, kind, name, depends):
        """Exits if the existing cell has other settings. A cell without recorded settings is accepted."""
        known = (self.cells.get(kind, name) or {}).get("depends", depends)
        others = ", ".join(f"{key} {known.get(key)}, not {value}" for key, value in depends.items() if known.get(key) != value)
        if others:
            sys.exit(f"{self.cells.path}: {kind} {name} was computed with {others}; use another --state to keep both")

    def table(self, head, rows, left=1):
        print("| " + " | ".join(head) + " |")
        print("| " + " | ".join("---" if i < left else "--:" for i in range(len(head))) + " |")
        for row in rows:
            print("| " + " | ".join(row) + " |")
        print()

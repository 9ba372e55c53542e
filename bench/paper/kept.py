"""What experiments over `tg` have in common: cells that are kept in FOLDER/cells.json, commands that end by themselves where the
experiment is to end, one command of `tg` with its report, and tables in Markdown."""
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
NOT_KEPT = "not kept"  # the commit of what was computed before cells had theirs


class Ended(BaseException):
    """By a signal."""

    def __init__(self, number):
        super().__init__(number)
        self.number = number


def run_main(main):
    """The exit code of `main`; where a signal ended it, this program ends by that, so that a shell sees it."""
    try:
        return main()
    except Ended as ended:
        print("ended; what is done is kept, and the same command goes on", file=sys.stderr)
        sys.stdout.flush()
        signal.signal(ended.number, signal.SIG_DFL)
        os.kill(os.getpid(), ended.number)
        return 128 + ended.number


def begin_command(mask):
    """In a new process, before its program: the signals of before, and one where the experiment is killed."""
    LIBC.prctl(PR_SET_PDEATHSIG, ctypes.c_ulong(signal.SIGTERM))
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def git(*arguments):
    try:
        done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def commits_of(cells):
    """Those that cells come from, in a line."""
    return ", ".join(dict.fromkeys(commit for cell in cells for commit in cell.get("commits", [NOT_KEPT]))) or "none"


class Commands:
    """One after the other. The first signal is passed on to the command that runs, which `tg` ends by with what it has; nothing is
    begun after it. A second one is passed on as well, and ends `tg` at once. Each command has a session of its own: Ctrl-C in a
    terminal, which is for all of a group, would come twice."""

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
        """With its exit code, output and errors, also where a signal comes meanwhile."""
        self.end_if_asked()
        before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)  # until it is known whom to pass it on to
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
    """Of options with `tg`, `state`, a folder that is made, and `clock`, "wall" or "processor" (processor_clock.c). A signal ends
    it (Ended) when a command is over; what that did not do to the end is in no cell, but for what asks for it (`unfinished`)."""

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
        """With the library that tells processor time, built if it is not there."""
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
        """Of a cell that is put: those that it has, and that of the tree when this run began to compute, with the version of `tg`."""
        before = cell.get("commits", [NOT_KEPT]) if cell else []
        return before if self.commit in before else [*before, self.commit]

    def find_commit(self):
        commit = git("rev-parse", "--short=8", "HEAD") or "unknown"
        changes = "+changes" if git("status", "--porcelain", "-uno") else ""
        version = self.commands.run([self.o.tg, "--version"]).stdout.strip()
        self.commit = f"{commit}{changes}" + (f" ({version})" if version else "")

    def tg(self, *args, clock=None, unfinished=False):
        """The report of a command, and the processor time that it took; None where it failed. With `unfinished` also that of one
        that a signal ended: who asks ends then."""
        if self.commit is None:
            self.find_commit()
        environment = self.environment(clock or self.o.clock)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = self.commands.run([self.o.tg, *args, "--json"], environment)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if not unfinished:
            self.commands.end_if_asked()
        if done.returncode != 0:
            self.say(f"tg {' '.join(map(str, args))}: {done.stderr.strip() or f'exit code {done.returncode}'}")
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

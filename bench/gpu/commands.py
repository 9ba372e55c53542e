"""Runs commands within the time limit of a cell and reads their output. No child process outlives its command.
Several commands may build in parallel; each is measured alone while the others are stopped (`turn`)."""
import fcntl
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

TOO_LONG = "longer than "
GRACE_S = 5  # time for a command to remove its files
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def exit_by_signals():
    """Makes signals raise SystemExit, so that commands are ended and files removed."""
    numbers = [number for number in SIGNALS if signal.getsignal(number) != signal.SIG_IGN]

    def leave(number, _frame):
        for each in numbers:
            signal.signal(each, signal.SIG_IGN)  # a second signal would interrupt the cleanup
        sys.exit(128 + number)

    for number in numbers:
        signal.signal(number, leave)


@contextmanager
def signals(how):
    before = signal.pthread_sigmask(how, SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def end_group(process):
    """Ends the command, if it still runs, and all processes that it started."""
    for number, patience in ((signal.SIGTERM, GRACE_S), (signal.SIGKILL, None)):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with suppress(subprocess.TimeoutExpired):
            process.wait(patience)


def last_line(text):
    return next((line for line in reversed(text.splitlines()) if line.strip()), "")


def first_line(text):
    """Returns the first line of the error, else the first line. Warnings may precede an error."""
    lines = [line for line in text.splitlines() if line.strip()]
    return next((line for line in lines if line.startswith("error")), lines[0] if lines else "")


class Clock:
    """The remaining time of a cell, shared by all its commands."""

    def __init__(self, limit):
        self.limit, self.end = limit, time.monotonic() + limit

    def run(self, command, **environment):
        """Returns the finished command, or None if the time ran out. Output goes to files, because pipes
        stay open until the last child process ends. Signals are blocked while the command is started and
        ended: a signal before the process is known would leave it running."""
        file = partial(tempfile.TemporaryFile, "w+", encoding="utf-8", errors="replace")
        with file() as out, file() as errors, signals(signal.SIG_BLOCK):
            process = subprocess.Popen([str(c) for c in command], stdin=subprocess.DEVNULL, stdout=out,
                                       stderr=errors, env={**os.environ, **environment},
                                       start_new_session=True,
                                       preexec_fn=partial(signal.pthread_sigmask, signal.SIG_UNBLOCK,
                                                          SIGNALS))
            try:
                with signals(signal.SIG_UNBLOCK):
                    process.wait(max(self.end - time.monotonic(), 0.1))
            except subprocess.TimeoutExpired:
                return None
            finally:
                end_group(process)
            for written in (out, errors):
                written.seek(0)
            return subprocess.CompletedProcess(command, process.returncode, out.read(), errors.read())

    def too_long(self):
        return {"error": f"{TOO_LONG}{self.limit:g} s"}


def call(clock, command, python=False, **environment):
    """Returns the JSON of a command, or its error. Python prints the error last, and libraries may print
    before the result; `tg` prints the error first, and nothing but its result."""
    done = clock.run(command, **environment)
    if done is None:
        return clock.too_long()
    if done.returncode != 0:
        why = last_line(done.stderr) if python else first_line(done.stderr)
        return {"error": why or f"exit {done.returncode}"}
    printed = last_line(done.stdout) if python else done.stdout
    try:
        found = json.loads(printed)
    except ValueError:
        found = None
    if isinstance(found, dict):
        return found
    return {"error": f"no result but `{first_line(printed)}`" if printed.strip() else "no output"}


# --- turns --------------------------------------------------------------------------------------

SLACK_S = 0.1  # for the work that a process had launched before it was stopped


def signal_others(folder, number):
    """Sends a signal to the other process groups that have joined."""
    for file in Path(folder).iterdir():
        if file.name.isdecimal() and int(file.name) != os.getpgid(0):
            with suppress(ProcessLookupError):
                os.killpg(int(file.name), number)


def join(folder):
    """Adds this process group to those that take turns."""
    Path(folder, str(os.getpgid(0))).touch()


@contextmanager
def turn(folder):
    """Stops all other groups that have joined while the body runs. Without a folder it does nothing."""
    if folder is None:
        yield
        return
    with open(Path(folder, "turn"), "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        try:
            signal_others(folder, signal.SIGSTOP)
            time.sleep(SLACK_S)
            yield
        finally:
            signal_others(folder, signal.SIGCONT)


def resume(folder):
    """Resumes the groups that were stopped by a process that ended during its turn."""
    with open(Path(folder, "turn"), "w") as file, suppress(BlockingIOError):
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        signal_others(folder, signal.SIGCONT)

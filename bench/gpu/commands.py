"""Commands in the time that a cell has, and what they say."""
import json
import os
import subprocess
import time

TOO_LONG = "longer than "


def last_line(text):
    return next((line for line in reversed(text.splitlines()) if line.strip()), "")


def first_line(text):
    """Of an error where there is one; warnings may stand before it."""
    lines = [line for line in text.splitlines() if line.strip()]
    return next((line for line in lines if line.startswith("error")), lines[0] if lines else "")


class Clock:
    """What is left of a cell's time; all its commands share it."""

    def __init__(self, limit):
        self.limit, self.end = limit, time.monotonic() + limit

    def run(self, command, **environment):
        """The finished command, or None if time ran out; then it is killed."""
        try:
            return subprocess.run([str(c) for c in command], capture_output=True, text=True,
                                  timeout=max(self.end - time.monotonic(), 0.1),
                                  env={**os.environ, **environment})
        except subprocess.TimeoutExpired:
            return None

    def too_long(self):
        return {"error": f"{TOO_LONG}{self.limit:.0f} s"}


def call(clock, command, python=False, **environment):
    """The JSON of a command, or what went wrong. Python says that last, and libraries print before a
    result; `tg` says it first, and its result is all that it prints."""
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

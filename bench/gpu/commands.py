"""Commands in the time that a cell has, and what they say."""
import json
import os
import subprocess
import time

TOO_LONG = "longer than "


def first_line(text):
    return next((line for line in text.splitlines() if line.strip()), "")


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


def call(clock, command, **environment):
    """The JSON of a command, or what went wrong."""
    done = clock.run(command, **environment)
    if done is None:
        return clock.too_long()
    if done.returncode != 0:
        return {"error": first_line(done.stderr) or f"exit {done.returncode}"}
    try:
        return json.loads(done.stdout)
    except json.JSONDecodeError:
        return {"error": first_line(done.stdout) or "no output"}

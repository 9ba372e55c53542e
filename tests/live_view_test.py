#!/usr/bin/env python3
"""Tests the progress line of a search on terminals of 80 and 30 columns. With every strategy it shows the cost before
and so far, the remaining time and the progress of the search. The last line shows the cost of the result. A line is
narrower than the terminal, and is erased at the end. Without a terminal, or with --quiet, there is no line. The test
does not depend on times.

    live_view_test.py TG
"""
import os
import pty
import re
import subprocess
import sys
import tempfile
import termios
from pathlib import Path

from search_limits_test import STRATEGIES, network

SECONDS = "5" if "ASAN_OPTIONS" in os.environ else "1"  # sanitizers are too slow for 1 s
LIMITS = ["--cost", "analytic:cpu", "--threads", "2", "--rules", "explore,algebra,fuse", "--time-limit", SECONDS]
LINE = re.compile(r"\r\x1b\[K([^\r\n]*)")


def on_terminal(command, columns):
    """Returns the output of a command on a terminal with this many columns."""
    pid, fd = pty.fork()
    if pid == 0:
        os.environ.update(TERM="xterm")
        os.environ.pop("NO_COLOR", None)
        # The size is set before the program starts.
        termios.tcsetwinsize(0, (24, columns))
        os.execv(command[0], command)
    seen = b""
    while True:
        try:
            read = os.read(fd, 65536)
        except OSError:
            break
        if not read:
            break
        seen += read
    _, status = os.waitpid(pid, 0)
    text = seen.decode()
    assert os.waitstatus_to_exitcode(status) == 0, text
    return text


def watch(tg, model, name, options):
    wide = on_terminal([tg, "opt", model, *options, *LIMITS], 80)
    lines = LINE.findall(wide)
    told = [line for line in lines if re.match(r"\S+ [um]?s to \S+ [um]?s, (at least \S+ [um]?s here, )?\d+ s left[,;] ", line)]
    assert told, f"{name}: no progress line has costs: {lines}"
    before, after = re.search(r"^  cost +(\S+ [um]?s) +(\S+ [um]?s) ", wide, re.M).groups()
    assert before != after, f"{name}: the search found nothing to report"
    assert told[-1].startswith(f"{before} to {after}, "), f"{name}: {before} to {after} became {told[-1]}"
    if name not in ("anneal", "taso"):  # these have no growing e-graph
        assert any("e-nodes" in line for line in told), f"{name}: {told}"
    assert all(len(line) < 80 for line in lines), f"{name}: too wide: {max(lines, key=len)}"
    assert lines[-1] == "sums", f"{name}: the report begins after `{lines[-1]}`"
    narrow = LINE.findall(on_terminal([tg, "opt", model, *options, *LIMITS], 30))
    assert any(len(line) == 29 for line in narrow) and all(len(line) < 30 for line in narrow), f"{name}: {narrow}"
    print(f"{name}: {len(lines)} lines")


def bound_is_shown(tg):
    """The lower bound is shown as soon as it is known, not only at the end."""
    model = str(Path(__file__).parents[1] / "examples" / "residual.tg")
    lines = LINE.findall(on_terminal([tg, "opt", model, "--cost", "analytic:a100", "--node-limit", "100"], 160))
    bounded = [line for line in lines if re.search(r", at least \S+ [um]?s here, ", line)]
    assert bounded and bounded[0] != lines[-1], f"no bound before the end: {lines}"


def main():
    tg = str(Path(sys.argv[1]).resolve())
    with tempfile.TemporaryDirectory() as folder:
        model = str(Path(folder, "sums.tg"))
        Path(model).write_text(network())
        for name, options in STRATEGIES.items():
            watch(tg, model, name, options)
        bound_is_shown(tg)
        search = [tg, "opt", model, *STRATEGIES["anneal"], *LIMITS]
        assert "\x1b" not in on_terminal([*search, "--quiet"], 80)
        piped = subprocess.run(search, capture_output=True, text=True, timeout=300, check=True)
        assert piped.stderr == "" and "\x1b" not in piped.stdout


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Tests crashes in `tg rules verify`: one of the processes that check rules receives SIGSEGV, and all other rules
still have their verdicts. Ctrl-C ends all processes.

    rule_faults_test.py TG
"""
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

RULES = "\n".join(
    f"rule distributes_{i}(x, y, z) {{ x @ (y + z) => x @ y + x @ z where rank(x) >= {i} }}"
    for i in range(6)) + "\n"


def children(pid):
    try:
        return [int(c) for c in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def start(tg, scratch):
    Path(scratch, "rules.tg").write_text(RULES)
    env = {**os.environ, "XDG_CACHE_HOME": scratch}
    run = subprocess.Popen([tg, "rules", "verify", "rules.tg", "--instances", "1500", "--threads", "2"],
                           cwd=scratch, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                           text=True)
    end = time.time() + 120
    while time.time() < end and run.poll() is None and not children(run.pid):
        time.sleep(0.01)
    return run


def fault(tg, scratch):
    run = start(tg, scratch)
    found = children(run.pid)
    if not found:
        return "no process of its own checks a rule"
    os.kill(found[0], signal.SIGSEGV)
    out, _ = run.communicate(timeout=600)
    if run.returncode != 70:
        return f"exit code {run.returncode}, expected 70:\n{out}"
    if len(re.findall(r"internal fault while checking rule `distributes_\d`? ?.*signal 11", out)) != 1:
        return f"the fault is not named once:\n{out}"
    if not re.search(r"6 rules: 5 tested in .* 1 with an internal fault", out):
        return f"the other rules have no verdicts:\n{out}"
    return None


def interrupt(tg, scratch):
    run = start(tg, scratch)
    found = children(run.pid)
    run.send_signal(signal.SIGINT)
    run.communicate(timeout=60)
    end = time.time() + 60
    while time.time() < end and any(Path(f"/proc/{c}").exists() for c in found):
        time.sleep(0.01)
    left = [c for c in found if Path(f"/proc/{c}").exists()]
    return f"{left} outlive the program" if left else None


def main():
    tg = str(Path(sys.argv[1]).resolve())
    for test in (fault, interrupt):
        with tempfile.TemporaryDirectory() as scratch:
            if problem := test(tg, scratch):
                print(f"rule faults: {test.__name__}: {problem}")
                return 1
    print("rule faults: a check that dies takes nothing along")
    return 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Tests `--memory-limit`: with every strategy, on a network that needs far more memory, the resident memory of
`tg opt`, `tg explain` and `tg verify` stays near the limit, and the result is valid. The test measures the peak of the
program and of each solver process that it starts. It does not depend on the machine's speed, because a search checks
its memory, not the time.

    memory_limit_test.py TG [NAME ...]     run only the cases whose names begin so
"""
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from limits_test import RULES, SEARCHES, network

LIMIT, MORE = 160, 400  # MiB
TOLERANCE = 1.25  # a vector may double between two checks
NOT_DECIDED, NO_ANSWER = 4, 3  # exit codes: compiler/api/README.md
GROWING = ("saturate", "saturate greedy", "taso")  # strategies that reach the memory limit before any other


def peak_of(arguments, folder):
    """Returns the exit code, the peak in MiB, and the output."""
    environment = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache")}
    said = folder / "said.txt"
    with open(said, "wb") as out:
        process = subprocess.Popen(arguments, stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=environment, cwd=folder)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, usage.ru_maxrss / 1024, said.read_text()


def cases_of(tg, folder):
    """Returns {name: (command without the memory limit, allowed exit codes)}."""
    model, result = str(folder / "long.tg"), str(folder / "out.tg")
    base = [tg, "opt", model, "-o", result, "--json", *RULES, "--time-limit"]
    cases = {f"opt {name}": (base + ["60" if name in GROWING else "6", *options], {0}) for name, options in SEARCHES.items()}
    for name in ("saturate greedy", "mcts", "taso"):
        cases[f"opt --verify {name}"] = (base + ["12", "--verify", *SEARCHES[name]], {0, NOT_DECIDED})
    cases["explain"] = ([tg, "explain", model, *RULES, *SEARCHES["saturate greedy"], "--quiet"], {0, NO_ANSWER})
    cases["verify"] = ([tg, "verify", str(folder / "pair.tg")], {0, NOT_DECIDED})
    return cases


def faults_of(tg, folder, name, command, codes):
    result = folder / "out.tg"
    result.unlink(missing_ok=True)
    code, peak, said = peak_of([*command, "--memory-limit", str(LIMIT)], folder)
    print(f"{name}: exit code {code}, {peak:.0f} MiB of {LIMIT}", flush=True)
    if code not in codes:
        yield f"{name}: exit code {code}, not one of {sorted(codes)}: {said[-300:]}"
    if peak > TOLERANCE * LIMIT:
        yield f"{name}: {peak:.0f} MiB, and the limit is {LIMIT}"
    if name.startswith("opt") and subprocess.run([tg, "check", result], capture_output=True).returncode != 0:
        yield f"{name}: no valid model was written"
    if any(name == f"opt {search}" for search in GROWING) and '"stopped_by": "memory limit"' not in said:
        yield f"{name}: was not ended by its limit: {said[-300:]}"


def main():
    tg, chosen = str(Path(sys.argv[1]).resolve()), sys.argv[2:]
    found = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "long.tg").write_text(network("long"))
        (folder / "pair.tg").write_text(network("one") + network("two", swap=True))
        cases = cases_of(tg, folder)
        for name, (command, codes) in cases.items():
            if not chosen or any(name.startswith(begin) for begin in chosen):
                found += faults_of(tg, folder, name, command, codes)
        # A higher limit must give a higher peak, or the test proves nothing.
        _, peak, _ = peak_of([*cases["opt saturate greedy"][0], "--memory-limit", str(MORE)], folder)
        print(f"with {MORE} MiB: {peak:.0f} MiB")
        if peak < TOLERANCE * LIMIT:
            found.append(f"the network takes {peak:.0f} MiB with {MORE}, too few to show anything")
    for fault in found:
        print("FAULT:", fault)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

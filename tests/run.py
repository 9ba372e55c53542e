#!/usr/bin/env python3
"""Runs golden tests. Every tests/golden/<kind>/<name>.tg opens with its commands, whose output is compared with
<name>.out in the same folder:

    # run: tg check %s        a command of `tg` or `tg-paper`; commands run in order; %s is the file, %t a scratch
                              folder; `tg repl < %s` reads standard input from a file; `! tg ...` must fail,
                              although more commands follow
    # exit: 2                 the expected exit code of the last command, if it is not the default
    # needs: cpu              run only if `tg devices` lists this backend
    # make: f.tg line 5000    creates %t/f.tg, which is too large or too odd to store: a line of 5000 characters;
                              or `bytes N`: random bytes, `nest N`: brackets, `chain N`: additions,
                              `calls N`: nested calls, `lets N`: definitions in a row, `functions N`:
                              each calls the previous one, `begins BYTES`: followed by zeros, `empty`,
                              `folder`

`.out` has standard output and standard error of all commands, in the order in which they were written. The default
exit code is 0, except in golden/error/, where the last command must fail. Commands run inside tests/ with relative
paths, so that outputs do not depend on the machine. Outputs must not contain times.

    run.py --tg build/tg [KIND|FILE...]     compare
    run.py --tg build/tg --update [...]     rewrite the .out files; the reviewer reads the diff
    run.py --tg build/tg --coverage         check that every diagnostic, rule and operator has a golden test
    run.py --tg build/tg --documents        check that documents printed by `tg` are current (lang/OPERATORS.md, ...)
"""
import argparse
import difflib
import json
import os
import random
import re
import shlex
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

TESTS = Path(__file__).resolve().parent
GOLDEN = TESTS / "golden"
DIRECTIVE = re.compile(r"^# (run|exit|needs|make): ?(.*)$")
TIMEOUT_S = 300
PROGRAMS = ("tg", "tg-paper")  # in the same folder


def directives(path):
    """Returns the `# key: value` lines at the beginning of a test. A test may be a binary file."""
    found = {"run": [], "exit": None, "needs": [], "make": []}
    with open(path, encoding="utf-8", errors="replace") as text:
        for line in text:
            if not (match := DIRECTIVE.match(line.rstrip("\n"))):
                break
            key, value = match.groups()
            if key == "exit":
                found["exit"] = int(value)
            else:
                found[key].append(value)
    return found


# Patterns that are replaced by #: measured times and memory, and the number of built-in rules, which each new rule
# changes. Costs are kept, because they come from a model. Padding of columns is removed, because it depends on times.
REDACTED = [
    (re.compile(r"\bin [0-9.]+ (us|ms|s)\b"), "in #"),
    (re.compile(r"^( +median ).*$", re.M), r"\1#"),
    (re.compile(r"^( +)[0-9.]+ (ns|us|ms|s) per step.*$", re.M), r"\1# per step"),
    (re.compile(r"sum of the steps [0-9.]+ (us|ms|s)\b"), "sum of the steps #"),
    (re.compile(r"\b[0-9.]+ (B|KiB|MiB) peak\b"), "# peak"),
    (re.compile(r"\bwith [0-9,]{2,} rules\b"), "with # rules"),
    (re.compile(r"^( +device ).*?(; sum of)", re.M), r"\1#\2"),
]
TIMED_STEP = re.compile(r" +[0-9.]+ (us|ms|s)$", re.M)
PADDING = re.compile(r"(?<=\S) {3,}(?=\S)")
RULE = re.compile("─{2,}")


def redact(output):
    for pattern, shown in REDACTED:
        output = pattern.sub(shown, output)
    if "sum of the steps" in output:  # `tg run --verbose` ends in a table of times
        head, _, steps = output.partition("sum of the steps")
        output = head + "sum of the steps" + TIMED_STEP.sub("  #", steps)
    return PADDING.sub("  ", RULE.sub("──", output)) if "──" in output else output


def make_file(folder, what):
    """Writes the file that a `# make:` line describes."""
    name, kind, *size = what.split()
    path, count = Path(folder, name), int(size[0]) if size and kind != "begins" else 0
    if kind == "folder":
        path.mkdir()
    else:
        content = {"line": lambda: b"model " + b"x" * count,
                   "bytes": lambda: random.Random(1).randbytes(count),
                   "nest": lambda: b"model m(x: f32[1]) {\n  " + b"(" * count + b"x" + b")" * count + b"\n}\n",
                   "chain": lambda: b"model m(x: f32[1]) {\n  x" + b" + x" * count + b"\n}\n",
                   "calls": lambda: b"model m(x: f32[1]) {\n  " + b"relu(" * count + b"x" + b")" * count + b"\n}\n",
                   "lets": lambda: b"model m(x: f32[1]) {\n  var y = x\n" + b"  y = tanh(y)\n" * count + b"  y\n}\n",
                   "functions": lambda: b"fn f0(x: f32[1]) { relu(x) }\n\n"
                                        + b"".join(b"fn f%d(x: f32[1]) { f%d(x) }\n\n" % (i, i - 1) for i in range(1, count + 1))
                                        + b"model m(x: f32[1]) { f%d(x) }\n" % count,
                   "begins": lambda: size[0].encode().decode("unicode_escape").encode("latin-1") + bytes(64),
                   "empty": lambda: b""}[kind]()
        path.write_bytes(content)


def run_one(tg, path, backends):
    """Runs the commands of a test. Returns (output, problem); the problem is a failure other than wrong output."""
    test = directives(path)
    if not test["run"]:
        return None, "no `# run:` line"
    if any(need not in backends for need in test["needs"]):
        return None, "skip"
    output, code, command = "", 0, ""
    file = path.relative_to(TESTS).as_posix()
    with tempfile.TemporaryDirectory(prefix="tg-golden-") as scratch:
        for what in test["make"]:
            make_file(scratch, what)
        for command in test["run"]:
            words = [w.replace("%s", file).replace("%t", scratch) for w in shlex.split(command)]
            fails = words[0] == "!"
            words = words[fails:]
            if words[0] not in PROGRAMS:
                return None, f"not a tg command: {command}"
            program = Path(tg).with_name(words[0])
            source = os.devnull
            if "<" in words:
                source = TESTS / words[words.index("<") + 1]
                words = words[:words.index("<")]
            try:
                with open(source, "rb") as given:
                    done = subprocess.run([program, *words[1:]], cwd=TESTS, stdin=given,
                                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                          timeout=TIMEOUT_S, check=False,
                                          env={**os.environ, "XDG_CACHE_HOME": scratch,
                                               "NO_COLOR": "1"})
            except subprocess.TimeoutExpired:
                return None, f"`{command}` took over {TIMEOUT_S} s"
            code = done.returncode
            output += redact(done.stdout.decode("utf-8", "replace").replace(scratch, "%t"))
            if command is not test["run"][-1] and (code < 0 or (code != 0) != fails):
                return output, f"`{command}` exited with {code}, and more commands follow"
    if code < 0:
        return output, f"`{command}` was killed by signal {-code}"
    if test["exit"] is not None:
        return output, None if code == test["exit"] else f"exit code {code}, expected {test['exit']}"
    must_fail = path.parent.name == "error"
    if (code != 0) != must_fail:
        return output, f"exit code {code}, expected {'a failure' if must_fail else '0'}"
    return output, None


def compare(path, output, update):
    """Returns the difference between a .out file and the output, or None."""
    expected = path.with_suffix(".out")
    before = expected.read_text(encoding="utf-8") if expected.exists() else None
    if before == output:
        return None
    if update:
        expected.write_text(output, encoding="utf-8")
        return None
    if before is None:
        return f"no {expected.name} yet (run.py --update writes it); the output is:\n{output}"
    return "".join(difflib.unified_diff(before.splitlines(True), output.splitlines(True),
                                        expected.name, "printed"))


def select(names):
    """Returns the test files of the given kinds and files, or all test files."""
    if not names:
        return sorted(GOLDEN.glob("*/*.tg"))
    paths = []
    for name in names:
        if (GOLDEN / name).is_dir():
            paths += sorted((GOLDEN / name).glob("*.tg"))
        elif Path(name).is_file():
            paths.append(Path(name).resolve())
        else:
            sys.exit(f"run.py: {name} is neither a kind of golden test nor a file")
    return paths


def run_goldens(tg, names, update, jobs):
    backends = {device["backend"] for device in tg_json(tg, "devices").get("devices", [])}
    paths = select(names)
    failed = skipped = 0
    with ThreadPoolExecutor(jobs) as pool:
        for path, (output, problem) in zip(paths, pool.map(lambda p: run_one(tg, p, backends), paths)):
            if problem == "skip":
                skipped += 1
                print(f"[SKIP] {path.relative_to(TESTS)}")
                continue
            difference = None if output is None else compare(path, output, update and not problem)
            if problem or difference:
                failed += 1
                print(f"[FAIL] {path.relative_to(TESTS)}: {problem or 'the output differs'}")
                print(difference or "", end="")
    print(f"golden: {len(paths) - failed - skipped} passed, {failed} failed, {skipped} skipped")
    return 1 if failed or not paths else 0


# --- coverage by list -------------------------------------------------------------------------------

def tg_json(tg, *arguments):
    done = subprocess.run([tg, *arguments, "--json"], cwd=TESTS, capture_output=True, check=False)
    try:
        return json.loads(done.stdout)
    except ValueError:
        sys.exit(f"run.py: `tg {' '.join(arguments)} --json` printed no JSON:\n"
                 f"{done.stdout.decode()}{done.stderr.decode()}")


def exceptions():
    """Returns {name: reason} of tests/golden/EXCEPTIONS, which no golden test can reach."""
    rows = {}
    for line in (GOLDEN / "EXCEPTIONS").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            name, _, reason = line.partition(" ")
            rows[name] = reason.strip()
            if not rows[name]:
                sys.exit(f"run.py: EXCEPTIONS: {name} has no reason")
    return rows


def missing_from(what, names, text_has, excused):
    problems = [f"{what} {name} occurs in no golden test" for name in names
                if not text_has(name) and name not in excused]
    problems += [f"{what} {name} is in EXCEPTIONS but has a golden test" for name in names
                 if text_has(name) and name in excused]
    return problems


def run_coverage(tg):
    # tests/property/rules/taso_test.cpp fires all published rules in one process.
    files = sorted(GOLDEN.glob("*/*.out")) + [TESTS / "property" / "rules" / "taso_models.out"]
    outs = "\n".join(p.read_text(encoding="utf-8") for p in files)
    excused = exceptions()
    codes = [d["code"] for d in tg_json(tg, "errors")["diagnostics"]]
    rules = sorted({r["declared"] for r in tg_json(tg, "rules", "list")["rules"]})
    operators = [o["name"] for o in tg_json(tg, "ops")["operators"]]
    # `tg opt` prints rules that fired as `name[operator]~2  x3`. `tg run --verbose` prints the
    # operator at the beginning of each step.
    fired = set(re.findall(r"^ +([a-z]\w*)(?:\[\w+\])?(?:-rev)?(?:~\d+)? .*x[1-9]\d*$", outs, re.M))
    runs = "\n".join(p.read_text(encoding="utf-8") for p in sorted(GOLDEN.glob("run/*.out")))
    ran = set(re.findall(r"^ +([a-z]\w*) .*#$", runs, re.M))
    problems = missing_from("diagnostic", codes, lambda code: f"[{code}]" in outs, excused)
    problems += missing_from("rule", rules, lambda rule: rule in fired, excused)
    problems += missing_from("operator", operators, lambda op: op in ran, excused)
    source = (TESTS.parent / "compiler/import/text/composites.cpp").read_text(encoding="utf-8")
    reasons = dict.fromkeys(re.findall(r'^    \{"\w+", "([^"]+)",$', source, re.M))
    problems += missing_from("reason", reasons, lambda reason: f"  {reason}  " in outs, excused)
    known = {*codes, *rules, *operators}
    problems += [f"EXCEPTIONS names {name}, which does not exist" for name in excused if name not in known]
    for problem in problems:
        print(problem)
    print(f"coverage: {len(codes)} diagnostics, {len(rules)} rules, {len(operators)} operators, "
          f"{len(reasons)} reasons; "
          f"{len(problems)} problems")
    return 1 if problems else 0


def run_documents(tg, update):
    """Checks (or updates) the documents that `tg` generates."""
    status = 0
    for command, name in (("ops", "lang/OPERATORS.md"), ("errors", "lang/DIAGNOSTICS.md"),
                          ("options", "compiler/api/OPTIONS.md")):
        path = TESTS.parent / name
        text = subprocess.run([tg, command], capture_output=True, check=True).stdout.decode()
        if update:
            path.write_text(text, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            print(f"{name} is stale: tests/run.py --documents --update rewrites it")
            status = 1
    print("documents: stale" if status else "documents: fresh")
    return status


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--tg", default=TESTS.parent / "build" / "tg", type=Path)
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--coverage", action="store_true")
    parser.add_argument("--documents", action="store_true")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    tg = str(options.tg.resolve())
    if not os.access(tg, os.X_OK):
        sys.exit(f"run.py: no program at {options.tg}")
    if options.coverage:
        return run_coverage(tg)
    if options.documents:
        return run_documents(tg, options.update)
    return run_goldens(tg, options.names, options.update, options.jobs)


if __name__ == "__main__":
    sys.exit(main())

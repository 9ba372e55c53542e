#!/usr/bin/env python3
"""Checks that documents show the output of their commands. All commands of a page are run in order, in one bash and
an empty folder (for pages below examples/, with copies of the files in the page's folder). Their output is compared
with the lines below each command.

    documents_test.py TG PAGE...

The fence gives the kind of a block:
    ```tg        a file, if its first line is `# NAME.tg`; must be formatted as by `tg fmt`
    ```console   lines that begin with `$ ` are commands; the lines up to the next command are the output
    ```console needs=MODULE,...   run only if python3 has these modules
    ```egraph    the e-graph, one class a line: checked against the numbers of `tg opt`, and extracted
`…` replaces text that varies or is left out: any text within a line, or any number of lines if it is alone on a line.
Column widths depend on times, so that spaces match any number of spaces, and table rules any length.
Other blocks, such as ```sh for installing and building, are not run.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
END = "--- end of output ---"
# The options that docs/how-it-works.md calls $choices.
CHOICES = ["--search", "saturate", "--cost", "analytic:cpu", "--finalists", "0", "--rules",
           "join.tg,fuse_matmul_bias,fuse_matmul_act,concat_of_pieces,slice_whole"]


def blocks(text):
    """Yields the fenced blocks as (kind, required modules, lines)."""
    for found in re.finditer(r"^```(\w+)(?: needs=(\S+))?\n(.*?)^```$", text, re.M | re.S):
        yield found[1], (found[2] or "").split(",") if found[2] else [], found[3].splitlines()


def lacks(modules):
    """Returns the modules that python3 does not have."""
    return [module for module in modules
            if subprocess.run(["python3", "-c", f"import {module}"], cwd="/", capture_output=True,
                              check=False).returncode != 0]


def commands(lines):
    """Returns (command, lines of its output) for each command of a console block."""
    found = []
    for line in lines:
        if line.startswith("$ "):
            found.append((line[2:], []))
        else:
            found[-1][1].append(line)
    return found


def pattern(lines):
    """Returns the regular expression of the output that these lines of the page match."""
    def of_line(line):
        if line == "…":
            return "(?:.*\n)*?"
        parts = re.split(r"(…|─+| +)", line.rstrip())
        return "".join({"…": ".+?", "─": "─+", " ": " +"}.get(part[:1], re.escape(part))
                       for part in parts) + " *\n"
    return re.compile("".join(map(of_line, lines)))


def run(tg, files, wanted, scratch):
    """Runs all commands in one bash and returns the output of each."""
    for name, text in files.items():
        (scratch / name).write_text(text, encoding="utf-8")
    (scratch / "cache" / "bin").mkdir(parents=True)
    for program in ("tg", "tg-paper"):
        (scratch / "cache" / "bin" / program).symlink_to(Path(tg).with_name(program))
    script = "".join(f"{command}\necho '{END}'\n" for command in wanted)
    environment = {**os.environ, "XDG_CACHE_HOME": str(scratch / "cache"), "NO_COLOR": "1",
                   "PATH": f"{scratch / 'cache' / 'bin'}:{os.environ['PATH']}"}
    done = subprocess.run(["bash", "-c", script], cwd=scratch, env=environment, text=True,
                          encoding="utf-8", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=600, check=False)
    return done.stdout.split(f"{END}\n")[:-1]


def classes_of(lines):
    """Returns the e-graph of the page: class -> [(operator, operands, price)]. A missing price is 0."""
    found = {}
    for line in lines:
        name, _, forms = line.partition("=")
        nodes = []
        for form in re.split(" │ ", forms):
            op, operands, price = re.fullmatch(r"(\w+)(?:\((.*)\))?(?: +([\d.]+|cycle))?",
                                               form.strip()).groups()
            nodes.append((op, operands.split(", ") if operands else [],
                          0 if price in (None, "cycle") else float(price)))
        found[name.strip()] = nodes
    return found


def egraph_problems(tg, classes, scratch):
    """Yields differences between the e-graph and the report of `tg opt`: size, prices and cost of the best graph."""
    report = json.loads(run_tg(tg, scratch, "opt", "net.tg", *CHOICES, "--json"))
    size = (report["egraph_nodes"], report["egraph_classes"])
    drawn = (sum(map(len, classes.values())), len(classes))
    if drawn != size:
        yield f"the e-graph of the page has {drawn} e-nodes and classes, that of `tg opt` {size}"
    prices = json.loads((scratch / "prices.json").read_text())["microseconds"]
    known = {(key.partition("(")[0], round(price, 3)) for key, price in prices.items()}
    nodes = {}
    for name, forms in classes.items():
        for number, (op, operands, price) in enumerate(forms):
            if price and (op, price) not in known:
                yield f"no {op} in prices.json costs {price}"
            yield from (f"{op} has an operand `{o}`, which is not a class" for o in operands
                        if o not in classes and o != "relu")
            nodes[f"{name}.{number}"] = {
                "op": op, "eclass": name, "cost": price,
                "children": [f"{o}.0" for o in operands if o in classes]}
    (scratch / "egraph.json").write_text(json.dumps({"nodes": nodes, "root_eclasses": ["y"]}))
    best = json.loads(run_tg(tg, scratch, "extract", "egraph.json", "--json"))
    if abs(best["dag_cost"] - report["cost_after_us"]) > 0.002:
        yield (f"the best graph of the page's e-graph costs {best['dag_cost']}, "
               f"that of `tg opt` {report['cost_after_us']}")


def run_tg(tg, scratch, *arguments):
    return subprocess.run([tg, *arguments], cwd=scratch, text=True, stdout=subprocess.PIPE,
                          env={**os.environ, "XDG_CACHE_HOME": str(scratch / "cache")},
                          timeout=120, check=True).stdout


def problems(tg, page, scratch):
    found = list(blocks(page.read_text(encoding="utf-8")))
    if EXAMPLES in page.parents:
        shutil.copytree(page.parent, scratch, dirs_exist_ok=True, ignore=shutil.ignore_patterns("*.md"))
    files = {lines[0].removeprefix("# "): "\n".join(lines) + "\n"
             for kind, _, lines in found if kind == "tg" and lines[0].endswith(".tg")}
    wanted = []
    for kind, needs, lines in found:
        if kind != "console":
            continue
        if lacking := lacks(needs):
            print(f"[SKIP] {page.name}: `{lines[0].removeprefix('$ ')}`: no {', '.join(lacking)}")
        else:
            wanted += commands(lines)
    printed = run(tg, files, [command for command, _ in wanted], scratch)
    if len(printed) != len(wanted):
        yield f"{len(wanted)} commands, of which {len(printed)} ended: {printed[-1:]}"
    for (command, shown), output in zip(wanted, printed):
        if not pattern(shown).fullmatch(output):
            yield "\n".join([f"`{command}` prints", output, "and the page shows", *shown])
    if files:
        run_tg(tg, scratch, "fmt", "--check", *files)
    for kind, _, lines in found:
        if kind == "egraph":
            yield from egraph_problems(tg, classes_of(lines), scratch)


def main():
    tg, failed = str(Path(sys.argv[1]).resolve()), False
    for page in map(lambda name: Path(name).resolve(), sys.argv[2:]):
        with tempfile.TemporaryDirectory() as scratch:
            found = list(problems(tg, page, Path(scratch)))
        print("\n".join([f"{page}:", *found]) if found
              else f"{page.name}: every command prints the output on the page")
        failed = failed or bool(found)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Documents show what their commands print: every command of a page is run, in order, in one bash and an
empty folder (beside copies of the files in the page's folder, for pages below examples/), and its output
compared with the lines below it.

    documents_test.py TG PAGE...

In a page, the fence says what a block is:
    ```tg        a file, if its first line is `# NAME.tg`. It has the layout of `tg fmt`.
    ```console   lines that begin with `$ ` are commands, the lines up to the next one their output
    ```console needs=MODULE,...   run only where python3 has these modules
    ```egraph    the e-graph, a class a line: checked against the figures of `tg opt` and extracted
What differs by machine, or is left out, is `…`: within a line any text, alone on a line any number of
lines. Widths of columns follow from times: a run of spaces equals any other, and so does a rule of a
table. Blocks of other kinds (```sh for what installs or builds) are not run.
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
# What docs/how-it-works.md calls $choices.
CHOICES = ["--search", "saturate", "--cost", "analytic:cpu", "--finalists", "0", "--rules",
           "join.tg,fuse_matmul_bias,fuse_matmul_act,concat_of_pieces,slice_whole"]


def blocks(text):
    """The fenced blocks as (kind, modules needed, lines)."""
    for found in re.finditer(r"^```(\w+)(?: needs=(\S+))?\n(.*?)^```$", text, re.M | re.S):
        yield found[1], (found[2] or "").split(",") if found[2] else [], found[3].splitlines()


def lacks(modules):
    """Which of the modules python3 does not have."""
    return [module for module in modules
            if subprocess.run(["python3", "-c", f"import {module}"], cwd="/", capture_output=True,
                              check=False).returncode != 0]


def commands(lines):
    """A console block as (command, lines of its output)."""
    found = []
    for line in lines:
        if line.startswith("$ "):
            found.append((line[2:], []))
        else:
            found[-1][1].append(line)
    return found


def pattern(lines):
    """What these lines of the page stand for."""
    def of_line(line):
        if line == "…":
            return "(?:.*\n)*?"
        parts = re.split(r"(…|─+| +)", line.rstrip())
        return "".join({"…": ".+?", "─": "─+", " ": " +"}.get(part[:1], re.escape(part))
                       for part in parts) + " *\n"
    return re.compile("".join(map(of_line, lines)))


def run(tg, files, wanted, scratch):
    """The output of each command, as one bash prints it that runs them all."""
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
    """The e-graph of the page: class -> [(operator, operands, price)]; a price left out is 0."""
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
    """The e-graph has the size that `tg opt` says, its prices, and the best graph that it found."""
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
            yield from (f"{op} has an operand `{o}`, which is no class" for o in operands
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
              else f"{page.name}: every command prints what the page shows")
        failed = failed or bool(found)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

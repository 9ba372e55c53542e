#!/usr/bin/env python3
"""Counts patterns of English that readers stumble over, by folder, against a budget that only falls.

    wording.py [ROOT]              check a tree: no folder has more of a pattern than its budget
    wording.py --list PATTERN ...  print each place (a pattern of `wording.txt`, a folder, or both)
    wording.py --lower             lower the budgets to the counts of today; a higher count is an error
    wording.py --sample N --seed S [--at COMMIT]   print N random sentences, of the tree or of a commit
    wording.py --table COMMIT      print counts and sentences of a commit and of the tree (bench/results/wording.md)
    wording.py --self-test         prove that the check can fail

`wording.txt` has the table of patterns with a better wording each, the words that never return, and the budgets. The text
that is read: comments and string literals of C++, comments and docstrings of Python, comments of models and rules,
and the prose of documents. Code blocks, quoted code and test results are not read.
"""
import argparse
import io
import re
import sys
import tempfile
import tokenize
from collections import Counter
from pathlib import Path

import wording_table
from mentions import tracked

HERE = Path(__file__).resolve().parent
CPP = {".h", ".cpp", ".cu", ".y", ".l", ".inc", ".c"}
SKIPPED = ("bench/results/", "tests/golden/", "tests/wording", "lang/editors/")
# Comments and string literals of C++; a raw string is often a program in another language.
PIECE = re.compile(r'//(?P<line>[^\n]*)|/\*(?P<block>.*?)\*/|R"(?P<d>[^(\s]*)\(.*?\)(?P=d)"|"(?P<text>(?:\\.|[^"\\\n])*)"|'
                   r"'(?:\\.|[^'\\\n])*'", re.DOTALL)


def of_cpp(text):
    """(line number, kind, text): consecutive comment lines are one piece, so that sentences may wrap."""
    start, comment, last = 0, [], -1
    for match in PIECE.finditer(text):
        number = text.count("\n", 0, match.start()) + 1
        if match["line"] is not None and not match["line"].startswith(" NOLINT"):
            own = not text[text.rfind("\n", 0, match.start()) + 1:match.start()].strip()
            if not (own and number == last + 1 and comment):
                if comment:
                    yield start, "comment", " ".join(comment)
                start, comment = number, []
            comment.append(match["line"].lstrip("/!<").strip())
            last = number
        elif match["block"] is not None:
            yield number, "comment", " ".join(line.strip(" *") for line in match["block"].splitlines())
        elif match["text"] is not None and " " in match["text"]:
            yield number, "text", match["text"]
    if comment:
        yield start, "comment", " ".join(comment)


def of_python(text):
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    except (tokenize.TokenError, SyntaxError):
        return
    for token in tokens:
        if token.type == tokenize.COMMENT:
            yield token.start[0], "comment", token.string.lstrip("#: ")
        elif token.type == tokenize.STRING and " " in token.string:
            kind = "comment" if '"""' in token.string[:5] else "text"
            yield token.start[0], kind, " ".join(token.string.strip("rbfRBF\"'").split())


def of_prose(text):
    number, paragraph, fenced = 0, [], False
    for at, line in enumerate(text.splitlines() + [""], 1):
        if line.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
            line = ""
        if fenced or not line.strip() or line.lstrip().startswith(("- ", "* ", "|", "#")):
            if paragraph:
                yield number, "prose", re.sub(r"`[^`]*`", "`x`", " ".join(paragraph))
            paragraph = []
            if fenced or not line.strip():
                continue
        if not paragraph:
            number = at
        paragraph.append(line.strip().lstrip("-*#|> "))


def of_marks(mark):
    def pieces(text):
        start, block = 0, []
        for number, line in enumerate(text.splitlines() + [""], 1):
            match = re.match(rf"\s*{mark}+\s?(.*)$", line)
            if match:
                start = start if block else number
                block.append(match[1])
            elif block:
                yield start, "comment", " ".join(block)
                block = []
    return pieces


def reader(path):
    if path.as_posix().startswith(SKIPPED):
        return None
    if path.suffix in CPP or path.suffix == ".def":
        return of_cpp
    if path.suffix == ".py" or path.name == "dev":
        return of_python if path.suffix == ".py" else of_marks("#")
    if path.suffix == ".md":
        return of_prose
    if path.suffix in {".tg", ".txt", ".cmake"}:
        return of_marks("#")
    return None


def folder_of(path):
    """Two levels for code, one for the rest: `compiler/egraph`, `docs`, `.` for files at the root."""
    depth = 2 if path.parts[0] in {"lang", "compiler", "runtime", "python"} else 1
    return "/".join(path.parts[:-1][:depth]) or "."


class Table:
    """The patterns and budgets of `wording.txt`."""

    def __init__(self, path):
        self.path, self.patterns, self.budgets, self.better = path, {}, Counter(), {}
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            fields = [field.strip() for field in line.split(" | ")]
            if not line.strip() or line.startswith("#"):
                continue
            if fields[0] == "pattern" and len(fields) == 5:
                _, name, kinds, expression, self.better[name] = fields
                self.patterns[name] = (kinds.split(), re.compile(expression))
            elif fields[0] == "budget" and len(fields) == 4 and fields[2] in self.patterns:
                self.budgets[fields[1], fields[2]] = int(fields[3])
            else:
                sys.exit(f"{path}:{number}: expected `pattern | name | kinds | expression | better` or "
                         "`budget | folder | name | count`")

    def lower(self, counts):
        head = [line for line in self.path.read_text(encoding="utf-8").splitlines() if not line.startswith("budget | ")]
        rows = [f"budget | {folder} | {name} | {count}" for (folder, name), count in sorted(counts.items()) if count]
        self.path.write_text("\n".join(head + rows) + "\n", encoding="utf-8")


def places(root, table):
    """(path, line, pattern, excerpt) of each match."""
    for path in tracked(root):
        read = reader(path)
        if read is None:
            continue
        for number, kind, text in read((root / path).read_text(encoding="utf-8", errors="replace")):
            for name, (kinds, expression) in table.patterns.items():
                if kind in kinds:
                    for match in expression.finditer(text):
                        around = text[max(0, match.start() - 30):match.end() + 50]
                        yield path, number, name, around


def problems(table, counts):
    for (folder, name), count in sorted(counts.items()):
        if count > table.budgets[folder, name]:
            yield (f"{folder}: {count} of `{name}`, {table.budgets[folder, name]} allowed; write {table.better[name]} "
                   f"(`python3 tests/wording.py --list {name} {folder}`)")


def self_test(table):
    sample = "// Of what it costs.\nint x; /* nobody asks */ auto s = \"there is no rule, what it was\";\n"
    found = Counter(name for _, kind, text in of_cpp(sample) for name, (kinds, expression) in table.patterns.items()
                    if kind in kinds for _ in expression.finditer(text))
    wording_table.self_test(of_cpp)
    missing = [name for name in ("clause", "opening", "person") if not found[name]]
    full = list(problems(table, Counter({("nowhere", next(iter(table.patterns))): 1})))
    if missing or not full:
        sys.exit(f"the check misses {missing}" if missing else "a count above its budget passes")


def compare(options):
    """`--sample` and `--table`."""
    this = sys.modules[__name__]
    if options.table:
        print(*wording_table.page(options.root, options.table, this, options.sample or 30, options.seed), sep="\n")
        return
    with tempfile.TemporaryDirectory() as folder:
        root = wording_table.checked_out(options.root, options.at, folder) if options.at else options.root
        for path, number, _, kind, sentence in wording_table.sample(root, reader, options.sample, options.seed):
            print(f"{path}:{number}: {kind}: {sentence}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("root", nargs="?", type=Path, default=HERE.parent)
    parser.add_argument("--list", nargs="+", metavar="NAME")
    parser.add_argument("--lower", action="store_true")
    parser.add_argument("--total", action="store_true", help="counts by pattern and folder")
    parser.add_argument("--sample", type=int, metavar="N", help="print N random sentences")
    parser.add_argument("--seed", type=int, default=1, help="seed of --sample and --table (default 1)")
    parser.add_argument("--at", metavar="COMMIT", help="the commit that --sample reads (default: the tree)")
    parser.add_argument("--table", metavar="COMMIT", help="print the page that compares a commit with the tree")
    parser.add_argument("--self-test", action="store_true")
    options = parser.parse_args()
    table = Table(HERE / "wording.txt")
    if options.self_test:
        return self_test(table)
    if options.sample or options.table:
        return compare(options)
    found = list(places(options.root, table))
    if options.list:
        for path, number, name, around in found:
            if all(one in (name, folder_of(path), path.as_posix()) for one in options.list):
                print(f"{path}:{number}: {name}: {around}")
        return None
    counts = Counter((folder_of(path), name) for path, _, name, _ in found)
    if options.total:
        for name in table.patterns:
            rows = sorted(((count, folder) for (folder, one), count in counts.items() if one == name), reverse=True)
            print(f"{sum(count for count, _ in rows):6} {name}: " + ", ".join(f"{folder} {count}" for count, folder in rows[:12]))
        return None
    wrong = list(problems(table, counts))
    if options.lower and not wrong:
        table.lower(counts)
    print(*wrong, sep="\n", end="\n" if wrong else "")
    return 1 if wrong else None


if __name__ == "__main__":
    sys.exit(main())

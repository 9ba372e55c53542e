#!/usr/bin/env python3
"""Compares golden outputs and help texts of two commits: only their wording may differ.

    golden_words.py BEFORE AFTER   list files that differ in more than words; exit code 1 if there are any
    golden_words.py --self-test    prove that the check can fail

Files: `tests/golden/`, the tables of options, commands and diagnostics, and the pages that are printed from them.
In each changed block of lines, everything except words is compared: numbers with their units, codes (`error[E0217]`),
`file:line:column`, quoted text, options, names of values (`%3`) and the number of cells in tables. Lines of programs,
commands and source excerpts are compared as they are. In `.def` files, only string literals have words, and comments are ignored.
"""
import difflib
import re
import subprocess
import sys
from collections import Counter

FILES = ["tests/golden", "compiler/api/options.def", "compiler/cli/commands.def", "lang/core/diagnostics.def",
         "lang/core/diagnostics/explanations.def", "compiler/api/OPTIONS.md", "lang/DIAGNOSTICS.md", "lang/OPERATORS.md"]
HARD = re.compile(
    r"(?P<place>[\w./%-]+\.\w+:\d+(?::\d+)?)"
    r"|(?P<code>\b(?:error|warning|note)\[\w+\]|\b[EWN]\d{4}\b)"
    r"|(?P<quoted>`[^`]*`)"
    r"|(?P<value>%\w+)"
    r"|(?P<option>(?<![\w-])--?[a-zA-Z][\w-]*(?:=\S+)?)"
    r"|(?P<type>\b(?:f|i|bf|u)\d+(?:\[[^\]]*\])?)"
    r"|(?P<number>(?<![\w.])[-+]?\d[\d_]*(?:\.\d+)?(?:e[-+]?\d+)?(?:\s?(?:us|ms|s|min|KiB|MiB|GiB|KB|MB|GB|x|%)(?!\w))?)")
# Lines that are code: statements of the language, dumps, source excerpts with their carets, commands, JSON.
LINE = re.compile(
    r"^\s*(?:let|model|fn|rule|use|op|extern|param|input|ruleset|const|plan|load|run|output)\b.*[({=%]"
    r"|^\s*\d+ \| |^\s*%\d+ = |^\s*\w+(?:, \w+)* = \w+\(|=>|^# (?:run|exit|needs|make):|^\s*[\W_]+$"
    r"|^\s*\w+: \w+\[.*\],?$")
CARET = re.compile(r"^\s*\|(?P<before>\s+)(?P<marks>[\^~-]+)")


def git(*arguments):
    return subprocess.run(["git", *arguments], capture_output=True, text=True, check=True, errors="replace").stdout


def tokens(line, table):
    """Returns the tokens of a line that must be equal."""
    if table:  # outside of string literals everything is code
        code = re.sub(r'"(?:\\.|[^"\\])*"', '""', line)
        return [code] + [token for text in re.findall(r'"((?:\\.|[^"\\])*)"', line) for token in tokens(text, False)]
    caret = CARET.match(line)
    marks = [f"marks at {len(caret['before'])}: {caret['marks']}"] if caret else []
    return marks + [match.group().strip() for match in HARD.finditer(line)]


def cells(line):
    return line.count("|") if line.lstrip().startswith("|") else len(re.split(r"\s{2,}", line.strip()))


def difference(old, new, table=False):
    """Returns the differences of two blocks of lines, except words."""
    code = [[line for line in side if not table and LINE.search(line)] for side in (old, new)]
    if code[0] != code[1]:
        return [row for row in difflib.ndiff(*code) if row[0] in "-+"]
    text = [[line for line in side if table or not LINE.search(line)] for side in (old, new)]
    sides = [Counter(token for line in side for token in tokens(line, table)) for side in text]
    found = [f"- {token}" for token in (sides[0] - sides[1])] + [f"+ {token}" for token in (sides[1] - sides[0])]
    if not found and not table and len(old) == len(new):
        found = [f"cells of a table: {a!r}, {b!r}" for a, b in zip(old, new)
                 if min(cells(a), cells(b)) > 1 and cells(a) != cells(b)]
    return found


def rows(text):
    """Returns the rows of a table, each on one line, without comments and with joined string literals."""
    text = re.sub(r'("(?:\\.|[^"\\\n])*")|//[^\n]*', lambda match: match[1] or "", text)
    text = re.sub(r'(?<!\\)"\s+"(?!\s*[,)])', "", text)
    return [" ".join(row.split()) for row in re.split(r"\n(?=TG_|#)", text)]


def compared(before, after, table=False):
    """Yields (line before, differences) for each block that differs in more than words."""
    old, new = (rows(text) if table else text.splitlines() for text in (before, after))
    for kind, i1, i2, j1, j2 in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind != "equal" and (found := difference(old[i1:i2], new[j1:j2], table)):
            yield i1 + 1, found


def changes(before, after):
    """Yields (status, path before, path after) for each changed file."""
    for row in git("diff", "-M", "--name-status", before, after, "--", *FILES).splitlines():
        status, *paths = row.split("\t")
        yield status[0], paths[0], paths[-1]


def report(before, after):
    words, more, others = [], [], []
    for status, old, new in changes(before, after):
        if status in "AD" or not old.endswith((".out", ".tg", ".def", ".md")):
            others.append(f"{status} {new}")
            continue
        blocks = list(compared(git("show", f"{before}:{old}"), git("show", f"{after}:{new}"), new.endswith(".def")))
        (more if blocks else words).append((new, blocks))
    for name, blocks in more:
        for line, found in blocks:
            print(f"{name}: line {line} before differs in more than words:", *(f"    {row}" for row in found), sep="\n")
    print(f"{len(words)} files differ in words alone, {len(more)} in more; added, deleted or not text: {len(others)}")
    print(*(f"    {row}" for row in others), sep="\n" if others else "", end="\n" if others else "")
    return 1 if more else None


def self_test():
    same = [("error[E0217]: cannot apply `conv2d` to f32[1]", "error[E0217]: `conv2d` does not accept f32[1]"),
            ("  --seed N     the seed", "  --seed N     random seed"), ("cost 4.98 us, 3 nodes", "3 nodes that cost 4.98 us"),
            ("a sentence that\nwraps here", "a shorter sentence"), ("  |    ^^^ not this", "  |    ^^^ expected that")]
    other = [("cost 4.98 us", "cost 4.99 us"), ("4 ms", "4 us"), ("error[E0217]: x", "error[E0218]: x"),
             ("m.tg:4:2 x", "m.tg:4:3 x"), ("let x = relu(y)", "let x = tanh(y)"), ("  |    ^^^ a", "  |   ^^^ a"),
             ("of `conv2d`", "of `matmul`"), ("a  b  c", "a  b c"), ("use --json", "use --quiet")]
    wrong = [pair for pair in same if list(compared(*pair))] + [pair for pair in other if not list(compared(*pair))]
    row = 'TG_OPTION(a, "the seed, 3 of them", kSearch)'
    if list(compared(row, row.replace("the seed", "seeds"), True)) or not list(compared(row, row.replace("(a", "(b"), True)):
        wrong.append(row)
    if wrong:
        sys.exit(f"judged wrongly: {wrong}")


if __name__ == "__main__":
    if sys.argv[1:] == ["--self-test"]:
        sys.exit(self_test())
    if len(sys.argv) != 3:
        sys.exit("usage: golden_words.py BEFORE AFTER (commits), or --self-test")
    sys.exit(report(*sys.argv[1:]))

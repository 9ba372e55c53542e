#!/usr/bin/env python3
"""Compares the wording of two states of the tree: `wording.py --sample` and `--table`."""
import difflib
import io
import random
import re
import subprocess
import tarfile
import tempfile
from collections import Counter
from pathlib import Path

from mentions import tracked

CODE = re.compile(r"`[^`]*`")
# Messages: string literals of the product's folders that are not code themselves.
PRODUCT = ("lang", "compiler", "runtime", "python")
NO_MESSAGE = re.compile(r"[;=]|\w\(|^!")


def checked_out(root, commit, folder):
    """The files of a commit in `folder`."""
    archive = subprocess.run(["git", "-C", str(root), "archive", commit], capture_output=True, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        files.extractall(folder, filter="data")
    return Path(folder)


def plain(line, prose):
    """A line as the readers of wording.py see it, so that offsets in a piece give its lines."""
    return CODE.sub("`x`", line.strip().lstrip("-*#|> ")) if prose else line.strip().lstrip("/!<#: ").strip()


def sentences(path, text, read):
    """(first line, last line, kind, sentence) of one file, without those of fewer than four words."""
    lines = text.splitlines()
    for start, kind, piece in read(text):
        if NO_MESSAGE.search(piece) and (kind == "text" or piece.startswith("!")):
            continue
        if kind == "text" and path.parts[0] not in PRODUCT:
            continue
        piece = piece.replace("**", "")
        at, number = 0, start
        for sentence in re.split(r"(?<=[.!?:;])\s+(?=[A-Z`\"])", piece):
            offset, first = piece.index(sentence, at), number
            while kind != "text" and first < len(lines) and at + len(plain(lines[first - 1], kind == "prose")) < offset:
                at += len(plain(lines[first - 1], kind == "prose")) + 1
                first += 1
            if len(re.findall(r"[A-Za-z]{2,}", sentence)) >= 4 and "|" not in sentence:
                yield first, first + len(sentence) // 100, kind, " ".join(sentence.split())
            number = first


def all_sentences(root, reader):
    for path in tracked(root):
        if read := reader(path):
            text = (root / path).read_text(encoding="utf-8", errors="replace")
            for first, last, kind, sentence in sentences(path, text, read):
                yield path, first, last, kind, sentence


def sample(root, reader, count, seed):
    """`count` sentences, of which code, messages and documents are a third each, by a seed."""
    kinds = {}
    for one in all_sentences(root, reader):
        kinds.setdefault(one[3], []).append(one)
    draw = random.Random(seed)
    names = sorted(kinds)
    chosen = [kinds[names[i % len(names)]] for i in range(count)]
    return sorted(draw.choice(of_kind) for of_kind in chosen)


def renamed(root, commit):
    """{old path: new path} of files that were moved since the commit."""
    rows = subprocess.run(["git", "-C", str(root), "diff", "-M40%", "--name-status", "--diff-filter=R", commit],
                          capture_output=True, text=True, check=True).stdout.splitlines()
    return {Path(row.split("\t")[1]): Path(row.split("\t")[2]) for row in rows}


def place_now(old, new, first, last):
    """The lines of `new` that took the place of lines `first` to `last` of `old`."""
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    found = []
    for _, i1, i2, j1, j2 in matcher.get_opcodes():
        if i1 < last and i2 >= first:
            found += [j1 + 1, j2] if i2 - i1 != j2 - j1 else [j1 + max(first - 1 - i1, 0) + 1, j1 + min(last, i2) - i1]
    return (min(found), max(found)) if found else (0, 0)


def sentence_now(before, now, reader, moved, one):
    """The most similar sentence at the same place now, with its path and line; None where the text is gone."""
    path, first, last, kind, sentence = one
    new_path = moved.get(path, path)
    if not (now / new_path).exists():
        return None
    old = (before / path).read_text(encoding="utf-8", errors="replace").splitlines()
    text = (now / new_path).read_text(encoding="utf-8", errors="replace")
    top, bottom = place_now(old, text.splitlines(), first, last)
    near = [(difflib.SequenceMatcher(None, sentence, other).ratio(), -start, other)
            for start, end, other_kind, other in sentences(new_path, text, reader(new_path))
            if other_kind == kind and (other == sentence or start <= bottom + 1 and end >= top - 1)]
    if not near or max(near)[0] < 0.35:
        return None
    _, line, other = max(near)
    return new_path, -line, other


def escaped(text):
    return text.replace("|", "\\|").replace("<", "&lt;")


def folders_now(moved, folder_of):
    """{old folder: the folder that most of its moved files are in now}."""
    moves = Counter((folder_of(old), folder_of(new)) for old, new in moved.items())
    return {old: new for (old, new), _ in reversed(moves.most_common())}


def counts(root, wording, table, moved, root_now):
    """Counts by today's folder and pattern."""
    gone = {old: new for old, new in folders_now(moved, wording.folder_of).items() if not (root_now / old).exists()}

    def folder(path):
        old = wording.folder_of(moved.get(path, path))
        return gone.get(old, old)

    return Counter((folder(path), name) for path, _, name, _ in wording.places(root, table))


def count_table(before, now, names):
    folders = sorted({folder for folder, _ in before + now})
    total = {name: [sum(count for (_, one), count in side.items() if one == name) for side in (before, now)]
             for name in names}
    yield "| folder | " + " | ".join(names) + " |"
    yield "|---" * (len(names) + 1) + "|"
    for folder in folders:
        yield f"| `{folder}` | " + " | ".join(f"{before[folder, name]} → {now[folder, name]}" for name in names) + " |"
    yield "| all | " + " | ".join(f"{total[name][0]} → {total[name][1]}" for name in names) + " |"


def page(root, commit, wording, count, seed):
    """The page of bench/results: counts by folder, and sentences before and now."""
    table = wording.Table(wording.HERE / "wording.txt")
    with tempfile.TemporaryDirectory() as folder:
        before = checked_out(root, commit, folder)
        moved = renamed(root, commit)
        sides = [counts(before, wording, table, moved, root), counts(root, wording, table, {}, root)]
        yield "# Wording: counts of unclear phrases, and sentences before and after"
        yield ""
        yield (f"`python3 tests/wording.py --table {commit}` made this page. It compares {commit} with the tree that contains "
               "the page. Files that were moved are counted in their new folders.")
        yield "`tests/wording.txt` defines the patterns. Each cell has the count before and the count now."
        yield ""
        yield from count_table(*sides, list(table.patterns))
        yield ""
        yield f"## {count} sentences, drawn with seed {seed}"
        yield ""
        yield (f"Drawn from {commit}: comments, messages (string literals) and documents in equal numbers. \"Now\" has the "
               "most similar sentence at the same place.")
        yield ""
        yield "| place | before | now |"
        yield "|---|---|---|"
        for one in sample(before, wording.reader, count, seed):
            found = sentence_now(before, root, wording.reader, moved, one)
            now = "(no similar sentence is at this place)" if found is None else "(unchanged)" if found[2] == one[4] else escaped(found[2])
            where = f"`{one[0]}:{one[1]}`" if found is None else f"`{found[0]}:{found[1]}`"
            yield f"| {where}, {one[3]} | {escaped(one[4])} | {now} |"


def self_test(of_cpp):
    """Checks lines of sentences, and the place of changed lines."""
    text = "int a;\n// The first sentence is here. The second one\n// ends in the next line.\nint b;\n"
    found = [(first, sentence) for first, _, _, sentence in sentences(Path("lang/a.h"), text, of_cpp)]
    if found != [(2, "The first sentence is here."), (2, "The second one ends in the next line.")]:
        raise SystemExit(f"sentences are read wrongly: {found}")
    if place_now(["a", "b", "c"], ["x", "a", "B", "B2", "c"], 2, 2) != (3, 4):
        raise SystemExit("a changed line is not found again")

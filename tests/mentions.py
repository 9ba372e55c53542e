#!/usr/bin/env python3
"""What comments and documents mention exists: files by path or name, links, and functions called `name()`
in comments. A mention that stays behind when its file or function goes is stale.

    mentions.py ROOT

A file is found by its path from the root, from the folder of who mentions it, or by the end of its path
(`cost/cost.h`); names in capitals (`NAME.def`) and models without a folder (`m.tg`) stand for any. A function
is found if its name occurs in any file outside of comments. Not looked at: bench/results, which tells of
programs as they were, and golden tests, whose comments are commands.
"""
import re
import subprocess
import sys
from pathlib import Path

CODE = {".h", ".cpp", ".def", ".cu", ".c", ".y", ".ll"}
SCRIPTS = {".py", ".cmake", ".txt", ".sh"}
PATH = re.compile(r"(?<![\w/.@{}*<$~%-])((?:[\w-]+/)*[\w-]+\.(?:h|cpp|def|py|md|tg|cmake|sh|yy|ll|c))(?![\w/*{(]|\.\w)")
LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)#\s]*[./][^)#\s]*)")
CALL = re.compile(r"`(?:\w+::)*(\w+)\(\)`|(?<![\w.:`\"'])([a-z]\w*_\w+)\(\)")
# Headers of others, and files that are made when Tangram is built or installed.
ELSEWHERE = {"FormatProviders.h", "cublasLt.h", "cuda.h", "cudnn_backend.h", "nvrtc.h", "t-t.py",
             "vit_base.py", "generated/embedded_files.cpp", "tables/options.def", "tangram/tables/options.def",
             "tables/report.def", "tangram/tables/report.def"}


def tracked(root):
    """The files of the repository; of an archive of it, all but builds."""
    if (root / ".git").exists():
        names = subprocess.run(["git", "ls-files"], cwd=root, capture_output=True, text=True, check=True)
        return [Path(name) for name in names.stdout.splitlines() if (root / name).is_file()]
    found = (path.relative_to(root) for path in root.rglob("*") if path.is_file())
    return [path for path in found if not path.parts[0].startswith(("build", "dist", "."))]


def mentions(path, text):
    """(line number, text that may mention something)."""
    for number, line in enumerate(text.splitlines(), 1):
        if path.suffix == ".md":
            yield number, line
        elif path.suffix in CODE:
            if "//" in line and not line.lstrip().startswith("#include"):
                yield number, line[line.index("//") + 2:]
        elif match := re.match(r"\s*#(?!!)(.*)$", line):
            yield number, match[1]


def code_words(root, files):
    words = set()
    for path in files:
        if path.suffix in CODE | SCRIPTS | {".tg"} or path.name == "dev":
            for line in (root / path).read_text(encoding="utf-8", errors="replace").splitlines():
                code = line.split("//")[0] if path.suffix in CODE else line
                words.update(re.findall(r"\w+", code))
    return words


def problems(root):
    files = tracked(root)
    names = {path.as_posix() for path in files}
    ends = {"/".join(path.parts[-k:]) for path in files for k in range(1, len(path.parts) + 1)}
    words = code_words(root, files)
    for path in files:
        if path.parts[:2] in (("bench", "results"), ("tests", "golden")) or path.suffix not in CODE | SCRIPTS | {".md", ".tg"}:
            continue
        text = (root / path).read_text(encoding="utf-8", errors="replace")
        for number, line in mentions(path, text):
            for name in PATH.findall(line):
                if re.search(r"\b[A-Z]+[._]|^_", name) or name in ELSEWHERE or re.fullmatch(r"[^/]*\.tg", name):
                    continue
                if name not in ends and (path.parent / name).as_posix() not in names:
                    yield f"{path}:{number}: no file {name}"
            for link in LINK.findall(line) if path.suffix == ".md" else ():
                if not (root / path.parent / link).exists():
                    yield f"{path}:{number}: the link {link} leads nowhere"
            for quoted, bare in CALL.findall(line) if path.suffix != ".md" else ():
                if (quoted or bare) not in words:
                    yield f"{path}:{number}: no function {quoted or bare}()"


if __name__ == "__main__":
    found = list(problems(Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()))
    print("\n".join(found) or "mentions: every file and function that is mentioned exists")
    sys.exit(bool(found))

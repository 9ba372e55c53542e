#!/usr/bin/env python3
"""Checks that files, links and functions (`name()`) that comments and documents mention exist.

    mentions.py ROOT

A file is found by its path from the root, by its path from the folder of the mentioning file, or by the end of its path
(`cost/cost.h`). Names in capitals (`NAME.def`) and models without a folder (`m.tg`) are placeholders and not checked. A
function is found if its name occurs outside of comments in any file. bench/results is not checked, because it describes
earlier versions, nor are golden tests, whose comments are commands.
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
# Third-party headers, and files that the build or the installation creates.
ELSEWHERE = {"FormatProviders.h", "cublasLt.h", "cuda.h", "cudnn_backend.h", "nvrtc.h", "t-t.py",
             "vit_base.py", "generated/embedded_files.cpp", "tables/options.def", "tangram/tables/options.def",
             "tables/report.def", "tangram/tables/report.def"}


def tracked(root):
    """Returns the files of the repository, or of an unpacked archive without build folders."""
    if (root / ".git").exists():
        names = subprocess.run(["git", "ls-files"], cwd=root, capture_output=True, text=True, check=True)
        return [Path(name) for name in names.stdout.splitlines() if (root / name).is_file()]
    found = (path.relative_to(root) for path in root.rglob("*") if path.is_file())
    return [path for path in found if not path.parts[0].startswith(("build", "dist", "."))]


def mentions(path, text):
    """Yields (line number, text in which mentions are searched)."""
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

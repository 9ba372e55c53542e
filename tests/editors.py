#!/usr/bin/env python3
"""Checks the editor files in lang/editors/: their keywords, types, constants, operators and functions are exactly those
of the scanner, the operator table and the builtins, and the TextMate grammar gives each word its scope.

    editors.py              check
    editors.py --update     write the word lists into the files
    editors.py --self-test  prove that the check can fail
"""
import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TEXTMATE = ROOT / "lang/editors/tangram.tmLanguage.json"
VIM = ROOT / "lang/editors/tangram.vim"


def words_of_language():
    """Returns {group: words} from the files that define the language."""
    def read(name):
        return (ROOT / name).read_text(encoding="utf-8")

    spelled = re.findall(r'^"([^"]+)"\s+\{ yyextra->token\(T::', read("lang/syntax/lexer.l"), re.M)
    words = {w for w in spelled if w.isalpha()}
    resolve, op = read("lang/check/resolve.cpp"), read("lang/core/op.cpp")
    table = read("lang/syntax/builtins.cpp")
    members = {name: set(re.findall(r'"(\w+)"', body)) for name, body in
               re.findall(r"StringRef k(Acts|Pads|DTypes)\[\] = \{([^}]*)\}", op)}
    rows = re.findall(r'^TG_(?:OP|POINTWISE)\(\w+,\s*"(\w+)",(.*)$', read("lang/core/ops.def"), re.M)
    # Programs do not call leaves, nor `extern`, which represents operators of other libraries.
    operators = {name for name, rest in rows if "Trait::Leaf" not in rest} - {"extern"}
    builtins = set(re.findall(r'^\s*\{"(\w+)", Builtin::', table, re.M))
    kinds = set(re.findall(r'\.Cases?\("(\w+)"(?:, "\w+")*, Base::', resolve))
    return {
        "keyword": words - {"true", "false"},
        "constant": {"true", "false"} | members["Acts"] - operators | members["Pads"] - operators,
        "type": members["DTypes"] | (kinds - {"bool"}) | {"list"},
        "function": (operators | builtins) - (kinds - {"bool"}), # int and float have the scope of types
        # Brackets, commas and colons are punctuation and have no scope.
        "operator": {w for w in spelled if not w.isalpha()} - set("()[]{},:"),
    }


def longest_first(words):
    return sorted(words, key=lambda w: (-len(w), w))


def textmate_pattern(group, words):
    if group == "operator":
        return "|".join(re.escape(w) for w in longest_first(words))
    tail = r"(?=\s*\()" if group == "function" else ""
    return r"\b(?:" + "|".join(sorted(words)) + r")\b" + tail


def vim_lines(group, words):
    name = "tangram" + group.capitalize()
    if group == "operator":
        escaped = "\\|".join(re.sub(r"([/.*~\[\]^$\\])", r"\\\1", w) for w in longest_first(words))
        return [f"syntax match {name} /{escaped}/"]
    lines, line = [], f"syntax keyword {name}"
    for word in sorted(words):
        if len(line) + len(word) > 98:
            lines.append(line)
            line = f"syntax keyword {name}"
        line += " " + word
    return lines + [line]


def vim_text(text, language):
    """Returns the file with the expected lines for each group."""
    for group, words in language.items():
        name = "tangram" + group.capitalize()
        lines = re.compile(rf"(^syntax (keyword|match) {name} .*\n)+", re.M)
        wanted = "\n".join(vim_lines(group, words)) + "\n"
        if not lines.search(text):
            raise SystemExit(f"editors: {VIM.name} has no lines for {name}")
        text = lines.sub(lambda _, w=wanted: w, text, count=1)
    return text


def textmate_text(text, language):
    grammar = json.loads(text)
    for group, words in language.items():
        grammar["repository"][group]["match"] = textmate_pattern(group, words)
    return json.dumps(grammar, indent=2, ensure_ascii=False) + "\n"


def scopes(grammar, line):
    """Returns [(text, scope)] of a line like an editor: the leftmost match, and the first rule on a tie.
    Supports only the features of this grammar: `match`, and `begin`/`end` within a line."""
    rules = [grammar["repository"][p["include"][1:]] for p in grammar["patterns"]]
    found, at = [], 0
    while at < len(line):
        hits = [(m.start(), i, m) for i, rule in enumerate(rules)
                if (m := re.compile(rule.get("match") or rule["begin"]).search(line, at))]
        if not hits:
            break
        _, i, match = min(hits, key=lambda h: h[:2])
        end = match.end()
        if "end" in rules[i]:
            body = re.compile(r"(?:\\.|[^\\" + '"' + r"])*" + rules[i]["end"]).match(line, end)
            end = body.end() if body else len(line)
        found.append((line[match.start():end], rules[i]["name"]))
        at = max(end, at + 1)
    return found


EXAMPLES = [
    ("## Docs", [("## Docs", "comment.line.documentation.tangram")]),
    ('x = 1.5e-3 # "no string"', [("=", "keyword.operator.tangram"),
                                  ("1.5e-3", "constant.numeric.tangram"),
                                  ('# "no string"', "comment.line.number-sign.tangram")]),
    (r'weight("a\"b")', [(r'"a\"b"', "string.quoted.double.tangram")]),
    ("relu_two", []),
    ("0..12", [("0", "constant.numeric.tangram"), ("..", "keyword.operator.tangram"),
               ("12", "constant.numeric.tangram")]),
    ("S: int in 1.. = 8", [("int", "storage.type.tangram"), ("in", "keyword.control.tangram"),
                           ("1", "constant.numeric.tangram"), ("..", "keyword.operator.tangram"),
                           ("=", "keyword.operator.tangram"), ("8", "constant.numeric.tangram")]),
]
SCOPES = {"keyword": ("keyword.control.tangram", "{}"), "type": ("storage.type.tangram", "{}"),
          "constant": ("constant.language.tangram", "{}"),
          "function": ("support.function.tangram", "{}("),
          "operator": ("keyword.operator.tangram", "{}")}


def problems(textmate, vim, language):
    found = []
    if textmate != textmate_text(textmate, language):
        found.append(f"{TEXTMATE.name} does not hold the words of the language (--update writes them)")
    if vim != vim_text(vim, language):
        found.append(f"{VIM.name} does not hold the words of the language (--update writes them)")
    grammar = json.loads(textmate)
    for line, wanted in EXAMPLES:
        if (got := scopes(grammar, line)) != wanted:
            found.append(f"`{line}` reads as {got}, not {wanted}")
    for group, (scope, form) in SCOPES.items():
        for word in language[group]:
            if (word, scope) not in scopes(grammar, form.format(word)):
                found.append(f"`{word}` does not have the scope {scope}: {scopes(grammar, form.format(word))}")
    return found


def self_test(textmate, vim, language):
    more = {**language, "keyword": language["keyword"] | {"lambda"}}
    if len(problems(textmate, vim, more)) < 3:
        return ["a keyword that neither file knows was not missed"]
    if not problems(textmate.replace("[0-9]+", "[1-9]+"), vim, language):
        return ["a wrong pattern of numbers was not noticed"]
    return []


def main():
    language = words_of_language()
    textmate, vim = TEXTMATE.read_text(encoding="utf-8"), VIM.read_text(encoding="utf-8")
    if "--update" in sys.argv:
        TEXTMATE.write_text(textmate_text(textmate, language), encoding="utf-8")
        VIM.write_text(vim_text(vim, language), encoding="utf-8")
        return 0
    found = (self_test if "--self-test" in sys.argv else problems)(textmate, vim, language)
    for problem in found:
        print(f"editors: {problem}")
    if not found:
        print("editors: " + ", ".join(f"{len(w)} {g}s" for g, w in language.items()))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

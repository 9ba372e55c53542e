#!/usr/bin/env python3
"""Checks sizes of the product's C++ code: functions have at most 60 lines, and 99 % of them at most 40. Classes have
at most 40 member functions, except the e-graph. Folders have at most 30 source files. Split a larger class by its
responsibilities, and a larger folder into subfolders by purpose.

    sizes.py [ROOT]        check a tree
    sizes.py --list ROOT   print the largest classes and functions, and the lines of each folder
    sizes.py --self-test   prove that the check can fail

Files are read token by token, without a compiler. A function has a parameter list and a body, in a namespace or a
class. A member function is declared in a class, and neither defaulted nor deleted. Lines are counted from the first
line of the declaration to the closing brace. A function below a `NOLINT...(readability-function-size)` comment, which gives
the reason (such as a flat switch), is exempt.
"""
import re
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("lang", "compiler", "runtime", "python")
LONGEST, MOST, MEMBERS = 60, 40, 40  # lines; lines of 99 functions in 100; functions of a class
FILES = 30  # source files of a folder, without its subfolders
SUFFIXES = (".h", ".cpp", ".def", ".inc", ".l", ".y")
LARGE = {"EGraph"}  # the e-graph itself: its parts share all indices
EXEMPT = re.compile(r"NOLINT\w*\([^)]*readability-function-size")
TOKEN = re.compile(r"""
    (?P<skip>\s+|//[^\n]*|/\*.*?\*/|^[ \t]*\#(?:\\\n|[^\n])*)
  | (?P<raw>(?:u8|[uUL])?R"(?P<delimiter>[^(\s]*)\(.*?\)(?P=delimiter)")
  | (?P<text>(?:u8|[uUL])?"(?:\\.|[^"\\\n])*"|(?:u8|[uUL])?'(?:\\.|[^'\\\n])*')
  | (?P<number>\.?\d(?:[eEpP][+-]|'?[\w.])*)
  | (?P<word>[A-Za-z_]\w*)
  | (?P<sign>::|->|\[\[|\]\]|.)
""", re.VERBOSE | re.DOTALL | re.MULTILINE)
CLASSES = {"class", "struct", "union"}
NO_FUNCTION = {"using", "typedef", "friend", "static_assert", "extern"}


class Token:
    def __init__(self, kind, text, line):
        self.kind, self.text, self.line = kind, text, line


def tokens_of(text):
    line, found = 1, []
    for match in TOKEN.finditer(text):
        if match.lastgroup != "skip":
            kind = "raw" if match.group("raw") else match.lastgroup
            found.append(Token(kind, match.group(), line))
        line += match.group().count("\n")
    return found


class Head:
    """Parses the tokens of a declaration up to its `;` or `{`."""

    def __init__(self, tokens):
        self.tokens = tokens
        self.parameters = None  # index of the `(` that opens them
        self.words = []         # outside of all brackets, before the parameters
        self.initialises = False
        round_, angle = 0, 0
        for i, token in enumerate(tokens):
            before = tokens[i - 1] if i else None
            if token.text in ("(", "[", "[["):
                if token.text == "(" and round_ == angle == 0 and self.parameters is None:
                    self.parameters = self._opens(i)
                round_ += 1
            elif token.text in (")", "]", "]]"):
                round_ -= 1
            elif round_:
                continue
            elif token.text == "<" and before and before.kind == "word" \
                    and before.text != "operator":
                angle += 1
            elif token.text == ">" and angle:
                angle -= 1
            elif angle:
                continue
            elif token.text == "=" and before.text != "operator" and self.parameters is None:
                if not (before.text in "=!<>" and i > 1 and tokens[i - 2].text == "operator"):
                    self.initialises = True  # a value follows
                    break
            elif token.text == ":" and self.parameters is not None:
                self.initialises = True  # member initialisers of a constructor follow
                break
            elif token.kind == "word" and self.parameters is None:
                self.words.append(token.text)

    def _opens(self, i):
        before = self.tokens[i - 1] if i else None
        if before is None or before.text in ("decltype", "alignas", "__attribute__", "noexcept"):
            return None
        operator = any(t.text == "operator" for t in self.tokens[max(0, i - 4):i])
        after = self.tokens[i + 1].text if i + 1 < len(self.tokens) else ""
        if operator:  # operator()(...)
            return None if before.text == "operator" else i
        return i if before.kind == "word" and after not in ("*", "&") else None

    def scope(self):
        """Returns the kind of scope that a following `{` opens."""
        if "namespace" in self.words or (self.words[:1] == ["extern"] and self.parameters is None):
            return "namespace"
        if "enum" in self.words:
            return "other"
        if self.parameters is not None:
            return "function"
        return "class" if CLASSES & set(self.words) else "other"

    def class_name(self):
        at = next(i for i, t in enumerate(self.tokens) if t.text in CLASSES and t.kind == "word"
                  and not self._in_angles(i))
        names, depth = [], 0
        for token in self.tokens[at + 1:]:
            if token.text == ":" or (token.text == "<" and depth == 0 and names):
                break
            depth += token.text in ("(", "[[")
            depth -= token.text in (")", "]]")
            if token.kind == "word" and depth == 0 and token.text not in ("final", "alignas"):
                names.append(token.text)
        return "::".join(names) or "(unnamed)"

    def _in_angles(self, at):
        depth = 0
        for token in self.tokens[:at]:
            depth += token.text == "<"
            depth -= token.text == ">"
        return depth > 0

    def function_name(self):
        name = self.tokens[:self.parameters]
        at = next((i for i, t in enumerate(name) if t.text == "operator"), None)
        if at is not None:
            return "".join(t.text for t in name[at:])
        words, depth = [], 0
        for token in reversed(name):
            depth += (token.text == ">") - (token.text == "<")
            if depth or token.text == "<":
                continue
            if not (token.kind == "word" or token.text in ("::", "~")) or \
                    words and token.kind == "word" and words[-1] not in ("::", "~"):
                break
            words.append(token.text)
        return "".join(reversed(words))

    def declares_member(self):
        if self.parameters is None or not self.words or self.words[0] in NO_FUNCTION:
            return False
        tail = [t.text for t in self.tokens[-2:]]
        return tail not in (["=", "default"], ["=", "delete"]) and "friend" not in self.words

    def opens_initialiser(self):
        """Returns true if a following `{` initialises a member or a variable."""
        last = self.tokens[-1] if self.tokens else None
        if last is None:
            return False
        if self.parameters is None:
            return not ({"namespace", "enum", "extern"} | CLASSES) & set(self.words)
        return self.initialises and (last.kind == "word" or last.text == ">") \
            and last.text not in ("const", "noexcept", "override", "try")


class Sizes:
    def __init__(self):
        self.functions = []  # (lines, name, place)
        self.classes = {}    # (name, place) -> member functions
        self.folders = {}    # folder -> source files

    def read(self, name, text):
        exempt = {n + 1 for n, line in enumerate(text.split("\n")) if EXEMPT.search(line)}
        tokens = tokens_of(text)
        scopes, head, round_, i = [("namespace", None)], [], 0, 0
        while i < len(tokens):
            token = tokens[i]
            round_ += token.text in ("(", "[") and token.kind == "sign"
            round_ -= token.text in (")", "]") and token.kind == "sign"
            sign = token.text if token.kind == "sign" and round_ == 0 else ""
            if token.kind == "sign" and token.text == "{" and (round_ or self._skips(head)):
                end = closing(tokens, i)  # a value: continue after it
                head.append(tokens[end])
                i = end + 1
                continue
            if sign == ";":
                self._declared(scopes, Head(head))
                head = []
            elif sign == "{":
                read = Head(head)
                kind = read.scope()
                place = f"{name}:{head[0].line if head else token.line}"
                if kind == "class":
                    key = ("::".join([s[1][0] for s in scopes if s[1]] + [read.class_name()]), place)
                    self.classes[key] = 0
                    scopes.append((kind, key))
                elif kind == "namespace":
                    scopes.append((kind, None))
                else:
                    end = closing(tokens, i)
                    if kind == "function":
                        self._declared(scopes, read)
                        first, last = head[0].line, tokens[end].line
                        if not exempt & {first - 1, first, *range(first, token.line + 1)}:
                            self.functions.append((last - first + 1, read.function_name(), place))
                    i = end
                head = []
            elif sign == "}":
                if len(scopes) > 1:
                    scopes.pop()
                head = []
            elif sign == ":" and len(head) == 1 and head[0].text in ("public", "private",
                                                                      "protected"):
                head = []
            else:
                head.append(token)
            i += 1
        return self

    @staticmethod
    def _skips(head):
        return Head(head).opens_initialiser()

    def _declared(self, scopes, head):
        kind, key = scopes[-1]
        if kind == "class" and head.declares_member():
            self.classes[key] += 1


def closing(tokens, at):
    """Returns the index of the brace that closes the one at `at`."""
    depth = 0
    for i in range(at, len(tokens)):
        if tokens[i].kind == "sign":
            depth += tokens[i].text == "{"
            depth -= tokens[i].text == "}"
        if depth == 0:
            return i
    return len(tokens) - 1


def sources(root):
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in (".h", ".cpp"):
                yield path


def count_files(names):
    """Returns the number of source files of each folder, given the names of all files."""
    return Counter(name.rpartition("/")[0] for name in names if name.endswith(SUFFIXES))


def measure(root):
    sizes = Sizes()
    sizes.folders = count_files(path.relative_to(root).as_posix() for folder in FOLDERS
                                for path in (root / folder).rglob("*"))
    for path in sources(root):
        sizes.read(path.relative_to(root).as_posix(), path.read_text(encoding="utf-8"))
    return sizes


def percentile(lengths, part):
    ordered = sorted(lengths)
    return ordered[min(len(ordered) - 1, int(len(ordered) * part))] if ordered else 0


def faults(sizes):
    for lines, name, place in sorted(sizes.functions, reverse=True):
        if lines > LONGEST:
            yield f"{place}: `{name}` has {lines} lines, more than {LONGEST}"
    if (most := percentile([f[0] for f in sizes.functions], 0.99)) > MOST:
        yield f"one function in a hundred has {most} lines or more; {MOST} are the limit"
    for (name, place), count in sizes.classes.items():
        if count > MEMBERS and name not in LARGE:
            yield f"{place}: `{name}` has {count} member functions, more than {MEMBERS}"
    for folder, count in sizes.folders.items():
        if count > FILES:
            yield f"{folder}: {count} source files, more than {FILES}"


def listing(root):
    sizes = measure(root)
    for (name, place), count in sorted(sizes.classes.items(), key=lambda c: -c[1])[:40]:
        print(f"{count:5} functions  {name}  ({place})")
    for lines, name, place in sorted(sizes.functions, reverse=True)[:25]:
        print(f"{lines:5} lines      {name}  ({place})")
    lengths = [f[0] for f in sizes.functions]
    print(f"{len(lengths)} functions, median {percentile(lengths, 0.5)}, 90 % "
          f"{percentile(lengths, 0.9)}, 99 % {percentile(lengths, 0.99)}, longest {max(lengths)}")
    for folder, count in sizes.folders.most_common(10):
        print(f"{count:6} files in {folder}")
    for folder in FOLDERS:
        lines = sum(p.read_text(encoding="utf-8").count("\n") for p in sources(root)
                    if folder in p.relative_to(root).parts[:1])
        print(f"{lines:6} lines in {folder}")


SAMPLE = r"""
#define BRACE { \
  (
namespace tg { namespace {
enum class E : uint8_t { A, B };
struct Plain { int a{3}; std::function<bool(int)> f; void (*g)(int); std::vector<int> v = {1, 2}; };
template <class T> class Three final : public Base<T> {
public:
  Three() : a_{1}, b_(2) { f(); }
  Three(const Three&) = delete;
  bool operator()(int a, std::vector<int> b = {}) const { return a < '{'; }
  void declared(std::function<void(int)> f) const;
  using Call = void (*)(int);
private:
  friend bool operator==(const Three&, const Three&);
  struct Inner { int one() const { return 1; } };
  std::map<int, std::pair<int, int>> a_;
};
const char* const text = R"({ void not_a_function() {)";
static std::optional<std::vector<int>> free_one(int a) noexcept {
  // a comment with a brace {
  auto f = [&] { if (a) { return 1; } return 2; };
  return {f()};
}
} }
int tg::Three<int>::declared(std::function<void(int)> f) const {
  return 1;
}
"""


def self_test():
    sizes = Sizes().read("sample.h", SAMPLE)
    classes = {name: count for (name, _), count in sizes.classes.items()}
    assert classes == {"Plain": 0, "Three": 3, "Three::Inner": 1}, classes
    lengths = {name: lines for lines, name, _ in sizes.functions}
    assert lengths == {"Three": 1, "operator()": 1, "one": 1, "free_one": 5,
                       "tg::Three::declared": 3}, lengths
    assert not list(faults(sizes))

    many = "class Big {\n" + "".join(f"  void f{i}();\n" for i in range(MEMBERS + 1)) + "};\n"
    found = list(faults(Sizes().read("big.h", many)))
    assert found == ["big.h:1: `Big` has 41 member functions, more than 40"], found
    assert not list(faults(Sizes().read("big.h", many.replace("Big", "EGraph"))))

    def body(name, lines):
        return f"void {name}() {{\n" + "  f();\n" * (lines - 2) + "}\n"
    found = list(faults(Sizes().read("long.cpp", body("g", LONGEST + 1) + body("h", 3))))
    assert found[0] == "long.cpp:1: `g` has 61 lines, more than 60", found
    excused = "// NOLINTNEXTLINE(readability-function-size): a flat switch\n" + body("g", 99)
    assert not list(faults(Sizes().read("long.cpp", excused)))
    most = body("g", MOST + 1) * 2 + body("h", 3) * 98
    found = list(faults(Sizes().read("many.cpp", most)))
    assert found == ["one function in a hundred has 41 lines or more; 40 are the limit"], found
    assert not list(faults(Sizes().read("many.cpp", most + body("h", 3) * 101)))

    full = Sizes()
    full.folders = count_files([f"a/b/{i}.cpp" for i in range(FILES)] + ["a/b/c/d.h", "a/b/e.md"])
    assert full.folders == {"a/b": FILES, "a/b/c": 1}, full.folders
    assert not list(faults(full))
    full.folders["a/b"] += 1
    found = list(faults(full))
    assert found == [f"a/b: {FILES + 1} source files, more than {FILES}"], found
    print("sizes: the check finds every planted fault")


def main():
    args = sys.argv[1:]
    if args == ["--self-test"]:
        return self_test()
    if args[:1] == ["--list"] and len(args) == 2:
        return listing(Path(args[1]).resolve())
    if len(args) > 1 or args and args[0].startswith("-"):
        sys.exit(__doc__)
    sizes = measure(Path(args[0]).resolve() if args else ROOT)
    found = list(faults(sizes))
    print("\n".join(found) or
          f"sizes: {len(sizes.functions)} functions, {len(sizes.classes)} classes, "
          f"{len(sizes.folders)} folders")
    return 1 if found or not sizes.functions else 0


if __name__ == "__main__":
    sys.exit(main())

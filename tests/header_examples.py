#!/usr/bin/env python3
"""Compiles the examples in headers as tests, like rustdoc: writes one C++ file with a test for each example.

    header_examples.py ROOT OUT    write the tests of all examples to OUT
    header_examples.py ROOT        check that the headers of `EXAMPLES` have an example
    header_examples.py --self-test prove that the check can fail

An example is the first indented block after a comment line that begins with `Example:`, in a header of `lang`,
`compiler` or `runtime`. Its lines are statements of one function. A trailing comment with a comparison is a claim:

    int a = 1 + 1;   // a == 2, and the text after a comma or colon explains it
    a * 3;           // == 6: without a left side, the statement itself is compared
    dump(plan);      // prints
    //               a comment block that follows `prints` is the text

Names that an example uses and does not declare come from the includes and the setup in `EXAMPLES`.
"""
import re
import sys
import tempfile
from pathlib import Path

SEARCH_SETUP = ("Graph graph = test::layers(2); std::vector<Rule> rules = test::rules_of(test::kSumRules); "
                "test::UnitCost costs;")
TILE_SETUP = ("if (!processor_has(Isa::Avx2)) GTEST_SKIP() << \"tiles need AVX2\"; constexpr bool kAtEnd = false; "
              "Guarded xs(128 * 768, kAtEnd), ws(768 * 768, kAtEnd), ys(128 * 768, kAtEnd), more(1 << 20, kAtEnd); "
              "std::fill(xs.begin(), xs.end(), 1.0F), std::fill(ws.begin(), ws.end(), 1.0F); "
              "float *x = xs.data, *w = ws.data, *panel = w, *y = ys.data, *scratch = more.data;")
# Headers that must have an example, with the further includes and the first statements of its test.
EXAMPLES = {
    "compiler/egraph/egraph.h": ([], ""),
    "compiler/extract/extractors.h": ([], ""),
    "compiler/ir/graph.h": ([], ""),
    "compiler/rules/rule.h": (["tests/unit/verify/rule_from_text.h"], ""),
    "compiler/search/mcts/mcts.h": (["tests/unit/search/search_fixture.h"], SEARCH_SETUP),
    "compiler/search/portfolio/portfolio.h": (["tests/unit/search/search_fixture.h"], SEARCH_SETUP),
    "compiler/verify/proof/proof.h": (["tests/unit/verify/rule_from_text.h"], 'if (!can_prove()) GTEST_SKIP() << "built without Z3";'),
    "runtime/cpu/tile/product.h": (["tests/unit/tile/guarded.h"], TILE_SETUP),
    "runtime/cpu/tile/register_tile.h": (["tests/unit/tile/guarded.h"], TILE_SETUP),
    "runtime/plan.h": (["compiler/emit/plan_from_graph.h"], ""),
    "runtime/tune/plan_session.h": (["tests/unit/tune/synthetic_plan.h"], ""),
}
CLAIM = re.compile(r"^(?P<code>.*?;)\s*//\s*(?P<left>.*?)\s*(?P<sign>==|!=|<=|<)\s*(?P<right>.+)$")
MACRO = {"==": "EXPECT_EQ", "!=": "EXPECT_NE", "<=": "EXPECT_LE", "<": "EXPECT_LT"}


def examples(text):
    """(line number, lines) of each example: its block without the comment marks and their indentation."""
    lines = text.splitlines()
    for start, line in enumerate(lines):
        if not re.match(r"\s*///? Example:", line):
            continue
        block = []
        for number in range(start + 1, len(lines)):
            match = re.match(r"\s*///?(.*)$", lines[number])
            if not match or (block and match[1].strip() and not match[1].startswith("   ")):
                break
            if block or match[1].startswith("   "):
                block.append((number + 1, match[1].strip()))
        yield start + 1, block


def explained(text):
    """The expression before its explanation: text up to a comma or colon outside of brackets and strings."""
    depth, quoted = 0, False
    for at, sign in enumerate(text):
        quoted ^= sign == '"' and text[at - 1:at] != "\\"
        depth += not quoted and (sign in "([{") - (sign in ")]}")
        if not quoted and not depth and re.match(r"[,:]\s", text[at:]):
            return text[:at]
    return text


def statements(block):
    """The lines of a test, each with its line number in the header; claims become expectations."""
    remaining = list(block)
    while remaining:
        number, line = remaining.pop(0)
        claim = CLAIM.match(line)
        if re.search(r";\s*//\s*prints$", line):
            printed = []
            while remaining and remaining[0][1].startswith("//"):
                printed.append(remaining.pop(0)[1][2:].strip())
            yield number, f'EXPECT_EQ({line[:line.index(";")]}, {quoted_text(printed)});'
        elif claim and claim["left"]:
            yield number, f'{claim["code"]} {MACRO[claim["sign"]]}({claim["left"]}, {explained(claim["right"])});'
        elif claim:
            yield number, f'{MACRO[claim["sign"]]}({claim["code"][:-1]}, {explained(claim["right"])});'
        else:
            yield number, line


def quoted_text(lines):
    return " ".join('"' + line.replace("\\", "\\\\").replace('"', '\\"') + '\\n"' for line in lines)


def headers(root):
    return sorted(path.relative_to(root).as_posix() for folder in ("lang", "compiler", "runtime")
                  for path in (root / folder).rglob("*.h"))


def problems(root):
    for name in EXAMPLES:
        found = list(examples((root / name).read_text(encoding="utf-8"))) if (root / name).exists() else []
        if not any(block for _, block in found):
            yield f"{name}: expected `// Example:` and an indented block of C++ in the comment at its head"
    for name in headers(root):
        for number, block in examples((root / name).read_text(encoding="utf-8")):
            if not block:
                yield f"{name}:{number}: expected an indented block of C++ after `Example:`"


def generated(root):
    """One test for each example. #line directives let errors and failures name the line of the header."""
    found = {name: list(examples((root / name).read_text(encoding="utf-8"))) for name in headers(root)}
    found = {name: blocks for name, blocks in found.items() if blocks}
    includes = sorted({one for name in found for one in (name, *EXAMPLES.get(name, ([], ""))[0])})
    yield "// Made by tests/header_examples.py from the examples in headers."
    yield from (f'#include "{name}"' for name in includes)
    yield "#include <gtest/gtest.h>"
    for name, blocks in found.items():
        space = re.search(r"^namespace ([\w:]+) \{", (root / name).read_text(encoding="utf-8"), re.MULTILINE)[1]
        for start, block in blocks:
            test = re.sub(r"\W", "_", name.removesuffix(".h"))
            yield f"namespace {space} {{\nTEST(HeaderExamples, {test}_{start}) {{\n{EXAMPLES.get(name, ([], ''))[1]}"
            for number, line in statements(block):
                yield f'#line {number} "{root / name}"\n{line}'
            yield "}\n} // namespace " + space


def self_test():
    lines = list(statements([(1, "int a = 1; // a == 1, so"), (2, 'f("x, y"); // == g(1, 2): as shown'),
                             (3, "f(); // prints"), (4, '// a "b"'), (5, "g(); // plain")]))
    expected = ["int a = 1; EXPECT_EQ(a, 1);", 'EXPECT_EQ(f("x, y"), g(1, 2));', 'EXPECT_EQ(f(), "a \\"b\\"\\n");',
                "g(); // plain"]
    if [line for _, line in lines] != expected:
        sys.exit(f"expected {expected}, found {lines}")
    with tempfile.TemporaryDirectory() as folder:
        for name in EXAMPLES:
            path = Path(folder) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("// Example:\n//\n//   int a = 1; // a == 1\n", encoding="utf-8")
        if list(problems(Path(folder))):
            sys.exit("complete headers are refused")
        path.write_text("// The idea, without an example.\n", encoding="utf-8")
        if not list(problems(Path(folder))):
            sys.exit("a header without its example passes")


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    root = Path(sys.argv[1]).resolve()
    wrong = list(problems(root))
    if not wrong and len(sys.argv) > 2:
        Path(sys.argv[2]).write_text("\n".join(generated(root)) + "\n", encoding="utf-8")
    print(*wrong, sep="\n", end="\n" if wrong else "")
    return 1 if wrong else None


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Tests the lower bound that `tg opt` prints as `every graph here costs at least`. Random rules rewrite chains of
operators, and this test enumerates all reachable graphs. None costs less than the bound, and in most cases the cheapest
one costs exactly the bound.

    bound_test.py TG [CASES]
"""
import itertools
import random
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

#: letter -> step of a chain, applied to `{0}`, a square matrix.
STEPS = {"r": "relu({0})", "t": "tanh({0})", "a": "abs({0})", "e": "exp({0})", "p": "({0} + 1.0)", "d": "({0} * 2.0)", "s": "sqrt({0})",
         "w": "({0} @ w)", "v": "({0} @ v)"}
WEIGHTS = {"w", "v"}  # rules take them as variables
SEARCHES = (["--search", "saturate"], ["--search", "mcts"])
UNITS = {"us": 1.0, "ms": 1e3, "s": 1e6}
MOST_WORDS = 3000
CASES = 24


def expression(word, start="x"):
    """Returns the expression of a chain; the innermost step is first in `word`."""
    for letter in word:
        start = STEPS[letter].format(start)
    return start


def model(words):
    used = sorted(WEIGHTS & set("".join(words)))
    params = "".join(f"  param {name}: f32[64, 64]\n" for name in used)
    types = ", ".join(f"y{i}: f32[64, 64]" for i in range(len(words)))
    results = ", ".join(map(expression, words))
    return f"model m(x: f32[64, 64]) -> ({types}) {{\n{params}  {f'({results})' if len(words) > 1 else results}\n}}\n"


def rule(number, left, right):
    names = ", ".join(["x", *sorted(WEIGHTS & set(left))])
    return f"rule r{number}({names}) exact {{ {expression(left)} => {expression(right)} }}\n"


def products(word):
    return [letter for letter in word if letter in WEIGHTS]


def drawn(seed):
    """Draws the words of a model, and rules that do not lengthen a chain. Both sides of a rule have the same products,
    because both sides must have the same type."""
    rng = random.Random(seed)
    letters = rng.sample(sorted(STEPS), rng.randint(3, 5))
    word = lambda low, high: "".join(rng.choice(letters) for _ in range(rng.randint(low, high)))  # noqa: E731
    rules = set()
    for _ in range(rng.randint(2, 6)):
        left = word(1, 3)
        right = word(1, len(left))
        if right != left and products(left) == products(right):
            rules.add((left, right))
    return [word(2, 6) for _ in range(rng.randint(1, 2))], sorted(rules)


def reachable(word, rules):
    """Returns all chains that rewriting can reach, or None if there are more than MOST_WORDS."""
    seen, waiting = {word}, [word]
    while waiting:
        one = waiting.pop()
        for left, right in rules:
            for at in range(len(one) - len(left) + 1):
                if one.startswith(left, at):
                    made = one[:at] + right + one[at + len(left):]
                    if made not in seen:
                        seen.add(made)
                        waiting.append(made)
        if len(seen) > MOST_WORDS:
            return None
    return seen


def cost(words, prices):
    """Returns the cost of the chains of a model, which all begin at x; a shared prefix counts once."""
    return sum(prices[chain[-1]] for chain in {word[:end + 1] for word in words for end in range(len(word))})


class Case:
    def __init__(self, tg, folder):
        self.tg, self.folder = tg, Path(folder)
        self.prices = {letter: self.cost_of(letter) for letter in STEPS}

    def run(self, name, text, *options):
        path = self.folder / f"{name}.tg"
        path.write_text(text)
        command = [self.tg, "opt", path, "--cost", "analytic:cpu", "--trust-rules", *options]
        done = subprocess.run([str(one) for one in command], capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, f"{name}: {done.stderr}\n{text}"
        return done.stdout

    def cost_of(self, letter):
        found = self.run(f"price_{ord(letter)}", model([letter]), "--rules", "relu_relu", "--json")
        return float(re.search(r'"cost_before_us": ([0-9.e+-]+)', found).group(1))

    def check(self, seed):
        """Returns (number of bounds printed, number of bounds equal to the cheapest cost) for the case of a seed."""
        words, rules = drawn(seed)
        sets = [reachable(word, rules) for word in words]
        if not rules or None in sets or len(sets) == 2 and len(sets[0]) * len(sets[1]) > 10 * MOST_WORDS:
            return 0, 0
        least = min(cost(chosen, self.prices) for chosen in itertools.product(*sets))
        text = "".join(rule(i, *one) for i, one in enumerate(rules))
        (self.folder / f"rules_{seed}.tg").write_text(text)
        printed = met = 0
        for options in SEARCHES:
            said = self.run(f"case_{seed}", model(words), "--rules", self.folder / f"rules_{seed}.tg", *options)
            bound = re.search(r"every graph here costs at least ([0-9.]+) (us|ms|s)\b", said)
            if not bound:
                continue
            bound = float(bound.group(1)) * UNITS[bound.group(2)]
            half = 0.006 * bound  # half of the last of three printed digits
            assert least >= bound - half, f"seed {seed}, {options}: {least} us is less than the bound of {bound} us\n{text}{model(words)}{said}"
            printed, met = printed + 1, met + (least <= bound + half)
        return printed, met


def main():
    count = int(sys.argv[2]) if len(sys.argv) > 2 else CASES
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(2) as pool:
        case = Case(Path(sys.argv[1]).resolve(), folder)
        found = list(pool.map(case.check, range(count)))
    printed, met = (sum(one[at] for one in found) for at in range(2))
    print(f"{count} cases, {printed} bounds, {met} of them met")
    assert printed > count // 2, "hardly any bound was printed"
    assert met > 0.8 * printed, "hardly any bound is the cheapest graph's cost"


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Checks that commands agree with the table of options. Each option is parsed by its commands, listed by --help or
--help-all, completed by bash, zsh and fish, and described on the man page. Invalid values are rejected. --help fits on
one screen.

    options_test.py TG_OR_TG_PAPER
"""
import json
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

TG = NAME = ""
ROWS = {}
SHELLS = ("bash", "zsh", "fish")
SCREEN_LINES, SCREEN_COLUMNS = 30, 80


def tg(*arguments):
    done = subprocess.run([TG, *arguments], capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
    return done.returncode, done.stdout, done.stderr


def printed(*arguments):
    code, out, err = tg(*arguments)
    assert code == 0, err
    return out


def options_of(command):
    return [row for row in ROWS["options"] if command in row["commands"]]


def each_option():
    for command in ROWS["commands"]:
        for row in options_of(command["name"]):
            yield command, row


class Table(unittest.TestCase):
    def test_rows_are_well_formed(self):
        for command in ROWS["commands"]:
            flags = [row["name"] for row in options_of(command["name"])]
            self.assertEqual(len(flags), len(set(flags)), f"{command['name']} has an option twice")
        strategies = next(row["words"] for row in ROWS["options"] if row["name"] == "--search")
        for row in ROWS["options"]:
            with self.subTest(option=row["name"], commands=row["commands"]):
                self.assertTrue(row["commands"])
                self.assertLessEqual(set(row["basic"]), set(row["commands"]))
                self.assertLessEqual(set(row["strategies"]), set(strategies))
                self.assertTrue(0 < len(row["help"]) <= 54, "help is one line")
                self.assertEqual(row["kind"] == "flag", row["value"] == "")
                if row["kind"] == "word" and row["default"]:
                    self.assertIn(row["default"], row["words"])
                if "low" in row:
                    self.assertLess(row["low"], row["high"])

    def test_help_is_one_screen_and_help_all_is_all(self):
        for command in ROWS["commands"]:
            name = command["name"]
            short, full = printed(*name.split(), "--help"), printed(*name.split(), "--help-all")
            with self.subTest(command=name):
                self.assertLessEqual(short.count("\n"), SCREEN_LINES)
                self.assertLessEqual(max(map(len, short.splitlines())), SCREEN_COLUMNS)
                self.assertIn(command["summary"].replace("`tg ", f"`{NAME} "), short)
                self.assertEqual("--help-all" in short, any(name not in r["basic"] for r in options_of(name)))
                for row in options_of(name):
                    line = re.compile(rf"^  {row['name']}\b", re.M)
                    self.assertEqual(bool(line.search(short)), name in row["basic"], row["name"])
                    self.assertRegex(full, line)
        everything = printed("--help")
        self.assertLessEqual(everything.count("\n"), SCREEN_LINES + (NAME != "tg"))
        for command in ROWS["commands"]:
            self.assertRegex(everything, rf"(?m)^  {command['name']}  ")


class Parser(unittest.TestCase):
    """Options are checked before operands, which are missing files here."""

    def refused(self, command, *words):
        operands = ["nowhere.tg"] * command["least"]
        code, out, err = tg(*command["name"].split(), *operands, *words)
        self.assertEqual((code, out), (2, ""), f"{command['name']} {words}: {err}")
        return err

    def test_values_that_are_none(self):
        for row in ROWS["options"]:
            command = next(c for c in ROWS["commands"] if c["name"] == row["commands"][-1])
            flag = row["name"]
            with self.subTest(command=command["name"], option=flag):
                if row["kind"] == "flag":
                    if flag.startswith("--"):
                        self.assertIn(f"`{flag}` does not take a value", self.refused(command, f"{flag}=yes"))
                    continue
                self.assertIn(f"`{flag}` requires a value", self.refused(command, flag))
                self.assertIn(f"`{flag}` requires a value", self.refused(command, flag, "--json"))
                bad = []
                if "low" in row:
                    bad = [str(int(row["low"]) - 1), "many", "nan", str(int(row["high"] * 2 + 1))]
                elif row["kind"] in ("word", "words") and row["words"]:
                    bad = ["nonsense"]
                elif row["kind"] == "seed":
                    bad = ["-1", "1.5", str(2 ** 64)]
                elif row["kind"] == "pairs":
                    bad = ["N", "=3"] + (["N="] if "," not in row["value"] else [])  # lists may be empty
                for value in bad:
                    self.assertRegex(self.refused(command, f"{flag}={value}"), rf"`{flag}` requires .*`{re.escape(value)}`")
                if row["kind"] not in ("words", "pairs"):
                    good = row["words"][0] if row["words"] else str(int(row.get("high", 3)))
                    self.assertIn(f"`{flag}` is given twice", self.refused(command, flag, good, flag, good))

    def test_options_of_other_commands(self):
        for command in ROWS["commands"]:
            own = {row["name"] for row in options_of(command["name"])}
            foreign = sorted({row["name"] for row in ROWS["options"]} - own)
            for flag in foreign[::7]:  # a sample, because each takes a process
                with self.subTest(command=command["name"], option=flag):
                    self.assertIn(f"does not take `{flag}`", self.refused(command, flag))

    def test_options_of_another_strategy_are_refused(self):
        strategies = next(row["words"] for row in ROWS["options"] if row["name"] == "--search")
        opt = next(command for command in ROWS["commands"] if command["name"] == "opt")
        for row in options_of("opt"):
            given = [row["name"]]
            if row["kind"] != "flag":
                given.append(row["words"][0] if row["words"] else str(int(row.get("high", 1))))
            for strategy in strategies if row["strategies"] else []:
                with self.subTest(option=row["name"], strategy=strategy):
                    if strategy in row["strategies"]:
                        code, _, err = tg("opt", "nowhere.tg", "--search", strategy, *given)
                        self.assertEqual(code, 1, err)  # no such file
                    else:
                        self.assertIn(f"`{row['name']}` requires `--search ",
                                      self.refused(opt, "--search", strategy, *given))


class Completion(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scripts = {shell: printed("help", "--completion", shell) for shell in SHELLS}

    def section(self, shell, name):
        """Returns the part of a script for one command."""
        text = self.scripts[shell]
        if shell == "bash":
            return re.search(rf"(?m)^    '{name}(?: '\*\)|'\)).*$", text)[0]
        if shell == "zsh":
            return re.search(rf"(?ms)^    '{name}'\)$.*?;;$", text)[0]
        return "\n".join(line for line in text.splitlines() if f"__{NAME}_is \\'{name}\\'" in line)

    def test_every_option_of_every_command(self):
        for command, row in each_option():
            for shell in SHELLS:
                flag = row["name"].lstrip("-") if shell == "fish" else row["name"]
                with self.subTest(shell=shell, command=command["name"], option=row["name"]):
                    before = {"bash": "[' ]", "zsh": "'[*]?", "fish": "-[ls] "}[shell]
                    self.assertRegex(self.section(shell, command["name"]), rf"{before}{re.escape(flag)}(?![\w-])")

    def test_scripts_are_scripts(self):
        for shell, script in self.scripts.items():
            if not shutil.which(shell):
                continue
            done = subprocess.run([shell, "-n"], input=script, capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stderr), (0, ""), shell)

    def complete(self, *words):
        """Returns the completions of bash after these words, of which the last is incomplete."""
        script = self.scripts["bash"] + "\nCOMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); known=\n" \
                                        "known=$(compgen -v | sort); " + f"_{NAME} 2>/dev/null\n" \
                                        "printf '%s\\n' \"${COMPREPLY[@]}\"\n" \
                                        "comm -13 <(echo \"$known\") <(compgen -v | sort) >&2\n"
        with tempfile.TemporaryDirectory() as folder:
            for name in ("model.tg", "graph.json", "notes.txt"):
                Path(folder, name).touch()
            Path(folder, "models").mkdir()
            done = subprocess.run(["bash", "-c", script, "bash", *words], cwd=folder, capture_output=True, text=True,
                                  check=True)
        self.assertEqual(set(done.stderr.split()) - {"_", "PIPESTATUS"}, set(), "variables left in the user's shell")
        return [word for word in done.stdout.splitlines() if word]

    def test_bash_completes(self):
        names = {command["name"].split()[0] for command in ROWS["commands"]}
        self.assertEqual(set(self.complete(NAME, "")), names | {"--help", "--version"})
        self.assertEqual(self.complete(NAME, "expl"), ["explain"])
        self.assertEqual(self.complete(NAME, "rules", ""), ["list", "verify", "--help"])
        self.assertEqual(self.complete(NAME, "rules", "v"), ["verify"])
        self.assertEqual(self.complete(NAME, "opt", "--time"), ["--time-limit"])
        self.assertEqual(self.complete(NAME, "rules", "verify", "--pr"), ["--proof"])
        self.assertEqual(self.complete(NAME, "opt", "--search", "ta"), ["taso"])
        self.assertEqual(self.complete(NAME, "opt", "--search", "=", "ta"), ["taso"])
        self.assertEqual(self.complete(NAME, "extract", "--ilp-cycles", "=", ""), ["none", "real", "int"])
        self.assertEqual(self.complete(NAME, "opt", "--without", "tree,fi"), ["tree,firing"])
        self.assertEqual(self.complete(NAME, "opt", "--time-limit", ""), [])
        self.assertEqual(self.complete(NAME, "opt", "mod"), ["models", "model.tg"])
        self.assertEqual(self.complete(NAME, "opt", "-o", "no"), ["notes.txt"])
        self.assertEqual(self.complete(NAME, "extract", "gra"), ["graph.json"])


class Manual(unittest.TestCase):
    def test_every_option_and_command(self):
        page = printed("help", "--man")
        for command in ROWS["commands"]:
            self.assertRegex(page, rf"(?m)^\.B {NAME} {command['name']}\b")
        for row in ROWS["options"]:
            self.assertIn("\n.B " + f"{row['name']} {row['value']}".strip().replace("-", "\\-") + "\n", page)

    def test_it_is_well_formed(self):
        page = printed("help", "--man")
        self.assertRegex(page, r"\A\.\\\".*\n\.TH " + NAME.upper() + " 1 ")
        known = {"TH", "SH", "SS", "TP", "B", "I", "RI", "br", '\\"'}
        for line in page.splitlines():
            if line.startswith((".", "'")):
                self.assertIn(line[1:].split(" ")[0], known, line)
            self.assertTrue(line, "no empty lines in a page")
        if shutil.which("groff"):
            done = subprocess.run(["groff", "-man", "-Tascii", "-ww"], input=page, capture_output=True, text=True,
                                  check=False)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertIn("EXIT STATUS", re.sub(r".\x08|\x1b\[\d*m", "", done.stdout))
        if shutil.which("mandoc"):
            done = subprocess.run(["mandoc", "-T", "lint", "-W", "error"], input=page, capture_output=True, text=True,
                                  check=False)
            self.assertEqual(done.returncode, 0, done.stdout)


if __name__ == "__main__":
    TG = str(Path(sys.argv.pop(1)).resolve())
    NAME = Path(TG).name
    ROWS = json.loads(printed("options", "--json"))
    unittest.main()

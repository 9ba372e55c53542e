#!/usr/bin/env python3
"""Tests that `tg-paper table` resumes: stored cells are not computed again, missing cells are, cells of other settings
are kept, and cells that a limit left out are counted. A run computes expensive cells last and prints its plan.

    paper_test.py TG_PAPER
"""
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent  # the table reads examples/ below it
sys.path.insert(0, str(ROOT / "bench"))
import search_tables  # found in the folder above
TG = ""
NETWORKS = ["resnet50", "vgg19"]


def bench(file, *options):
    command = [TG, "table", *NETWORKS, "--approach", "tensat,greedy+ilp", "--seeds", "2",
               "--rules", "taso", "--threads", "1", "--output", str(file), "--json", *options]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.returncode, json.loads(done.stdout or "{}"), done.stderr


def names(cells):
    return sorted((c["model"], c["approach"], c["seed"]) for c in cells)


# TENSAT is deterministic, so that it has one run with any number of seeds.
ALL = sorted((n, a, s) for n in NETWORKS for a, s in
             [("tensat", 1), ("greedy+ilp", 1), ("greedy+ilp", 2)])


class Resume(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="tg-paper-")
        self.file = Path(self.folder.name, "cells.json")
        self.addCleanup(self.folder.cleanup)

    def fill(self, *options):
        code, result, errors = bench(self.file, *options)
        self.assertEqual(code, 0, errors)
        return result

    def setting(self, *options):
        return self.fill("--total-limit", "0", *options)["setting"]

    def test_cells_are_computed_once(self):
        first = self.fill()
        self.assertEqual(first["cells_computed"], len(ALL))
        self.assertEqual(first["cells_left"], 0)
        self.assertEqual(names(first["cells"]), ALL)
        second = self.fill()
        self.assertEqual(second["cells_computed"], 0)
        self.assertEqual(second["cells"], first["cells"])

    def test_a_missing_cell_alone_is_computed(self):
        first = self.fill()
        kept = json.loads(self.file.read_text())
        gone = kept[first["setting"]].pop(2)
        self.file.write_text(json.dumps(kept))
        second = self.fill()
        self.assertEqual(second["cells_computed"], 1)
        self.assertEqual(names(second["cells"]), ALL)
        again = [c for c in second["cells"] if names([c]) == names([gone])]
        self.assertEqual(again[0]["cost_us"], gone["cost_us"], "the same seed, the same result")

    def refused(self, *options):
        """Returns the error about the file of cells, and checks that the file is not changed."""
        before = self.file.read_bytes() if self.file.is_file() else None
        command = [TG, "table", "vgg19", "--approach", "tensat", "--rules", "taso", "--threads", "1",
                   "--output", str(self.file), *options]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stdout), (1, ""), done.stderr)
        self.assertIn(str(self.file), done.stderr)
        if before is not None:
            self.assertEqual(self.file.read_bytes(), before)
        return done.stderr

    def test_damaged_cells_are_refused(self):
        first = self.fill()
        for field, values in {
                "model": ["", "alexnet", 1], "approach": ["best", None], "seed": [1.5, "1"],
                "source_us": [0, -1, "1"], "cost_us": [0, -2.5, None, []], "seconds": [-1, "1"],
                "processor_s": [-1], "memory_mb": [None], "nodes": [-1], "stopped_by": [1],
                "limit_s": [-1, "600"], "capped": [0, "no"]}.items():
            damaged = [{**first["cells"][1], field: value} for value in values]
            lacking = {name: value for name, value in first["cells"][1].items() if name != field}
            for cell in [*damaged, lacking]:
                self.file.write_text(json.dumps({first["setting"]: [first["cells"][0], cell]}))
                with self.subTest(cell=cell):
                    self.assertRegex(self.refused(), rf"E0510.*: cell 2 under `program .*`: `{field}` must be ")
        for cells, why in ((3, "does not contain an array"), ([3], "cell 1 under .* it is not an object"),
                           (first["cells"][:1] * 2, "cell 2 under .* an earlier cell also has resnet50 by tensat with seed 1")):
            self.file.write_text(json.dumps({first["setting"]: cells}))
            self.assertRegex(self.refused(), "E0510.*" + why)

    def test_unreadable_files_are_refused(self):
        self.file.mkdir()
        self.assertRegex(self.refused(), "E050[12].*irectory")
        self.file.rmdir()
        self.file.symlink_to(self.file)  # unreadable, even for root
        self.assertIn("E0501", self.refused())

    def test_networks_without_prices_make_no_cells(self):
        table = Path(self.folder.name, "prices.json")
        subprocess.run([TG, "opt", "examples/paper/resnet50.tg", "--search", "none", "--cost", "analytic:a100",
                        "--save-costs", str(table), "--quiet"], cwd=ROOT, check=True)
        costs = json.loads(table.read_text())
        for prices in ({}, dict.fromkeys(costs["microseconds"], 0)):
            table.write_text(json.dumps({**costs, "microseconds": prices}))
            code, _, errors = bench(self.file, "--cost", f"file:{table}")
            self.assertEqual(code, 3)
            self.assertIn("E0601", errors)
            self.assertFalse(self.file.exists())

    def test_another_program_or_setting_is_apart(self):
        first = self.fill()
        self.assertRegex(first["setting"], r"^program [0-9.]+ [0-9a-f]+; cost analytic:a100; rules taso; ")
        kept = json.loads(self.file.read_text())
        kept = {"program 0.0.0 0; " + first["setting"].split("; ", 1)[1]: kept[first["setting"]]}
        self.file.write_text(json.dumps(kept))
        self.assertEqual(self.fill()["cells_computed"], len(ALL))
        self.assertEqual(self.fill("--cost", "analytic:t4")["cells_computed"], len(ALL))
        self.assertEqual(len(json.loads(self.file.read_text())), 3)

    def test_files_and_limits_that_decide_are_part_of_the_setting(self):
        plain = self.setting()
        table, rules, used = (Path(self.folder.name, name) for name in ("prices.txt", "mine.tg", "used.tg"))
        rule = "rule {name}(x) reassociates {{ neg({op}(x)) => {op}(neg(x)) }}\n"
        settings = [plain, self.setting("--memory-limit", "2000"), self.setting("--search-threads", "2")]
        for text in ("relu 1\n", "relu 2\n"):
            table.write_text(text)
            settings.append(self.setting("--cost", f"file:{table}"))
        for own, theirs in (("tanh", "relu"), ("sigmoid", "relu"), ("tanh", "sigmoid")):
            used.write_text(rule.format(name="used", op=theirs))
            rules.write_text("use ./used\n" + rule.format(name="mine", op=own))
            settings.append(self.setting("--rules", str(rules)))
        for database in ("a.db", "b.db"):
            settings.append(self.setting("--cost", "measured:cpu", "--cost-db", database))
        self.assertEqual(len(set(settings)), len(settings), settings)
        # The same text as in stored files. Settings with default values are not part of it.
        self.assertRegex(plain, r"; nodes 2000; budget 128; depth 10; numerics reassociate$")
        self.assertEqual(self.setting("--search-threads", "1", "--cost-db", "a.db"), plain)
        for setting in settings:
            parts = search_tables.parts_of(setting)
            if parts["cost"] in ("analytic:a100", "measured:cpu"):
                self.assertEqual(search_tables.matches(setting, parts["cost"], "taso"),
                                 parts["rules"] == "taso" and "memory_limit" not in parts)

    def test_limits_leave_and_mark_cells(self):
        none = self.fill("--total-limit", "0")
        self.assertEqual((none["cells_computed"], none["cells_left"]), (0, len(ALL)))
        capped = self.fill("--time-limit", "0")
        self.assertTrue(all(c["capped"] for c in capped["cells"]))
        self.assertEqual({c["limit_s"] for c in capped["cells"]}, {0})
        anew = self.fill()
        self.assertEqual((anew["setting"], anew["cells_computed"]), (capped["setting"], len(ALL)))
        self.assertEqual(names(anew["cells"]), ALL, "in place of the capped")
        self.assertFalse(any(c["capped"] for c in anew["cells"]))

    def test_cells_that_no_limit_ended_are_valid_under_any_limit(self):
        first = self.fill()
        self.assertEqual(self.fill("--time-limit", "0")["cells"], first["cells"])
        self.assertEqual(self.fill("--time-limit", "9000")["cells_computed"], 0)

    def test_the_dear_cells_come_last_and_have_a_limit_of_their_own(self):
        approaches = ("--approach", "ilp+ilp,greedy+greedy,tensat", "--ilp-limit", "0")
        result = self.fill(*approaches)
        by_ilp = [c["approach"] == "ilp+ilp" for c in result["cells"]]
        self.assertEqual(by_ilp, sorted(by_ilp), "all others first")
        self.assertEqual([c["capped"] for c in result["cells"]], by_ilp)
        seeds = [c["seed"] for c in result["cells"] if c["approach"] != "ilp+ilp"]
        self.assertEqual(seeds, sorted(seeds), "seed after seed")
        # With more time, only capped cells are computed again.
        self.assertEqual(self.fill(*approaches[:2])["cells_computed"], sum(by_ilp))

    def test_seeds_begin_with_the_one_that_is_given(self):
        first = self.fill("--seed", "77")
        self.assertEqual(names(first["cells"]), sorted((n, a, s) for n in NETWORKS for a, s in [
            ("tensat", 1), ("greedy+ilp", 77), ("greedy+ilp", 78)]))
        # The cells of seed 77 and of deterministic approaches are stored.
        self.assertEqual(self.fill("--seed", "76")["cells_computed"], len(NETWORKS))

    def test_the_plan_is_printed(self):
        command = [TG, "table", "vgg19", "--approach", "tensat,ilp+ilp", "--seeds", "2", "--rules",
                   "taso", "--total-limit", "0", "--output", str(self.file)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        self.assertEqual(done.stderr, "3 cells to compute, 0 known: 2 with rewards from integer programs, at most "
                         "40 s each, 1 others, at most 600 s each; at most 0 s in this run\n")
        self.assertIn("3 cells are left; the same command computes them\n", done.stdout)

    def test_every_cell_has_its_processor_time(self):
        result = self.fill()
        self.assertTrue(all(c["processor_s"] > 0 for c in result["cells"]))
        self.assertGreaterEqual(result["processor_s"], sum(c["processor_s"] for c in result["cells"]))

    def test_savings_match_the_published_ones(self):
        """Savings are relative to the original time, as in the published column."""
        for cell in self.fill()["cells"]:
            self.assertAlmostEqual(cell["saved_pct"], 100 * (1 - cell["cost_us"] / cell["source_us"]))
        command = [TG, "table", "vgg19", "--approach", "tensat", "--rules", "taso", "--threads", "1",
                   "--seeds", "2", "--output", str(self.file)]
        table = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
        self.assertEqual(table[0].count(" saved %"), 2)
        row = next(line for line in table if line.startswith("vgg19") and "TENSAT" in line)
        means = [float(mean) for mean in re.findall(r"(-?[\d.]+) ± ", row)]
        original, optimised, saved, _, _, their_original, their_optimised, their_saved, _ = means
        self.assertAlmostEqual(saved, 100 * (1 - optimised / original), delta=1)
        self.assertAlmostEqual(their_saved, 100 * (1 - their_optimised / their_original), delta=1)

    def test_elsewhere_it_says_where_to_start(self):
        command = [TG, "table", "vgg19", "--approach", "tensat"]
        done = subprocess.run(command, cwd=self.folder.name, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("E0501", done.stderr)
        self.assertIn("run `tg-paper table` in the root of the repository", done.stderr)
        self.assertEqual(list(Path(self.folder.name).iterdir()), [])

    def test_unknown_names_are_refused(self):
        self.assertEqual(bench(self.file, "--approach", "nothing")[0], 2)


class OperatorTuner(unittest.TestCase):
    """`./dev bench -- paper eto`, bench/paper/eto.py."""

    def test_its_cells_are_computed_once(self):
        with tempfile.TemporaryDirectory(prefix="tg-eto-") as folder:
            program = Path(folder, "tg-paper")
            program.write_text(f'#!/bin/sh\ntest -e {folder}/broken && exit 1\nexec {TG} "$@"\n', encoding="utf-8")
            program.chmod(0o755)
            def table(*more):
                command = [sys.executable, str(ROOT / "bench/paper/eto.py"), "--output", f"{folder}/cells.json",
                           "--trials", "2", "--tg", str(program), "--only", "GRP,BMM", "--kinds", "full,eto", *more]
                done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
                self.assertEqual(done.returncode, 0, done.stderr)
                return done.stdout, done.stderr.splitlines()
            stopped, said = table("--total-limit", "0")
            self.assertIn("continues from here", said[-1])
            self.assertEqual(len(said), 1)
            first, said = table()
            self.assertEqual(len(said), 4)
            Path(folder, "broken").touch()  # another call of the program would fail
            again, said = table()
            self.assertEqual((again, said), (first, []))
            self.assertEqual(table("--print")[0], first)
            rows = {line.split("|")[1].strip(): line for line in first.splitlines() if line.startswith("| ")}
            for type_name in ("C1D", "C2D", "C3D", "BMM", "GRP", "DEP", "T2D", "CAP", "WIN", "FRB"):
                self.assertIn(type_name, rows)
            self.assertIn("110.2, 6.9, 51.9", rows["GRP"])
            self.assertTrue("not supported" in rows["GRP"] or re.search(r"\| \d+ / \d+ \|", rows["GRP"]), rows["GRP"])

    def test_ctrl_c_ends_it(self):
        """The running cell is not stored, and its temporary database is deleted."""
        signal.signal(signal.SIGINT, signal.default_int_handler)  # the shell may have set it to ignored
        with tempfile.TemporaryDirectory(prefix="tg-eto-") as folder:
            command = [sys.executable, str(ROOT / "bench/paper/eto.py"), "--output", f"{folder}/cells.json", "--tg", TG,
                       "--only", "GRP", "--kinds", "full"]
            running = subprocess.Popen(command, cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                       env={**os.environ, "TMPDIR": folder})
            while running.poll() is None and not list(Path(folder).glob("*/costs.db")):
                time.sleep(0.01)
            running.send_signal(signal.SIGINT)
            _, errors = running.communicate(timeout=300)
            self.assertEqual(running.returncode, -signal.SIGINT, errors)
            self.assertEqual(errors, "interrupted; finished cells are kept, and the same command continues\n")
            self.assertEqual(list(Path(folder).iterdir()), [])


if __name__ == "__main__":
    TG = str(Path(sys.argv.pop(1)).resolve())
    unittest.main()

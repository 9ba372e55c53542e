"""Searches: options, reports, progress, judges, Ctrl-C."""
import json
import os
import random
import re
import signal
import tempfile
import threading
import time
import unittest

import tangram
from models import PRODUCTS, TWICE, TWINS

ANALYTIC = {"cost": "analytic:cpu", "threads": 1}


class Options(unittest.TestCase):
    def test_the_result_is_a_pair(self):
        fast, report = tangram.parse(TWICE).optimize(**ANALYTIC)
        self.assertEqual((fast.op_count, report.nodes_before, report.nodes_after), (1, 2, 1))
        self.assertGreaterEqual(report.speedup, 1)
        self.assertEqual(report.json["model"], "twice")

    def test_names_types_and_words_are_checked(self):
        model = tangram.parse(TWICE)
        for options, kind, text in (
                ({"time_limt": 3}, TypeError, "unknown option `time_limt`"),
                ({"time_limit": "long"}, TypeError, "time_limit must be a number"),
                ({"numerics": "loose"}, ValueError, "exact|reassociate"),
                ({"cost": "cheap"}, ValueError, "cost must be calibrated"),
                ({"alpha": 0.5}, tangram.Error, "from 1 to"),
                ({"rules": ["no_such_rule"]}, tangram.Error, "no_such_rule")):
            with self.subTest(options), self.assertRaisesRegex(kind, text.replace("|", r"\|")):
                model.optimize(**options)

    def test_rules_of_a_text_and_of_a_file(self):
        rule = "rule gone(x) { relu(relu(x)) => relu(x) }"
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "mine.tg")
            with open(path, "w", encoding="utf-8") as file:
                file.write(rule)
            for rules in (rule, [path]):
                report = tangram.parse(TWICE).optimize(rules=rules, **ANALYTIC).report
                self.assertEqual(report.nodes_after, 1)

    def test_a_wrong_rule_is_refused_with_a_counterexample(self):
        with self.assertRaises(tangram.Error) as caught:
            tangram.parse(TWICE).optimize(rules="rule wrong(x) { relu(x) => x }", **ANALYTIC)
        self.assertEqual(caught.exception.code, "E0306")

    def test_verified_and_explained(self):
        report = tangram.parse(TWICE).optimize(verify=True, explain=True, **ANALYTIC).report
        self.assertEqual(report.verified, "equal")
        self.assertEqual([step.rule for step in report.steps], ["relu_relu"])
        self.assertIn("relu", report.steps[0].before)


class Reports(unittest.TestCase):
    def test_pages(self):
        model = tangram.parse(TWINS)
        plain = model.optimize(**ANALYTIC)
        traced = model.optimize(trace=True, **ANALYTIC)
        self.assertIn("<svg", plain._repr_html_())
        self.assertIn("changed", plain.report.html())
        self.assertIn("srcdoc", traced._repr_html_())
        self.assertIn("twins", traced.report.html())
        profiled = plain.report.html(profile=True)
        self.assertIn("matmul", profiled)
        self.assertIn(" us", profiled)


class Progress(unittest.TestCase):
    def test_a_function_is_called(self):
        seen = []
        tangram.parse(TWINS).optimize(progress=seen.append, **ANALYTIC)
        self.assertTrue(seen)
        self.assertGreater(seen[-1].source_us, 0)

    def test_exceptions_are_passed_on(self):
        def fail(_):
            raise RuntimeError("not today")

        with self.assertRaisesRegex(RuntimeError, "not today"):
            tangram.parse(TWINS).optimize(progress=fail, **ANALYTIC)


class Judges(unittest.TestCase):
    """A fake runtime: each test determines the time of an operator."""

    def judged(self, seconds):
        def judge(model):
            return lambda: seconds(model)
        return tangram.parse(PRODUCTS).optimize(judge=judge, **ANALYTIC)

    def test_a_faster_graph_is_returned(self):
        fast, report = self.judged(lambda model: 1e-3 * (model.text.count("@") + 1))
        self.assertLess(fast.text.count("@"), 2)
        self.assertFalse(report.source_returned)
        self.assertLess(report.median_after_us, report.median_before_us)

    def test_the_report_has_the_fields_of_its_json(self):
        _, report = self.judged(lambda model: 1e-3 * (model.text.count("@") + 1))
        for name, told in report.json.items():
            if name not in ("priors", "bounds"):
                self.assertEqual(getattr(report, name), told, name)
        for bound, told in zip(report.bounds, report.json.get("bounds", []), strict=True):
            self.assertEqual({name: getattr(bound, name) for name in told}, told)

    def test_times_have_the_ratio_that_is_shown_beside_them(self):
        """On a machine that is slowed down now and then, each time by another factor."""
        chance = random.Random(3).random
        for _ in range(5):
            _, report = self.judged(
                lambda model: 1e-3 * (model.text.count("@") + 1) * (1 + 4 * (chance() < 0.5) * chance()))
            before, after = (float(part.split()[0]) for part in dict(report.lines())["whole runs"].split(" → "))
            if report.changed:
                self.assertAlmostEqual(before / after, report.speedup, delta=0.01)
                self.assertIn(f"{report.speedup:.2f}x", dict(report.lines())["speedup"])

    def test_a_slower_graph_is_not_returned(self):
        fast, report = self.judged(lambda model: 1e-3 / (model.text.count("@") + 1))
        self.assertEqual(fast.text.count("@"), 2)
        self.assertTrue(report.source_returned)

    def test_the_report_its_text_and_its_page_agree(self):
        """For a graph that is cheaper and faster, cheaper and slower, or refused, and for no graph."""
        def refuse_all_but_the_source(model):
            return None if model.text.count("@") < 2 else lambda: 1e-3
        ends = {"changed": (PRODUCTS, lambda model: lambda: 1e-3 * (model.text.count("@") + 1)),
                "slower": (PRODUCTS, lambda model: lambda: 1e-3 / (model.text.count("@") + 1)),
                "refused": (PRODUCTS, refuse_all_but_the_source),
                "unchanged": ("model m(x: f32[4]) { relu(x) }", lambda model: lambda: 1e-3)}
        for end, (text, judge) in ends.items():
            with self.subTest(end):
                source = tangram.parse(text)
                fast, report = source.optimize(judge=judge, trace=True, explain=True, **ANALYTIC)
                page = report.html()
                trace = json.loads(re.search(r'id="trace">(.*?)</script>', page, re.S).group(1))
                changed, returned = end == "changed", end in ("slower", "refused")
                for told in (report.json, trace["report"]):
                    self.assertEqual((told["changed"], told["source_returned"]), (changed, returned))
                self.assertEqual((report.changed, report.source_returned), (changed, returned))
                self.assertEqual(fast.text != source.text, changed)
                self.assertEqual("the source is returned" in dict(report.lines())["speedup"], returned)
                if not changed:
                    self.assertEqual((report.speedup, report.cost_after_us), (1, report.cost_before_us))
                    self.assertEqual((report.rules_applied, report.steps, trace["steps"]), ({}, [], []))

    def test_an_equally_fast_graph_is_not_returned(self):
        self.assertTrue(self.judged(lambda model: 1e-3).report.source_returned)

    def test_a_graph_that_is_refused(self):
        def judge(model):
            return None if model.text.count("@") < 2 else lambda: 1e-3
        report = tangram.parse(PRODUCTS).optimize(judge=judge, **ANALYTIC).report
        self.assertTrue(report.source_returned)
        self.assertIn("rejected", " ".join(report.notes))

    def test_exceptions_are_passed_on(self):
        def judge(model):
            raise KeyError("lost")
        with self.assertRaises(KeyError):
            tangram.parse(PRODUCTS).optimize(judge=judge, **ANALYTIC)


class CtrlC(unittest.TestCase):
    def setUp(self):
        signal.signal(signal.SIGINT, signal.default_int_handler)  # the process that started the tests may ignore it

    def test_the_best_so_far_is_the_result(self):
        model, asked = tangram.parse(TWINS), []

        def interrupt_once(_):
            if not asked:
                asked.append(True)
                os.kill(os.getpid(), signal.SIGINT)

        start = time.monotonic()
        fast, report = model.optimize(progress=interrupt_once, time_limit=600, node_limit=1_000_000,
                                      budget=1_000_000, **ANALYTIC)
        self.assertLess(time.monotonic() - start, 60)
        self.assertTrue(asked)
        self.assertTrue(fast.verify(model))
        self.assertLessEqual(report.cost_after_us, report.cost_before_us)

    def test_afterwards_it_is_an_exception_again(self):
        tangram.parse(TWICE).optimize(**ANALYTIC)
        with self.assertRaises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(5)

    def test_a_recipe_serves_other_sizes(self):
        text = "model m(x: f32[N, 8], N: int = 5) { relu(relu(x)) + 0.0 }"
        best = tangram.parse(text).optimize(recipe=True, **ANALYTIC)
        for size in (1, 2, 64):
            source = tangram.parse(text, set={"N": size})
            again = best.repeat(source)
            self.assertEqual((again.model.op_count, again.skipped), (1, 0))
            self.assertEqual(again.model.inputs[0].shape, (size, 8))
            self.assertTrue(again.model.verify(source))
            self.assertLess(again.cost_after_us, again.cost_before_us)
        with self.assertRaisesRegex(tangram.Error, "E0801"):
            best.repeat(tangram.parse("model m(z: f32[2]) { z }"))
        with self.assertRaisesRegex(ValueError, "recipe=True"):
            tangram.parse(text).optimize(**ANALYTIC).repeat(tangram.parse(text))

    def test_open_sizes_are_optimized_once(self):
        text = "model m(x: f32[S, 8], S: int in 1..100 = 5) { relu(relu(x)) + 0.0 }"
        model = tangram.parse(text)
        self.assertEqual([(s.name, s.least, s.most, s.sample) for s in model.open_sizes], [("S", 1, 100, 5)])
        best = model.optimize(**ANALYTIC)
        self.assertEqual([recipe.sizes for recipe in best.report.recipes], ["S in 1..100"])
        self.assertIn("S = 100", [trial.at for trial in best.report.tried])
        self.assertEqual(best.report.json["recipes"][0]["searched_at"], "S = 5")
        for size in (1, 7, 100):
            again = best.at(S=size)
            self.assertEqual(again.model.inputs[0].shape, (size, 8))
            self.assertTrue(again.model.verify(model.at(S=size)))
            self.assertEqual(again.model.op_count, 1)
            self.assertIs(best.at(S=size), again)
        with self.assertRaisesRegex(tangram.Error, "S. must be in 1..100, got 101"):
            best.at(S=101)
        with self.assertRaisesRegex(tangram.Error, "no open size `T`"):
            best.at(T=1)
        with self.assertRaisesRegex(tangram.Error, "E0601"):
            tangram.parse(text, set={"S": 3}).optimize(**ANALYTIC).at(S=3)

    def test_searches_in_several_threads(self):
        found = []
        threads = [threading.Thread(target=lambda: found.append(
            tangram.parse(TWICE).optimize(**ANALYTIC).model.op_count)) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(found, [1, 1, 1])


if __name__ == "__main__":
    unittest.main()

"""Rules, and extraction alone."""
import unittest

import tangram


class Rules(unittest.TestCase):
    def test_a_wrong_one_has_a_counterexample_that_is_a_model(self):
        verdict, = tangram.rules.verify("rule wrong(x) { relu(x) => x }")
        self.assertEqual((verdict.rule, verdict.status), ("wrong", "refuted"))
        left = tangram.parse(verdict.counterexample, model="left")
        self.assertFalse(left.verify(tangram.parse(verdict.counterexample, model="right")))

    def test_a_right_one_is_tested(self):
        verdict, = tangram.rules.verify("relu_relu", instances=10)
        self.assertIn(verdict.status, ("tested", "proved"))

    def test_a_rule_that_cannot_be_read_keeps_no_other_from_its_verdict(self):
        good, bad = tangram.rules.verify(
            "rule bad(x) { relu(x) => nosuch(x) }\nrule good(x) { relu(relu(x)) => relu(x) }", instances=10)
        self.assertEqual((good.rule, good.status), ("good", "tested"))
        self.assertEqual((bad.rule, bad.status, bad.line), ("bad", "unread", 1))
        self.assertIn("nosuch", bad.why)

    def test_syntax_errors_have_a_line(self):
        with self.assertRaises(tangram.Error) as caught:
            tangram.rules.verify("rule broken(x) { relu( => x }")
        self.assertEqual(caught.exception.line, 1)

    def test_the_library_is_listed(self):
        rules = tangram.rules.list()
        self.assertGreater(len(rules), 100)
        self.assertTrue(all(rule.with_program for rule in rules))


class Extraction(unittest.TestCase):
    def test_a_file_that_is_not_an_egraph(self):
        with self.assertRaises(tangram.Error) as caught:
            tangram.extract({"nodes": 3})
        self.assertEqual(caught.exception.code, "E0606")

    def test_an_extractor_that_there_is_not(self):
        with self.assertRaisesRegex(ValueError, "quick"):
            tangram.extract({}, extractor="quick")


if __name__ == "__main__":
    unittest.main()

"""`simplify` in this package's own runtime (for others: tests/oracle/python_simplify_test.py),
the statistics, and the command."""
import contextlib
import io
import os
import tempfile
import unittest
from unittest import mock

import numpy

import tangram
from models import PRODUCTS
from tangram import __main__ as command
from tangram import _errors, _simplify, _timing


class Statistics(unittest.TestCase):
    def test_noise_decides_nothing(self):
        rng = numpy.random.default_rng(1)
        wrong = 0
        for _ in range(200):
            a, b = 1 + 0.1 * rng.random(40), 1 + 0.1 * rng.random(40)
            wrong += _timing.summary(list(a), list(b)).decided
        self.assertLess(wrong, 22)  # 5% of 200, and some more for chance

    def test_the_interval_of_many_pairs(self):
        found = _timing.summary([2.0] * 3000, [1.0] * 3000)
        self.assertEqual((found.low, found.high), (2, 2))

    def test_a_gain_is_seen(self):
        found = _timing.summary([1.1, 1.12, 1.09] * 5, [1.0, 1.01, 0.99] * 5)
        self.assertTrue(found.second_faster)
        self.assertGreater(found.low, 1)
        self.assertFalse(_timing.summary([1.0] * 15, [1.1] * 15).second_faster)

    def test_times_have_the_ratio_that_is_shown_beside_them(self):
        rng = numpy.random.default_rng(2)
        for _ in range(50):  # a machine that others slow down now and then
            busy = 1 + 4 * (rng.random(41) < 0.5)
            found = _timing.summary(list(1.1 * busy), list(busy * (1 + rng.random(41))))
            self.assertAlmostEqual(found.first_us / found.second_us, found.ratio)

    def test_medians_that_disagree_decide_nothing(self):
        first, second = [1.0] * 6 + [9.0] * 5, [0.9] * 5 + [1.1] * 1 + [8.0] * 5
        self.assertFalse(_timing.summary(first, second).second_faster)


class Simplify(unittest.TestCase):
    def test_it_is_faster_or_the_original(self):
        with tempfile.TemporaryDirectory() as folder:
            source, target = os.path.join(folder, "m.onnx"), os.path.join(folder, "fast.onnx")
            tangram.parse(PRODUCTS).save(source)
            done = tangram.simplify(source, target, runtime="tangram", seconds=0.2, threads=1,
                                    cost="analytic:cpu")
            x = numpy.random.default_rng(1).standard_normal((64, 64)).astype("float32")
            wanted = tangram.load(source).run(x)
            found = tangram.load(target).run(x)
            self.assertLess(numpy.abs(found - wanted).max() / numpy.abs(wanted).max(), 1e-4)
            with open(source, "rb") as a, open(target, "rb") as b:
                self.assertEqual(a.read() == b.read(), not done.faster)
            self.assertIn("faster" if done.faster else "the original", done.message)
            self.assertEqual(done.verified, "equal")

    def written(self, **mocked):
        """Returns the message of `simplify` and whether it wrote the original, with mocked parts."""
        with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as mocks:
            source, target = os.path.join(folder, "m.onnx"), os.path.join(folder, "fast.onnx")
            tangram.parse(PRODUCTS).save(source)
            for name, does in mocked.items():
                mocks.enter_context(mock.patch.object(_simplify, name, does))
            done = tangram.simplify(source, target, runtime="tangram", seconds=0.05, threads=1, cost="analytic:cpu")
            with open(source, "rb") as a, open(target, "rb") as b:
                return done, a.read() == b.read()

    def test_faster_beyond_the_noise_is_written_and_nothing_else(self):
        for low, is_faster in ((1.01, True), (1.0, False), (0.97, False)):
            found = _timing.Comparison(100, 98, 1.02, low, 1.03, 9)
            done, original = self.written(compare=lambda *_: found)
            self.assertEqual((done.faster, original), (is_faster, not is_faster), done.message)

    def test_other_outputs_are_not_written(self):
        done, original = self.written(_difference=lambda *_: 2e-4)
        self.assertTrue(original)
        self.assertIn("the outputs differ by 2.0e-04", done.message)

    def test_a_result_that_the_runtime_refuses_is_not_written(self):
        loads = iter([_simplify.RUNTIMES["tangram"]])

        def once(path, threads):
            return next(loads)(path, threads)
        # Finalists are refused as well, so the first session is the only one.
        done, original = self.written(RUNTIMES={"tangram": once})
        self.assertTrue(original)
        self.assertIn("tangram rejects the result: ", done.message)

    def test_a_file_with_unsupported_operators_is_unchanged(self):
        def load(*_, **__):
            raise tangram.Error([_errors.Diagnostic("E0511", "m.onnx", 0, 0, "", "m.onnx: error: unknown operator `Zip`")])
        with mock.patch("tangram._model.load", load):
            done, original = self.written(RUNTIMES={"tangram": lambda path, threads: None})
        self.assertTrue(original)
        self.assertIn("the original: m.onnx: error: unknown operator `Zip`", done.message)

    def test_other_files_are_refused(self):
        with self.assertRaisesRegex(ValueError, "onnx"):
            tangram.simplify("m.tg", "n.onnx")
        with self.assertRaisesRegex(ValueError, "runtime must be one of"):
            tangram.simplify("m.onnx", "n.onnx", runtime="other")

    def test_the_command(self):
        with tempfile.TemporaryDirectory() as folder:
            source, target = os.path.join(folder, "m.onnx"), os.path.join(folder, "fast.onnx")
            tangram.parse(PRODUCTS).save(source)
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                code = command.main(["simplify", source, target, "--runtime", "tangram",
                                     "--time-limit", "3", "--threads", "1"])
            self.assertEqual(code, 0)
            self.assertIn("fast.onnx: ", out.getvalue())
            errors = io.StringIO()
            with contextlib.redirect_stderr(errors):
                code = command.main(["simplify", "gone.onnx", target, "--runtime", "tangram"])
            self.assertEqual(code, 1)
            self.assertIn("gone.onnx", errors.getvalue())


if __name__ == "__main__":
    unittest.main()

"""Reading, saving, comparing and showing models."""
import os
import pickle
import tempfile
import unittest

import numpy

import tangram
from models import LAYER, TWICE, TWINS


class Reading(unittest.TestCase):
    def test_a_mistake_has_code_place_and_text(self):
        with self.assertRaises(tangram.Error) as caught:
            tangram.parse("model m(x: f32[4, 3], w: f32[5, 2]) {\n  x @ w\n}", name="m.tg")
        error = caught.exception
        self.assertEqual((error.code, error.file, error.line, error.column), ("E0213", "m.tg", 2, 3))
        self.assertIn("inner dimensions differ: 3 and 5", str(error))
        self.assertEqual(error.diagnostics[0].message, error.message)
        again = pickle.loads(pickle.dumps(error))
        self.assertEqual(str(again), str(error))

    def test_several_mistakes_are_all_there(self):
        with self.assertRaises(tangram.Error) as caught:
            tangram.parse("model m(x: f32[4]) { foo(x) + bar(x) }")
        self.assertEqual(len(caught.exception.diagnostics), 2)

    def test_a_file_that_is_not_there(self):
        with self.assertRaisesRegex(tangram.Error, "nothing.tg"):
            tangram.load("nothing.tg")


class Weights(unittest.TestCase):
    def test_given_weights_are_shared_and_kept_alive(self):
        w = numpy.arange(16, dtype="float32").reshape(8, 2)
        x = numpy.ones((4, 8), "float32")
        expected = x @ w
        model = tangram.parse(LAYER).with_weights({"w": w})
        del w
        numpy.testing.assert_allclose(model.run(x), expected)

    def test_missing_and_mismatched_ones_are_refused_by_name(self):
        model = tangram.parse(LAYER)
        for weights in ({}, {"w": numpy.ones((2, 8), "float32")}):
            with self.assertRaisesRegex(tangram.Error, "w"):
                model.with_weights(weights)

    def test_saved_models_come_back_with_them(self):
        w = numpy.random.default_rng(1).standard_normal((8, 2)).astype("float32")
        model = tangram.parse(LAYER).with_weights({"w": w})
        x = numpy.ones((4, 8), "float32")
        with tempfile.TemporaryDirectory() as folder:
            for name in ("m.tg", "m.onnx"):
                path = os.path.join(folder, name)
                model.save(path)
                numpy.testing.assert_allclose(tangram.load(path).run(x), x @ w, rtol=1e-6)
            with self.assertRaisesRegex(ValueError, "saved as"):
                model.save(os.path.join(folder, "m.txt"))


class Shapes(unittest.TestCase):
    def test_a_scalar_has_no_sizes(self):
        model = tangram.parse("model m(x: f32[2], sr: f32) { x * sr }")
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "m.onnx")
            model.save(path)
            for shape in ([], ()):
                numpy.testing.assert_array_equal(tangram.load(path, shapes={"sr": shape}).run([1, 2], 3.0), [3, 6])
            with self.assertRaisesRegex(tangram.Error, "sr"):
                tangram.load(path, shapes={"sr": [2]})


class Halves(unittest.TestCase):
    """Arrays of ml_dtypes, where that is installed."""

    def test_bf16_as_inputs_and_weights(self):
        try:
            from ml_dtypes import bfloat16, float8_e4m3fn
        except ImportError:
            self.skipTest("ml_dtypes is not installed")
        model = tangram.parse("model m(x: bf16[2, 2], n: bf16) {\n param w: bf16[2, 2]\n cast(x @ w + n, f32) }")
        w, x = (numpy.array([[1, 2], [3, 4.5]]).astype(bfloat16) for _ in range(2))
        wanted = x.astype("float32") @ w.astype("float32") + 2
        fast = model.with_weights({"w": w})
        numpy.testing.assert_array_equal(fast.run(x, bfloat16(2)), wanted)
        numpy.testing.assert_array_equal(fast.run(x.T.copy().T, numpy.array(2, bfloat16)), wanted)  # in another order
        with self.assertRaisesRegex(tangram.Error, "bf16"):
            tangram.parse("model m(x: f32[2, 2]) { x }").run(x)
        with self.assertRaisesRegex(TypeError, "float8_e4m3fn"):
            model.run(x.astype(float8_e4m3fn), 2)


class Comparing(unittest.TestCase):
    def test_equal_and_different(self):
        a, b = tangram.parse(TWICE), tangram.parse(TWICE.replace("relu(relu(x))", "relu(x)"))
        self.assertTrue(a.verify(b))
        found = a.verify(tangram.parse(TWICE.replace("relu(relu(x))", "x")))
        self.assertEqual(found.verdict, "different")
        self.assertFalse(found)
        self.assertTrue(found.a.name and len(found.a.index) == 2)

    def test_models_of_other_inputs_are_an_error(self):
        with self.assertRaises(tangram.Error) as caught:
            tangram.parse(TWICE).verify(tangram.parse(LAYER))
        self.assertEqual(caught.exception.code, "E0801")

    def test_integers_that_differ_are_exact(self):
        for n in (2**24 + 1, 2**31 + 1, 2**53 + 1, 2**63 - 1, -(2**63) + 1):
            a, b = (tangram.parse(f"model m(x: i64[1]) {{ select(x > 0, x * 0 + {m}, x * 0) }}") for m in (n, n - 1))
            found = a.verify(b)
            self.assertEqual((found.a.value, found.b.value), (n, n - 1))
            self.assertIsInstance(found.inputs[0].value, int)
            self.assertIn(f"is {n} and {n - 1}", str(found))


class Showing(unittest.TestCase):
    def test_differences_are_marked(self):
        a, b = tangram.parse(TWICE), tangram.parse(TWICE.replace("relu(relu(x))", "tanh(x)"))
        self.assertNotIn("changed", a.svg())
        self.assertIn('class="node changed"', a.svg(b))
        self.assertIn("<svg", a._repr_html_())

    def test_text_is_read_again(self):
        model = tangram.parse(TWINS)
        self.assertTrue(tangram.parse(model.text).verify(model))


if __name__ == "__main__":
    unittest.main()

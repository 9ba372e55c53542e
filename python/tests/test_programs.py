"""Running: inputs of all kinds, threads, memory."""
import gc
import resource
import threading
import unittest

import numpy

import tangram
from models import TWICE, TWINS


class Inputs(unittest.TestCase):
    def setUp(self):
        self.model = tangram.parse("model m(a: f32[2], b: f32[2]) { a - b }")
        self.program = self.model.compile()

    def test_by_order_and_by_name(self):
        a, b = numpy.float32([5, 6]), numpy.float32([1, 2])
        for found in (self.program(a, b), self.program(a, b=b), self.program({"b": b, "a": a}),
                      self.program(b=b, a=a), self.model.run([5, 6], (1, 2))):
            numpy.testing.assert_array_equal(found, [4, 4])

    def test_names_that_are_wrong(self):
        with self.assertRaisesRegex(TypeError, "`c`"):
            self.program([1, 2], c=[3, 4])
        with self.assertRaisesRegex(TypeError, "`b` is missing"):
            self.program(a=[1, 2])

    def test_shapes_and_types_that_are_wrong(self):
        for value in (numpy.zeros(3, "float32"), numpy.zeros(2, "float64"), numpy.zeros(2, "int64")):
            with self.assertRaises(tangram.Error) as caught:
                self.program(value, [1, 2])
            self.assertIn("`a` must be f32[2]", str(caught.exception))
        with self.assertRaises(tangram.Error):
            self.program([1, 2])
        for value in ("text", None, numpy.array(["a", "b"]), numpy.zeros(2, "complex64")):
            with self.assertRaisesRegex(TypeError, "the input `a`"):
                self.program(value, [1, 2])

    def test_layouts_other_than_row_major_are_copied(self):
        rows = numpy.float32([[5, 0], [6, 0]])
        numpy.testing.assert_array_equal(self.program(rows[:, 0], rows[::-1, 1]), [5, 6])

    def test_read_only_arrays_and_dlpack(self):
        a = numpy.float32([5, 6])
        a.setflags(write=False)

        class Speaks:  # supports only DLPack
            def __dlpack__(self, **options):
                return numpy.float32([1, 2]).__dlpack__(**options)

            def __dlpack_device__(self):
                return 1, 0

        numpy.testing.assert_array_equal(self.program(a, Speaks()), [4, 4])

    def test_types_of_elements(self):
        for name, numpy_name in (("i64", "int64"), ("i32", "int32"), ("f64", "float64"),
                                 ("f16", "float16")):
            program = tangram.parse(f"model m(x: {name}[3]) {{ x + x }}").compile(backend="ref")
            found = program(numpy.array([1, 2, 3], numpy_name))
            self.assertEqual(found.dtype, numpy_name)
            numpy.testing.assert_array_equal(found, [2, 4, 6])

    def test_large_integers_are_exact(self):
        value = numpy.int64([2**53 + 1])
        found = tangram.parse("model m(x: i64[1]) { x + 2 }").compile(backend="ref")(value)
        self.assertEqual(int(found[0]), 2**53 + 3)

    def test_several_outputs_are_a_tuple(self):
        a, b = tangram.parse(TWINS).run(numpy.ones((64, 128), "float32"))
        self.assertEqual((a.shape, b.shape), ((64, 64), (64, 64)))


class Threads(unittest.TestCase):
    def test_one_program_in_many(self):
        program = tangram.parse(TWINS).compile(threads=1)
        xs = [numpy.full((64, 128), i, "float32") for i in range(4)]
        expected = [program(x)[0].copy() for x in xs]
        wrong = []

        def work(i):
            for _ in range(50):
                if not numpy.array_equal(program(xs[i])[0], expected[i]):
                    wrong.append(i)

        threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_others_run_while_it_computes(self):
        program = tangram.parse("model m(x: f32[384, 384]) { " + "x @ " * 60 + "x }").compile(threads=1)
        x = numpy.eye(384, dtype="float32")
        done, counted = threading.Event(), 0
        thread = threading.Thread(target=lambda: (program(x), done.set()))
        thread.start()
        while not done.is_set():
            counted += 1
        thread.join()
        self.assertGreater(counted, 100)


class Memory(unittest.TestCase):
    def test_ten_thousand_calls_leave_nothing_behind(self):
        program = tangram.parse("model m(x: f32[64, 64]) { relu(x) }").compile(threads=1)
        x = numpy.ones((64, 64), "float32")

        def calls(count):
            for _ in range(count):
                program(x)
            gc.collect()
            return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

        before = calls(500)
        self.assertLess(calls(10_000) - before, 4096)  # KiB; each output has 16

    def test_models_and_programs_go(self):
        def round_trip():
            weights = {"w": numpy.ones((512, 512), "float32")}
            model = tangram.parse("model m(x: f32[1, 512]) {\n  param w: f32[512, 512]\n  x @ w\n}")
            model.with_weights(weights).compile(threads=1)(numpy.ones((1, 512), "float32"))

        for _ in range(20):
            round_trip()
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for _ in range(200):
            round_trip()
        self.assertLess(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before, 32 * 1024)


class Timing(unittest.TestCase):
    def test_steps(self):
        timing = tangram.parse(TWICE).compile().time(numpy.ones((2, 3), "float32"), runs=5, steps=True)
        self.assertEqual([step.name for step in timing.steps], ["relu", "relu"])

    def test_info(self):
        program = tangram.parse(TWICE).compile(threads=1)
        self.assertEqual((program.info.backend, program.info.threads), ("cpu", 1))
        self.assertIn("twice on cpu", repr(program))


if __name__ == "__main__":
    unittest.main()

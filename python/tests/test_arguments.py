"""Invalid arguments of every public function: each raises a TypeError, a ValueError,
an OSError or an Error whose message names the argument or the value.
Valid arguments of unusual kinds are accepted."""
import math
import os
import tempfile
import unittest

import numpy

import tangram

ADD = "model m(x: f32[2, 3], y: f32[2, 3]) { x + y }"
WEIGHTED = "model m(x: f32[2]) {\n param w: f32[2]\n x * w }"
QUICK = {"cost": "analytic:cpu", "time_limit": 1}

ALLOWED = (TypeError, ValueError, OSError, tangram.Error)
#: Messages of the bindings and the interpreter when nothing was checked.
UNCLEAR = ("incompatible function arguments", "bad_cast", "object has no attribute", "not iterable", "not subscriptable",
           "unhashable", "object cannot be interpreted", "must be real number", "expected str, bytes or os.PathLike")

#: Invalid values for each kind of argument.
WRONG = {
    "whole": (-1, 1.5, math.nan, "two", None, [1], 10 ** 30),
    "count": (-1, 1.5, "two", [1], 10 ** 30),
    "number": (-1, math.nan, "two", [1], -math.inf),
    "flag": ("yes", None, [1], 3.5),
    "text": (None, 3, [1], b"x", "\ud800"),
    "path": (None, 3, [1], b"x", "\ud800"),
    "word": (None, 3, "nonsense", ""),
    "model": (None, 3, "m", numpy.zeros(2)),
    "tensor": (None, "one", object(), {"a": 1}, numpy.array(["a", "b"]), numpy.array([1 + 2j, 3]),
               numpy.datetime64("2020"), numpy.array(["2020"], "M8[D]"), numpy.zeros(2, [("a", "f4")]), numpy.array([object()]), numpy.longdouble(1),
               numpy.str_("a"), b"ab", bytearray(b"ab"), memoryview(b"ab"), {1}, iter([1]), range(3), Ellipsis, type),
    "mapping": (3, "one", [1], {1: 2}, {None: [1]}, {"\ud800": 1}),
}


def cases():
    """Yields (description, function, kind of the argument)."""
    model, weighted = tangram.parse(ADD), tangram.parse(WEIGHTED)
    program = model.compile()
    x = numpy.ones((2, 3), "float32")
    yield "parse(text)", lambda v: tangram.parse(v), "text"
    yield "parse(name)", lambda v: tangram.parse(ADD, name=v), "text"
    yield "parse(model)", lambda v: tangram.parse(ADD, model=v), "text"
    yield "parse(set)", lambda v: tangram.parse(ADD, set=v), "mapping"
    yield "load(path)", lambda v: tangram.load(v), "path"
    yield "load(shapes)", lambda v: tangram.load("missing.onnx", shapes=v), "mapping"
    yield "load(dims)", lambda v: tangram.load("missing.onnx", dims=v), "mapping"
    yield "load(keep_for_opset)", lambda v: tangram.load("missing.onnx", keep_for_opset=v), "count"
    yield "with_weights(weights)", lambda v: weighted.with_weights(v), "mapping"
    yield "with_weights(one)", lambda v: weighted.with_weights({"w": v}), "tensor"
    yield "verify(other)", lambda v: model.verify(v), "model"
    yield "verify(seed)", lambda v: model.verify(model, seed=v), "whole"
    yield "verify(time_limit)", lambda v: model.verify(model, time_limit=v), "number"
    yield "verify(threads)", lambda v: model.verify(model, threads=v), "whole"
    for name, kind in {"threads": "whole", "memory_limit": "whole", "seed": "whole", "tune_near_ms": "number",
                       "backend": "word", "dtype": "word", "allow_tf32": "flag"}.items():
        yield f"compile({name})", lambda v, name=name: model.compile(**{name: v}), kind
    yield "run(one)", lambda v: model.run(v, x), "tensor"
    yield "program(one)", lambda v: program(v, x), "tensor"
    yield "program(named)", lambda v: program({"x": x, "y": v}), "tensor"
    yield "time(runs)", lambda v: program.time(x, x, runs=v), "whole"
    yield "time(seconds)", lambda v: program.time(x, x, seconds=v, runs=1), "number"
    yield "time(one)", lambda v: program.time(x, v, runs=1), "tensor"
    yield "save(path)", lambda v: model.save(v), "path"
    yield "save(opset)", lambda v: model.save(os.path.join(tempfile.gettempdir(), "arguments.onnx"), opset=v), "whole"
    yield "svg(other)", lambda v: model.svg(v), "model"
    kinds = {"int": "whole", "float": "number", "bool": "flag", "words": "word"}
    for name, kind, words, _ in tangram._core.option_rows():
        kind = "word" if words and kind != "list" else kinds.get(kind)
        if kind:
            yield f"optimize({name})", lambda v, name=name: model.optimize(**{**QUICK, name: v}), kind
    yield "optimize(cost)", lambda v: model.optimize(cost=v), "word"
    yield "optimize(rules)", lambda v: model.optimize(rules=v, **QUICK), "word"
    yield "optimize(progress)", lambda v: model.optimize(progress=v, **QUICK), "flag"
    yield "optimize(judge)", lambda v: model.optimize(judge=v, **QUICK), "judge"
    yield "rules.verify(rules)", lambda v: tangram.rules.verify(v), "word"
    yield "rules.verify(instances)", lambda v: tangram.rules.verify("relu_relu", instances=v), "whole"
    yield "rules.verify(seed)", lambda v: tangram.rules.verify("relu_relu", seed=v, instances=1), "whole"
    yield "rules.verify(time_limit)", lambda v: tangram.rules.verify("relu_relu", time_limit=v, instances=1), "number"
    yield "rules.verify(threads)", lambda v: tangram.rules.verify("relu_relu", threads=v, instances=1), "whole"
    yield "rules.list(rule)", lambda v: tangram.rules.list(v), "word"
    yield "extract(egraph)", lambda v: tangram.extract(v), "path"
    yield "extract(extractor)", lambda v: tangram.extract(GRAPH, extractor=v), "word"
    yield "extract(seed)", lambda v: tangram.extract(GRAPH, seed=v), "whole"
    yield "extract(time_limit)", lambda v: tangram.extract(GRAPH, time_limit=v), "number"
    yield "calibrate(time_limit)", lambda v: tangram.calibrate(time_limit=v), "number"
    yield "calibrate(threads)", lambda v: tangram.calibrate(time_limit=0.01, threads=v), "whole"
    yield "simplify(source)", lambda v: tangram.simplify(v, "out.onnx"), "path"
    yield "simplify(target)", lambda v: tangram.simplify("in.onnx", v), "path"
    yield "simplify(runtime)", lambda v: tangram.simplify("in.onnx", "out.onnx", runtime=v), "word"
    yield "simplify(seconds)", lambda v: tangram.simplify("in.onnx", "out.onnx", runtime="tangram", seconds=v), "number"
    yield "simplify(threads)", lambda v: tangram.simplify("in.onnx", "out.onnx", runtime="tangram", threads=v), "whole"
    yield "rl.Environment(model)", lambda v: tangram.rl.Environment(v, rewards="prices", **QUICK), "model"
    for name in ("horizon", "measure_every", "most_candidates"):
        yield f"rl.Environment({name})", lambda v, name=name: tangram.rl.Environment(
            model, rewards="prices", cost="analytic:cpu", **{name: v}), "whole"


GRAPH = {"nodes": {"a": {"op": "a", "children": [], "eclass": "0", "cost": 3.0}}, "root_eclasses": ["0"]}
WRONG["judge"] = (3, "one")
#: Values that some arguments accept.
TAKEN = {("verify(time_limit)", "None"), ("svg(other)", "None"), ("extract(egraph)", "{}")}


class Arguments(unittest.TestCase):
    def test_wrong_values_are_refused_with_a_reason(self):
        for words, function, kind in cases():
            for value in WRONG[kind]:
                if (words, repr(value)) in TAKEN:
                    continue
                with self.subTest(words, value=repr(value)[:40]):
                    with self.assertRaises(ALLOWED) as raised:
                        function(value)
                    said = str(raised.exception)
                    self.assertTrue(said, "no message")
                    for unclear in UNCLEAR:
                        self.assertNotIn(unclear, said)

    def test_inputs_of_other_shapes_and_types_are_refused(self):
        model = tangram.parse(ADD)
        good = numpy.ones((2, 3), "float32")
        wrong = [numpy.ones((3, 2), "float32"), numpy.ones(6, "float32"), numpy.ones((2, 3), "int32"), numpy.zeros((0, 3), "float32"),
                 numpy.ones((2, 3), "float64"), numpy.ones((2, 3), bool), numpy.ones((2, 3), "uint8"), [[1, 2], [3]], numpy.array(1.0)]
        program = model.compile()
        wrong += [numpy.full((2, 3), 1j), numpy.ones((2, 3), "longdouble"), numpy.ones((2, 3), object), numpy.ones((2, 3), "U3")]
        for value in wrong:
            for call in (model.run, program, lambda x, y: program(x=x, y=y), lambda x, y: program.time(x, y, runs=1)):
                with self.subTest(value=repr(value)), self.assertRaises(ALLOWED) as raised:
                    call(good, value)
                self.assertRegex(str(raised.exception), "`?y`?")
        for inputs in ((), (good,), (good, good, good)):
            with self.subTest(count=len(inputs)), self.assertRaises(ALLOWED):
                model.run(*inputs)

    def test_inputs_of_other_layouts_are_taken(self):
        model = tangram.parse(ADD)
        x = numpy.arange(6, dtype="float32").reshape(2, 3)
        for value in (numpy.asfortranarray(x), x[::-1][::-1], numpy.repeat(x, 2, 1)[:, ::2], x.astype(">f4"), x.tolist(), tuple(map(tuple, x.tolist()))):
            numpy.testing.assert_array_equal(model.run(value, value), 2 * x)
        x.flags.writeable = False
        numpy.testing.assert_array_equal(model.run(x, x), 2 * x)

    def test_unknown_options_are_named(self):
        for call in (lambda: tangram.parse(ADD).optimize(nonsense=1), lambda: tangram.parse(ADD).compile(nonsense=1),
                     lambda: tangram.rl.Environment(tangram.parse(ADD), nonsense=1)):
            with self.assertRaisesRegex(TypeError, "nonsense"):
                call()


if __name__ == "__main__":
    unittest.main()

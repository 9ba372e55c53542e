"""Models: reading, optimizing, comparing, saving."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from . import _arguments, _core
from ._program import Program, Tensor
from ._report import Optimized, Report

if TYPE_CHECKING:
    from typing import Unpack

    from ._options import SearchOptions

#: Prepares a model in a runtime. Returns a function that runs it once and returns seconds, or None if it is refused.
Judge = Callable[["Model"], "Callable[[], float] | None"]


def parse(text: str, *, name: str = "<text>", model: str = "", set: Mapping[str, Any] | None = None) -> Model:
    """Returns a model from .tg text. `model` selects one of several; `set` gives compile-time parameters.
    `name` is the name of the text in errors.

    Raises `Error` if the text has a mistake, with its line and column.

    >>> import tangram
    >>> tangram.parse("model m(x: f32[N, 2], N: int = 3) { x + 1.0 }", set={"N": 8}).inputs[0].shape
    (8, 2)
    """
    return Model(_core.parse(_arguments.text("text", text), _arguments.text("name", name), _arguments.text("model", model),
                             _settings(set)))


def load(
    path: str | os.PathLike[str],
    *,
    shapes: Mapping[str, Sequence[int]] | None = None,
    dims: Mapping[str, int] | None = None,
    weights: str | os.PathLike[str] | None = None,
    model: str = "",
    set: Mapping[str, Any] | None = None,
    keep_for_opset: int = 0,
) -> Model:
    """Returns a model from a .tg or an .onnx file.

    For an .onnx file, `shapes` gives shapes of inputs, and `dims` gives sizes of the symbolic dimensions
    that it leaves open. The weights of a .tg file are in a .safetensors file with the same name,
    unless `weights` names another file; without such a file they are random.
    `keep_for_opset` is for files that `save` writes again: operators that this opset of ONNX has, such as LSTM
    and Attention, are kept as they are (0: none).

    Raises `Error` for a file that cannot be read or is not valid, and for an ONNX operator that is not supported.
    """
    path = Path(_arguments.path("path", path))
    sizes, counts = _sizes(shapes, dims)
    core = _core.load(str(path), _arguments.text("model", model), _settings(set), sizes, counts,
                      _arguments.whole("keep_for_opset", keep_for_opset))
    beside = path.with_suffix(".safetensors")
    if weights is None and path.suffix == ".tg" and beside.exists():
        weights = beside
    return Model(core if weights is None else core.with_weights_file(_arguments.path("weights", weights)))


def _sizes(shapes: Any, dims: Any) -> tuple[dict[str, list[int]], dict[str, int]]:
    """Returns shapes of inputs and sizes of symbolic dimensions, as lists and numbers."""
    lists = {}
    for name, shape in _arguments.mapping("shapes", shapes).items():
        if not isinstance(shape, (list, tuple)):
            raise TypeError(f"the shape of `{name}` must be a list of sizes, not {shape!r}")
        lists[name] = [_arguments.whole(f"a size of `{name}`", size, high=2**62) for size in shape]
    counts = _arguments.mapping("dims", dims).items()
    return lists, {name: _arguments.whole(f"the size of `{name}`", size, high=2**62) for name, size in counts}


def _open_sizes(sizes: Mapping[str, Any]) -> dict[str, int]:
    return {name: _arguments.whole(name, size, high=2**62) for name, size in sizes.items()}


def _settings(values: Mapping[str, Any] | None) -> dict[str, str]:
    # True is written `true` in the language; numbers and lists have the same form.
    return {name: str(value).lower() if isinstance(value, bool) else _arguments.unicode(f"set[{name!r}]", str(value))
            for name, value in _arguments.mapping("set", values).items()}


class Model:
    r"""A checked tensor graph. It is immutable, and threads may share it.

    >>> import tangram
    >>> model = tangram.parse("model m(x: f32[4, 8]) {\n param w: f32[8, 2]\n x @ w }")
    >>> model
    <tangram.Model m(x: f32[4, 8]), 1 operator>
    >>> [(spec.name, spec.dtype, spec.shape) for spec in model.weights]
    [('w', 'f32', (8, 2))]
    """

    def __init__(self, core: _core.Model) -> None:
        self._core = core
        self._program: Program | None = None

    @property
    def name(self) -> str:
        """The name of the model in its text or file."""
        return self._core.name

    @property
    def open_sizes(self) -> list[_core.OpenSize]:
        """The sizes that have a range and that `set` did not fix, with `name`, `least`, `most` (None: no end) and
        `sample`, the default. The model is the graph at the defaults; `at` gives others."""
        return self._core.open_sizes

    def at(self, **sizes: int) -> Model:
        """Returns the model at these sizes, with the same weights. Sizes that are not given have their defaults.

        Raises `Error` for an unknown name and for a size outside of its range.

        >>> import tangram
        >>> model = tangram.parse("model m(x: f32[S, 8], S: int in 1..512 = 64) { relu(x) }")
        >>> model.inputs[0].shape, model.at(S=77).inputs[0].shape
        ((64, 8), (77, 8))
        """
        return Model(self._core.at(_open_sizes(sizes)))

    @property
    def inputs(self) -> list[_core.TensorSpec]:
        """Name, dtype and shape of each input, in order."""
        return self._core.inputs

    @property
    def outputs(self) -> list[_core.TensorSpec]:
        """Name, dtype and shape of each output, in order."""
        return self._core.outputs

    @property
    def weights(self) -> list[_core.TensorSpec]:
        """Path, dtype and shape of each weight that the outputs depend on."""
        return self._core.weights

    @property
    def op_count(self) -> int:
        """The number of operators that the outputs need, without inputs, weights and constants."""
        return self._core.op_count

    @property
    def text(self) -> str:
        """A .tg file that `parse` can read."""
        return self._core.text()

    def with_weights(self, weights: Mapping[str, Tensor] | str | os.PathLike[str]) -> Model:
        r"""Returns the model with these weights by path, or with those of a .safetensors or .onnx file.

        Tensors in row-major order are shared, not copied. Raises `Error` for a missing weight, or one of another type.

        >>> import numpy, tangram
        >>> model = tangram.parse("model m(x: f32[2]) {\n param w: f32[2]\n x * w }")
        >>> model.with_weights({"w": numpy.array([2, 3], "float32")}).run([1, 1])
        array([2., 3.], dtype=float32)
        """
        if isinstance(weights, Mapping):
            return Model(self._core.with_weights(_arguments.mapping("weights", weights)))
        if not isinstance(weights, (str, os.PathLike)):
            raise TypeError(f"weights must be a dict of tensors or a file, not {weights!r}")
        return Model(self._core.with_weights_file(_arguments.path("weights", weights)))

    # --- searching ------------------------------------------------------------------------------

    def optimize(
        self,
        *,
        progress: bool | Callable[[_core.SearchProgress], Any] = False,
        judge: Judge | None = None,
        explain: bool = False,
        trace: bool = False,
        portable: bool = False,
        recipe: bool = False,
        **options: Unpack[SearchOptions],
    ) -> Optimized:
        """Returns a faster form of the model, and the report of the search: `fast, report =
        model.optimize()`.

        Options are those of `tg opt` (`cost`, `time_limit`, `rules`, `numerics`, `threads`, `seed` ...).
        Times are seconds and memory is MiB. `rules` takes names, files and texts of rules. `progress` draws a line in a
        terminal or a notebook, or is called with each `SearchProgress`. `trace` records the course of the search
        for the report's page. `explain` records the chain of rewrites, and checks it.
        A model with open sizes is optimized at their defaults; `Optimized.at` gives the result at other sizes.
        With `portable`, the result has no operators that only Tangram has. `recipe` records the rewrites, so
        that `Optimized.repeat` can apply them to this model at other sizes without a search.

        `judge` measures graphs in the target runtime. It prepares a model and returns a function
        that runs it once and returns seconds, or None if the model is refused.
        Finalists are run interleaved with the source, and a graph that is not faster beyond the noise
        is not returned.

        Ctrl-C ends the search and returns the best graph so far. Raises `Error` for invalid options and rules,
        and if `verify=True` finds that the result differs from its source.

        >>> import tangram
        >>> model = tangram.parse("model m(x: f32[8, 8]) { transpose(transpose(x)) }")
        >>> fast, report = model.optimize(cost="analytic:cpu", explain=True)
        >>> fast.op_count
        0
        """
        from ._progress import listener
        from .rules import selection

        if judge is not None and not callable(judge):
            raise TypeError(f"judge must be a function that takes a model, not {judge!r}")
        rules, text = selection(options.pop("rules", ()))
        if rules:
            options["rules"] = rules
        run_judge = None if judge is None else lambda core: judge(Model(core))
        with listener(progress) as notify:
            found = _core.optimize(
                self._core, options, text, _arguments.flag("explain", explain), _arguments.flag("trace", trace),
                _arguments.flag("portable", portable), _arguments.flag("recipe", recipe), notify, run_judge
            )
        fast = Model(found.model)
        return Optimized(fast, Report(found, self, fast))

    def explain(self, **options: Unpack[SearchOptions]) -> list[_core.Step]:
        """Returns the chain of rewrites from this model to the result of `optimize`,
        replayed by the text of the rules. Each step has the part of the graph that it changed,
        before and after.

        >>> import tangram
        >>> model = tangram.parse("model m(x: f32[8]) { relu(relu(x)) }")
        >>> [step.rule for step in model.explain(cost="analytic:cpu")]
        ['relu_relu']
        """
        return self.optimize(explain=True, **options).report.steps

    def verify(
        self, other: Model, *, seed: int = 1, time_limit: float | None = None, threads: int = 0
    ) -> Verification:
        """Checks exactly whether two models compute the same function: see Verification. `time_limit` is in seconds.

        Raises `Error` if the models have different inputs or outputs.

        >>> import tangram
        >>> a = tangram.parse("model m(x: f32[3]) { x + x }")
        >>> b = tangram.parse("model m(x: f32[3]) { 3.0 * x }")
        >>> print(a.verify(b))
        different: ...
        """
        return Verification(self._core.verify(
            _arguments.model("other", other)._core, _arguments.whole("seed", seed, high=2**64 - 1),
            _arguments.seconds("time_limit", time_limit), _arguments.whole("threads", threads, high=1024)))

    # --- running --------------------------------------------------------------------------------

    def compile(
        self,
        *,
        backend: Literal["cpu", "ref", "cuda"] = "cpu",
        dtype: Literal["f32", "f16", "bf16"] = "f32",
        threads: int = 0,
        memory_limit: int = 0,
        seed: int = 1,
        allow_tf32: bool = False,
        tune_near_ms: float = 0,
    ) -> Program:
        """Returns a callable program.

        `dtype` is the type in which f32 values are computed; inputs and outputs keep their types. `threads` 0: one
        per core. `memory_limit` is in MiB; 0: 80% of the machine's. `seed` is for random weights. `allow_tf32` is for
        cuda. `tune_near_ms`: milliseconds in which untuned operators may try the programs of similar tuned ones.

        Raises `Error` for a backend that is not available, a model above the memory limit, and missing weights.
        """
        return Program(self, backend=backend, dtype=dtype, threads=threads,
                       memory_limit=memory_limit, seed=seed, allow_tf32=allow_tf32,
                       tune_near_ms=tune_near_ms)

    def run(self, *inputs: Tensor, **named: Tensor) -> Any:
        """Returns the outputs of one run. The program is compiled on the first call and kept.
        Inputs are in order, by name, or one dict. Outputs are as for `Program`.

        >>> import tangram
        >>> tangram.parse("model m(x: f32[2]) { 2.0 * x }").run({"x": [1, 2]})
        array([2., 4.], dtype=float32)
        """
        if self._program is None:
            self._program = self.compile()
        return self._program(*inputs, **named)

    # --- saving ---------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str], *, weights: bool = True, opset: int = 0) -> list[str]:
        """Writes a .onnx file with its weights, or a .tg file with a .safetensors file of its weights
        in the same folder (unless `weights=False`). `opset` 0: 18, or the opset that kept operators need.
        Returns the assumptions of an ONNX file, as sentences.

        Raises `Error` if the file cannot be written, or if ONNX cannot express an operator.

        >>> import tangram, tempfile, os
        >>> folder = tempfile.TemporaryDirectory()
        >>> path = os.path.join(folder.name, "m.tg")
        >>> tangram.parse("model m(x: f32[2]) { relu(x) }").save(path)
        []
        >>> tangram.load(path).op_count
        1
        """
        path = Path(_arguments.path("path", path))
        opset = _arguments.whole("opset", opset)
        if path.suffix == ".onnx":
            return self._core.save_onnx(str(path), opset)
        if path.suffix != ".tg":
            raise ValueError(f"`{path}`: a model can only be saved as .tg or .onnx")
        core = self._core
        if weights and core.weights:
            core = core.save_weights(str(path.with_suffix(".safetensors")))
        path.write_text(core.text(), encoding="utf-8")
        return []

    # --- pictures -------------------------------------------------------------------------------

    def svg(self, other: Model | None = None) -> str:
        """Returns the graph as an SVG element, or "" if it is too large to draw. Operators that `other` does not have
        are of class `changed`."""
        return self._core.svg(None if other is None else _arguments.model("other", other)._core)

    def _repr_html_(self) -> str:
        return f"<style>{_core.svg_style()}</style>{self.svg()}"

    def __repr__(self) -> str:
        inputs = ", ".join(f"{s.name}: {s.dtype}[{', '.join(map(str, s.shape))}]" for s in self.inputs)
        count = self.op_count
        return f"<tangram.Model {self.name}({inputs}), {count} operator{'s' * (count != 1)}>"


class Verification:
    """The result of `Model.verify`. It is true if the models are equal.

    `verdict` is 'equal', 'different' or 'undecided'. `error_bound` is the probability that 'equal' is wrong.
    `why` is the reason if there is no verdict. `a` and `b` are the values of an element that differs,
    and `inputs` are inputs that show it.
    """

    def __init__(self, core: _core.Verification) -> None:
        self._core = core

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # of a copy under construction
            raise AttributeError(name)
        return getattr(self._core, name)

    @property
    def equal(self) -> bool:
        """True if the verdict is 'equal'."""
        return self._core.verdict == "equal"

    def __bool__(self) -> bool:
        return self.equal

    def __str__(self) -> str:
        v = self._core
        if v.verdict == "undecided":
            return f"undecided: {v.why}"
        if v.verdict == "different":
            if not v.a.name:
                return f"different: {v.why}"
            a, b = (x if isinstance(x, int) else f"{x:g}" for x in (v.a.value, v.b.value))
            return f"different: {v.a.name}{list(v.a.index)} is {a} and {b}"
        how = {"identical": "node for node", "float64": "only in float64, without a bound",
               "field": f"at {v.points} points modulo random primes, error bound {v.error_bound:.1e}"}
        return f"equal: {how[v.method]}"

    def __repr__(self) -> str:
        return f"<tangram.Verification {self}>"

"""Models: read, optimised, compared, saved."""

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

#: Prepares a model in a runtime; what it returns runs it once and gives seconds. None: refused.
Judge = Callable[["Model"], "Callable[[], float] | None"]


def parse(text: str, *, name: str = "<text>", model: str = "", set: Mapping[str, Any] | None = None) -> Model:
    """A model from .tg text. `model` names one of several; `set` gives compile-time parameters.

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
    """A model from a .tg or an .onnx file.

    Of an .onnx file `shapes` gives shapes of inputs and `dims` sizes of symbolic dimensions that it
    leaves open. A .safetensors file of the same name beside a .tg file has its weights, unless
    `weights` names another; without one they are random.
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
    """Shapes of inputs and sizes of symbolic dimensions, as lists and numbers."""
    lists = {}
    for name, shape in _arguments.mapping("shapes", shapes).items():
        if not isinstance(shape, (list, tuple)):
            raise TypeError(f"the shape of `{name}` is a list of sizes, not {shape!r}")
        lists[name] = [_arguments.whole(f"a size of `{name}`", size, high=2**62) for size in shape]
    counts = _arguments.mapping("dims", dims).items()
    return lists, {name: _arguments.whole(f"the size of `{name}`", size, high=2**62) for name, size in counts}


def _settings(values: Mapping[str, Any] | None) -> dict[str, str]:
    # True is `true` in the language; numbers and lists are written alike.
    return {name: str(value).lower() if isinstance(value, bool) else _arguments.unicode(f"set[{name!r}]", str(value))
            for name, value in _arguments.mapping("set", values).items()}


class Model:
    r"""A checked tensor graph. It never changes, and threads may share it.

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
        return self._core.name

    @property
    def inputs(self) -> list[_core.TensorSpec]:
        return self._core.inputs

    @property
    def outputs(self) -> list[_core.TensorSpec]:
        return self._core.outputs

    @property
    def weights(self) -> list[_core.TensorSpec]:
        """Those that the outputs need."""
        return self._core.weights

    @property
    def op_count(self) -> int:
        return self._core.op_count

    @property
    def text(self) -> str:
        """A .tg file that `parse` reads again."""
        return self._core.text()

    def with_weights(self, weights: Mapping[str, Tensor] | str | os.PathLike[str]) -> Model:
        r"""The model with these weights, by their paths, or those of a .safetensors or .onnx file.

        Tensors in row-major order are shared, not copied.

        >>> import numpy, tangram
        >>> model = tangram.parse("model m(x: f32[2]) {\n param w: f32[2]\n x * w }")
        >>> model.with_weights({"w": numpy.array([2, 3], "float32")}).run([1, 1])
        array([2., 3.], dtype=float32)
        """
        if isinstance(weights, Mapping):
            return Model(self._core.with_weights(_arguments.mapping("weights", weights)))
        if not isinstance(weights, (str, os.PathLike)):
            raise TypeError(f"weights are a dict of tensors or a file, not {weights!r}")
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
        **options: Unpack[SearchOptions],
    ) -> Optimized:
        """A faster form of the model and the report of the search: `fast, report = model.optimize()`.

        Options are those of `tg opt` (`cost`, `time_limit`, `rules`, `numerics`, `threads`, `seed` ...).
        `rules` takes names, files and texts of rules. `progress` draws a line in a terminal or a
        notebook, or is called with what the search says. `trace` records its course for the report's
        page; `explain` the chain of rewrites, checked. `portable` leaves out operators that other
        runtimes do not have.

        `judge` has graphs measured where they are to run: it prepares a model and returns a function
        that runs it once and gives seconds, or None where it is refused. Finalists meet the source
        there, interleaved, and what is not faster beyond the noise is not returned.

        Ctrl-C ends the search with the best so far.

        >>> import tangram
        >>> model = tangram.parse("model m(x: f32[8, 8]) { transpose(transpose(x)) }")
        >>> fast, report = model.optimize(cost="analytic:cpu", explain=True)
        >>> fast.op_count
        0
        """
        from ._progress import listener
        from .rules import selection

        if judge is not None and not callable(judge):
            raise TypeError(f"judge is a function that takes a model, not {judge!r}")
        rules, text = selection(options.pop("rules", ()))
        if rules:
            options["rules"] = rules
        run_judge = None if judge is None else lambda core: judge(Model(core))
        with listener(progress) as notify:
            found = _core.optimize(
                self._core, options, text, _arguments.flag("explain", explain), _arguments.flag("trace", trace),
                _arguments.flag("portable", portable), notify, run_judge
            )
        fast = Model(found.model)
        return Optimized(fast, Report(found, self, fast))

    def explain(self, **options: Unpack[SearchOptions]) -> list[_core.Step]:
        """The chain of rewrites from this model to what `optimize` makes of it, replayed by the
        rules' own text. Each step has the part of the graph that it changed, before and after.

        >>> import tangram
        >>> model = tangram.parse("model m(x: f32[8]) { relu(relu(x)) }")
        >>> [step.rule for step in model.explain(cost="analytic:cpu")]
        ['relu_relu']
        """
        return self.optimize(explain=True, **options).report.steps

    def verify(
        self, other: Model, *, seed: int = 1, time_limit: float | None = None, threads: int = 0
    ) -> Verification:
        """Whether two models compute the same function, exactly: see Verification.

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
        """A program to be called. `threads` 0: one for each core; `memory_limit` in MiB; `tune_near_ms`:
        milliseconds in which operators that were never tuned may try what tuned ones near to them use."""
        return Program(self, backend=backend, dtype=dtype, threads=threads,
                       memory_limit=memory_limit, seed=seed, allow_tf32=allow_tf32,
                       tune_near_ms=tune_near_ms)

    def run(self, *inputs: Tensor, **named: Tensor) -> Any:
        """Outputs of one run; the program is made once and kept.

        >>> import tangram
        >>> tangram.parse("model m(x: f32[2]) { 2.0 * x }").run({"x": [1, 2]})
        array([2., 4.], dtype=float32)
        """
        if self._program is None:
            self._program = self.compile()
        return self._program(*inputs, **named)

    # --- saving ---------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str], *, weights: bool = True, opset: int = 0) -> list[str]:
        """Writes a .onnx file with its weights, or a .tg file with them in a .safetensors file beside
        it (not with `weights=False`). Returns what an ONNX file takes for granted, in sentences.

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
            raise ValueError(f"`{path}`: a model is saved as .tg or .onnx")
        core = self._core
        if weights and core.weights:
            core = core.save_weights(str(path.with_suffix(".safetensors")))
        path.write_text(core.text(), encoding="utf-8")
        return []

    # --- pictures -------------------------------------------------------------------------------

    def svg(self, other: Model | None = None) -> str:
        """The graph as an SVG element; operators that `other` does not have are of class `changed`."""
        return self._core.svg(None if other is None else _arguments.model("other", other)._core)

    def _repr_html_(self) -> str:
        return f"<style>{_core.svg_style()}</style>{self.svg()}"

    def __repr__(self) -> str:
        inputs = ", ".join(f"{s.name}: {s.dtype}[{', '.join(map(str, s.shape))}]" for s in self.inputs)
        count = self.op_count
        return f"<tangram.Model {self.name}({inputs}), {count} operator{'s' * (count != 1)}>"


class Verification:
    """What `Model.verify` found.

    `verdict` is 'equal', 'different' or 'undecided'; `error_bound` the chance that an equality
    is wrong; `why` what stood in the way of a verdict; `a` and `b` an element that differs and its
    values; `inputs` what shows it. True where the models are equal.
    """

    def __init__(self, core: _core.Verification) -> None:
        self._core = core

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # of a copy that is not made yet
            raise AttributeError(name)
        return getattr(self._core, name)

    @property
    def equal(self) -> bool:
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
        how = {"identical": "node for node", "float64": "in float64 alone, without a bound",
               "field": f"at {v.points} points modulo random primes, error bound {v.error_bound:.1e}"}
        return f"equal: {how[v.method]}"

    def __repr__(self) -> str:
        return f"<tangram.Verification {self}>"

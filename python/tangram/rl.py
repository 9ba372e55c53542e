"""Optimisation as a game, for agents of your own (X-RLflow: He et al., MLSys 2023).

A state is a graph, an action one rewrite of it or to stop, a reward what the time of the whole graph
gained. Candidates come in one order, rule by rule and place by place, so that equal models, options and
actions lead to equal states.

>>> import tangram
>>> model = tangram.parse("model m(x: f32[8, 8]) { relu(relu(transpose(transpose(x)))) }")
>>> env = tangram.rl.Environment(model, rewards="prices", cost="analytic:cpu", measure_every=1, horizon=5)
>>> observation, info = env.reset()
>>> [rewrite.rule for rewrite in env.candidates]
['relu_relu', ...]
>>> done = False
>>> while not done:  # whatever makes the graph smallest
...     graphs = [graph.nodes for graph in env.graphs()]
...     observation, reward, terminated, truncated, info = env.step(graphs.index(min(graphs)))
...     done = terminated or truncated
>>> env.best.model.op_count
1

`gymnasium(...)` gives the same as an environment of Gymnasium, if that is installed:

    env = tangram.rl.gymnasium(model, horizon=20)
    observation, info = env.reset(seed=1)
    action = env.action_space.sample(mask=observation["action_mask"])
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypedDict

import numpy

from . import _arguments, _core
from ._model import Model
from .rules import selection

if TYPE_CHECKING:
    from typing import Unpack

    import gymnasium as gym  # type: ignore[import-not-found,unused-ignore]

__all__ = ["Best", "Environment", "Graph", "OPERATORS", "Observation", "Options", "Rewrite", "Step", "TRAITS",
           "gymnasium"]

Step = _core.RewriteStep

#: What the numbers of `Graph.operators` stand for. 0 is no operator: padding.
OPERATORS: tuple[str, ...] = tuple(_core.operator_names())
#: Numbers that `Graph.traits` has of a node.
TRAITS: int = _core.NODE_TRAITS

# Operands of a node are few; what a concatenation of many has beyond this many for each node is left out.
_EDGES_OF_A_NODE = 4


class Rewrite(NamedTuple):
    """One rule at one place of a graph; the place in words."""

    rule: str
    place: str


def _finite(name: str, value: float) -> float:
    if not math.isfinite(value):
        raise ValueError(f"{name} is {value}, which is not finite")
    return value


def _rewrites(found: Sequence[_core.Rewrite]) -> list[Rewrite]:
    return [Rewrite(rewrite.rule, rewrite.place) for rewrite in found]


class Options(TypedDict, total=False):
    """Options that an environment takes beside its own: those of `Model.optimize`, with the same meaning."""

    rules: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
    numerics: Literal["exact", "reassociate", "all", "lossy"]
    trust_rules: bool
    rule_cache: str | os.PathLike[str]
    cost: str | os.PathLike[str]
    cost_db: str | os.PathLike[str]
    weights: str | os.PathLike[str]
    memory_limit: int
    threads: int
    seed: int


class Observation(TypedDict):
    """All graphs that an action leads to, padded: `K` actions, `N` nodes, `E` edges.

    The graph of the last action that is not masked is the one as it stands.
    """

    operators: numpy.ndarray  # int32[K, N], in OPERATORS
    traits: numpy.ndarray  # float32[K, N, TRAITS]
    edges: numpy.ndarray  # int32[K, E, 2]; -1 is padding
    action_mask: numpy.ndarray  # int8[K]


@dataclass(frozen=True)
class Graph:
    """A graph as arrays: its operators, without inputs and weights.

    `traits` has dimensions of the result and of two operands, as logarithms, what is computed from weights
    alone, and numbers of the attributes; `edges` pairs of a node and one that takes its result.
    """

    operators: numpy.ndarray  # int32[nodes]
    traits: numpy.ndarray  # float32[nodes, TRAITS]
    edges: numpy.ndarray  # int32[edges, 2]

    @property
    def nodes(self) -> int:
        return len(self.operators)

    def names(self) -> list[str]:
        """The operators, as the language names them.

        >>> import tangram
        >>> model = tangram.parse("model m(x: f32[8, 8]) { relu(x @ x) }")
        >>> env = tangram.rl.Environment(model, rewards="prices", cost="analytic:cpu")
        >>> _ = env.reset()
        >>> env.graphs()[-1].names()
        ['matmul', 'relu']
        """
        return [OPERATORS[number] for number in self.operators]


@dataclass(frozen=True)
class Best:
    """The graph that took least of those measured, and what led there."""

    model: Model
    time_us: float
    path: list[Rewrite]


class Environment:
    """A game of rewriting one model, in the protocol of Gymnasium, which need not be installed.

    `rewards` is "measured": whole runs, interleaved with the source; or "prices" (`cost`). They are taken every
    `measure_every` steps (0: at the end alone) and are hundredths of the source's time that were gained since
    the last; a step that is not measured has `waiting_reward`. `time` is a clock of your own, a function of a
    Model that gives seconds; `reward` a function of a Step in the place of the usual reward. Where the clock
    gives no time, which is finite and not below 0, the step fails with a tangram.Error; where the reward is
    not finite, with a ValueError.

    An episode ends by the action to stop, which comes behind the candidates, where nothing can be done any more,
    or after `horizon` steps. There are at most `max_candidates` actions, and candidates with more than
    `max_operators` operators are left out (0: twice those of the model).

    >>> import tangram
    >>> model = tangram.parse("model m(x: f32[8, 8]) { relu(relu(transpose(transpose(x)))) }")
    >>> env = tangram.rl.Environment(model, cost="analytic:cpu", rewards="prices",
    ...                              reward=lambda step: -1.0 if not step.done else step.source_us / step.time_us)
    >>> observation, info = env.reset()
    >>> int(observation["action_mask"].sum()) == len(env.candidates) + 1
    True
    >>> env.step(0)[1]
    -1.0
    >>> env.step(env.stop)[1] > 1
    True
    """

    def __init__(
        self,
        model: Model,
        *,
        rewards: Literal["measured", "prices"] = "measured",
        horizon: int = 100,
        measure_every: int = 5,
        waiting_reward: float = 0.0,
        max_candidates: int = 128,
        max_operators: int = 0,
        time: Callable[[Model], float] | None = None,
        reward: Callable[[Step], float] | None = None,
        **options: Unpack[Options],
    ) -> None:
        if rewards not in ("measured", "prices"):
            raise ValueError(f"rewards is measured or prices, not {rewards}")
        values: dict[str, Any] = dict(options)
        if unknown := set(values) - set(Options.__annotations__):
            raise TypeError(f"there is no option `{min(unknown)}`")
        names, text = selection(values.pop("rules", ()))
        if names:
            values["rules"] = names
        self.source = _arguments.model("model", model)
        self.max_candidates = _arguments.whole("max_candidates", max_candidates)
        self.max_operators = _arguments.whole("max_operators", max_operators) or max(2 * model.op_count, 16)
        self.horizon = _arguments.whole("horizon", horizon)
        self._reward = reward
        clock = None if time is None else lambda core: time(Model(core))
        self._core = _core.Environment(model._core, values, text, rewards == "prices", self.horizon,
                                       _arguments.whole("measure_every", measure_every),
                                       _finite("`waiting_reward`", float(waiting_reward)), self.max_candidates,
                                       self.max_operators, clock)

    # --- the game -------------------------------------------------------------------------------

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None
              ) -> tuple[Observation, dict[str, Any]]:
        """Back to the model. Nothing is drawn, so `seed` changes nothing; `options` are not looked at."""
        del seed, options
        self._core.reset()
        return self.observation(), self._info()

    def step(self, action: int) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """What comes of an action: observation, reward, whether the episode terminated, whether the horizon cut
        it, and `info` with `time_us`, `measured` and the rewrite.

        Every action from `stop` on is to stop, also those that the mask leaves out.
        """
        number = min(int(action), self.stop)
        if number < 0:
            raise IndexError(f"there is no action {number}")
        rewrite = self.candidates[number] if number < self.stop else None
        done = self._core.step(number)
        reward = done.reward if self._reward is None else _finite("the reward", float(self._reward(done.step)))
        info = self._info() | {"measured": done.step.measured, "time_us": done.step.time_us, "rewrite": rewrite}
        return self.observation(), reward, done.terminated, done.truncated, info

    @property
    def candidates(self) -> list[Rewrite]:
        """What can be done in this state: action i is candidate i."""
        return _rewrites(self._core.candidates)

    @property
    def stop(self) -> int:
        """The action that ends the episode."""
        return len(self._core.candidates)

    @property
    def path(self) -> list[Rewrite]:
        """What was done since `reset`."""
        return _rewrites(self._core.path)

    @property
    def model(self) -> Model:
        """The graph as it stands."""
        return Model(self._core.model)

    def after(self, action: int) -> Model:
        """The graph that an action leads to."""
        return Model(self._core.after(_arguments.whole("action", action)))

    @property
    def best(self) -> Best:
        """Of all episodes; at first the model itself."""
        found = self._core.best
        return Best(Model(found.model), found.time_us, _rewrites(found.path))

    @property
    def measurements(self) -> int:
        """Distinct graphs whose time was asked for."""
        return self._core.measurements

    def render(self) -> str:
        """The graph as it stands, as text.

        >>> import tangram
        >>> model = tangram.parse("model m(x: f32[8]) { relu(relu(x)) }")
        >>> env = tangram.rl.Environment(model, cost="analytic:cpu", rewards="prices")
        >>> _ = env.reset()
        >>> print(env.render())
        model m(x: f32[8])...
        """
        return self.model.text

    def close(self) -> None:
        """Nothing is left open."""

    # --- as numbers -----------------------------------------------------------------------------

    def graphs(self) -> list[Graph]:
        """The graphs that the actions lead to, of their own sizes; the last is the graph as it stands."""
        return [Graph(*self._core.numbers(action)) for action in range(self.stop + 1)]

    def action_masks(self) -> numpy.ndarray:
        """Which of `max_candidates` actions there are, as bools (the name that sb3-contrib asks for)."""
        mask = numpy.zeros(self.max_candidates, bool)
        mask[: self.stop + 1] = True
        return mask

    def observation(self) -> Observation:
        """`graphs`, padded to arrays of one size."""
        sizes = self.max_candidates, self.max_operators
        operators = numpy.zeros(sizes, numpy.int32)
        traits = numpy.zeros((*sizes, TRAITS), numpy.float32)
        edges = numpy.full((sizes[0], sizes[1] * _EDGES_OF_A_NODE, 2), -1, numpy.int32)
        for at, graph in enumerate(self.graphs()):
            nodes = min(graph.nodes, sizes[1])  # the graph as it stands may have more
            operators[at, :nodes] = graph.operators[:nodes]
            traits[at, :nodes] = graph.traits[:nodes]
            inside = graph.edges[(graph.edges < nodes).all(axis=1)][: edges.shape[1]]
            edges[at, : len(inside)] = inside
        return {"operators": operators, "traits": traits, "edges": edges,
                "action_mask": self.action_masks().astype(numpy.int8)}

    def _info(self) -> dict[str, Any]:
        return {"candidates": self.candidates, "source_us": self._core.source_us}

    # --- Gymnasium's classes --------------------------------------------------------------------

    @property
    def action_space(self) -> gym.spaces.Discrete:
        """`Discrete(max_candidates)`; needs Gymnasium."""
        space: gym.spaces.Discrete = _gymnasium().spaces.Discrete(self.max_candidates)
        return space

    @property
    def observation_space(self) -> gym.spaces.Dict:
        """Of `Observation`; needs Gymnasium."""
        spaces = _gymnasium().spaces
        sizes = self.max_candidates, self.max_operators
        space: gym.spaces.Dict = spaces.Dict({
            "operators": spaces.Box(0, len(OPERATORS) - 1, sizes, numpy.int32),
            "traits": spaces.Box(-16, 16, (*sizes, TRAITS), numpy.float32),
            "edges": spaces.Box(-1, sizes[1] - 1, (sizes[0], sizes[1] * _EDGES_OF_A_NODE, 2), numpy.int32),
            "action_mask": spaces.MultiBinary(sizes[0]),
        })
        return space


def _gymnasium() -> Any:
    try:
        import gymnasium as module
    except ImportError as error:
        raise ImportError("Gymnasium's classes need Gymnasium, which is not installed: pip install gymnasium. "
                          "tangram.rl.Environment is the same game without it.") from error
    return module


def gymnasium(model: Model, *, render_mode: Literal["ansi"] | None = None, **options: Any) -> gym.Env:
    """An `Environment` of these options as a `gymnasium.Env`; `env.unwrapped.game` is the environment itself.

    Raises ImportError, saying what to install, where Gymnasium is not.
    """
    module = _gymnasium()

    class RewriteEnv(module.Env):  # type: ignore[misc,name-defined,unused-ignore]
        metadata = {"render_modes": ["ansi"], "render_fps": 1}

        def __init__(self) -> None:
            self.game = Environment(model, **options)
            self.action_space = self.game.action_space
            self.observation_space = self.game.observation_space
            self.render_mode = render_mode

        def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None
                  ) -> tuple[Observation, dict[str, Any]]:
            super().reset(seed=seed)
            return self.game.reset(seed=seed, options=options)

        def step(self, action: Any) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
            return self.game.step(action)

        def action_masks(self) -> numpy.ndarray:
            return self.game.action_masks()

        def render(self) -> str | None:
            return self.game.render() if self.render_mode == "ansi" else None

    return RewriteEnv()

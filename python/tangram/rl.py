"""Optimization as an environment for reinforcement learning (X-RLflow: He et al., MLSys 2023).

A state is a graph. An action is one rewrite of the graph, or to stop.
A reward is the reduction of the whole graph's time. Candidates have a fixed order, by rule and by place,
so equal models, options and actions lead to equal states.

>>> import tangram
>>> model = tangram.parse("model m(x: f32[8, 8]) { relu(relu(transpose(transpose(x)))) }")
>>> env = tangram.rl.Environment(model, rewards="prices", cost="analytic:cpu", measure_every=1, horizon=5)
>>> observation, info = env.reset()
>>> [rewrite.rule for rewrite in env.candidates]
['relu_relu', ...]
>>> done = False
>>> while not done:  # take the action that makes the graph smallest
...     graphs = [graph.nodes for graph in env.graphs()]
...     observation, reward, terminated, truncated, info = env.step(graphs.index(min(graphs)))
...     done = terminated or truncated
>>> env.best.model.op_count
1

`gymnasium(...)` returns the same as an environment of Gymnasium, if that is installed:

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

#: The meaning of the numbers in `Graph.operators`. 0 is padding, not an operator.
OPERATORS: tuple[str, ...] = tuple(_core.operator_names())
#: The number of entries of `Graph.traits` per node.
TRAITS: int = _core.NODE_TRAITS

# The limit of edges per node. Nodes have few operands; those of a large concatenation beyond this limit are omitted.
_EDGES_OF_A_NODE = 4


class Rewrite(NamedTuple):
    """One rule at one place of a graph; the place is described in words."""

    rule: str
    place: str


def _finite(name: str, value: float) -> float:
    if not math.isfinite(value):
        raise ValueError(f"{name} is {value}, which is not finite")
    return value


def _rewrites(found: Sequence[_core.Rewrite]) -> list[Rewrite]:
    return [Rewrite(rewrite.rule, rewrite.place) for rewrite in found]


class Options(TypedDict, total=False):
    """Further options of an environment: those of `Model.optimize`, with the same meaning."""

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
    """All graphs that actions lead to, padded: `K` actions, `N` nodes, `E` edges.

    The graph of the last action that is not masked is the current one.
    """

    operators: numpy.ndarray  # int32[K, N], in OPERATORS
    traits: numpy.ndarray  # float32[K, N, TRAITS]
    edges: numpy.ndarray  # int32[K, E, 2]; -1 is padding
    action_mask: numpy.ndarray  # int8[K]


@dataclass(frozen=True)
class Graph:
    """A graph as arrays: its operators, without inputs and weights.

    `traits` has the dimensions of the result and of two operands, as logarithms;
    whether the node depends on weights alone; and numeric attributes.
    `edges` has pairs of a node and a reader of its result.
    """

    operators: numpy.ndarray  # int32[nodes]
    traits: numpy.ndarray  # float32[nodes, TRAITS]
    edges: numpy.ndarray  # int32[edges, 2]

    @property
    def nodes(self) -> int:
        """The number of operators."""
        return len(self.operators)

    def names(self) -> list[str]:
        """Returns the names of the operators in the language.

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
    """The fastest measured graph, and the rewrites that led to it."""

    model: Model
    time_us: float
    path: list[Rewrite]


class Environment:
    """An environment in which an agent rewrites one model. It has the methods of Gymnasium, which need not be installed.

    `rewards` is "measured" (whole runs, interleaved with the source) or "prices" (`cost`).
    The time is taken every `measure_every` steps (0: only at the end).
    The reward is the gain since the previous measurement, in percent of the source's time;
    a step without a measurement has `waiting_reward`. `time` replaces the clock: a function of a Model
    that returns seconds. `reward` replaces the default reward: a function of a Step.
    If the time is negative or not finite, the step fails with a tangram.Error;
    if the reward is not finite, with a ValueError.

    An episode ends by the action to stop, which follows the candidates; when there are no candidates;
    or after `horizon` steps. There are at most `max_candidates` actions, and candidates with more
    than `max_operators` operators are omitted (0: twice those of the model).

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
            raise ValueError(f"rewards must be measured or prices, not {rewards}")
        values: dict[str, Any] = dict(options)
        if unknown := set(values) - set(Options.__annotations__):
            raise TypeError(f"unknown option `{min(unknown)}`")
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

    # --- episodes -------------------------------------------------------------------------------

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None
              ) -> tuple[Observation, dict[str, Any]]:
        """Returns to the model. Nothing is random, so `seed` has no effect; `options` are ignored."""
        del seed, options
        self._core.reset()
        return self.observation(), self._info()

    def step(self, action: int) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Returns the result of an action: observation, reward, whether the episode terminated,
        whether the horizon truncated it, and `info` with `time_us`, `measured` and the rewrite.

        Every action from `stop` on means to stop, including masked ones. Raises `Error` if no episode is in progress,
        or if the clock fails.
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
        """The candidates in this state: action i is candidate i."""
        return _rewrites(self._core.candidates)

    @property
    def stop(self) -> int:
        """The action that ends the episode."""
        return len(self._core.candidates)

    @property
    def path(self) -> list[Rewrite]:
        """The rewrites since `reset`."""
        return _rewrites(self._core.path)

    @property
    def model(self) -> Model:
        """The current graph."""
        return Model(self._core.model)

    def after(self, action: int) -> Model:
        """Returns the graph that an action leads to."""
        return Model(self._core.after(_arguments.whole("action", action)))

    @property
    def best(self) -> Best:
        """The graph with the least measured time of all episodes; initially the model itself."""
        found = self._core.best
        return Best(Model(found.model), found.time_us, _rewrites(found.path))

    @property
    def measurements(self) -> int:
        """The number of distinct graphs that were timed."""
        return self._core.measurements

    def render(self) -> str:
        """Returns the current graph as text.

        >>> import tangram
        >>> model = tangram.parse("model m(x: f32[8]) { relu(relu(x)) }")
        >>> env = tangram.rl.Environment(model, cost="analytic:cpu", rewards="prices")
        >>> _ = env.reset()
        >>> print(env.render())
        model m(x: f32[8])...
        """
        return self.model.text

    def close(self) -> None:
        """Does nothing: there is nothing to close."""

    # --- as numbers -----------------------------------------------------------------------------

    def graphs(self) -> list[Graph]:
        """Returns the graphs that the actions lead to, with their own sizes;
        the last is the current graph."""
        return [Graph(*self._core.numbers(action)) for action in range(self.stop + 1)]

    def action_masks(self) -> numpy.ndarray:
        """Returns which of `max_candidates` actions exist, as bools (the name is that of sb3-contrib)."""
        mask = numpy.zeros(self.max_candidates, bool)
        mask[: self.stop + 1] = True
        return mask

    def observation(self) -> Observation:
        """Returns `graphs`, padded to arrays of one size."""
        sizes = self.max_candidates, self.max_operators
        operators = numpy.zeros(sizes, numpy.int32)
        traits = numpy.zeros((*sizes, TRAITS), numpy.float32)
        edges = numpy.full((sizes[0], sizes[1] * _EDGES_OF_A_NODE, 2), -1, numpy.int32)
        for at, graph in enumerate(self.graphs()):
            nodes = min(graph.nodes, sizes[1])  # the current graph may have more
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
        """The space of `Observation`; needs Gymnasium."""
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
        raise ImportError("this class requires Gymnasium, which is not installed: pip install gymnasium. "
                          "tangram.rl.Environment is the same environment without it.") from error
    return module


def gymnasium(model: Model, *, render_mode: Literal["ansi"] | None = None, **options: Any) -> gym.Env:
    """Returns an `Environment` with these options as a `gymnasium.Env`;
    `env.unwrapped.game` is the environment itself.

    Raises ImportError, with what to install, if Gymnasium is missing.
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

"""Options of a search, as `Model.optimize` takes them. Made of compiler/api/options.def by
`python -m tangram._option_types`; a test compares it with the table."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Literal, TypedDict


class SearchOptions(TypedDict, total=False):
    # what a run computes in. A search uses the prices of this type. Weights are folded in f32.
    dtype: Literal["f32", "f16", "bf16"]
    # a file of weights; default: the model's, or random. A .safetensors file, or the tensors of an
    # .onnx file; they replace those that a model has in its own file.
    weights: str | os.PathLike[str]
    # cuda: f32 products in tf32, with ten bits
    allow_tf32: bool
    # how graphs are found
    search: Literal["none", "saturate", "random", "mcts", "anneal", "taso", "greedy"]
    # how the best graph of an e-graph is chosen
    extract: Literal["greedy", "greedy-shared", "greedy-dag", "ilp", "lp", "best"]
    # files, rule sets or rules; default: all built in. A name after a minus sign is left out.
    rules: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
    # rules that may be used, by what they change. lossy is all, and casts that cut.
    numerics: Literal["exact", "reassociate", "all", "lossy"]
    # use rules of files without verifying them
    trust_rules: bool
    # remembers which rules were verified
    rule_cache: str | os.PathLike[str]
    # iterations of saturation
    iterations: int
    # those of multi-pattern rules
    multi_iterations: int
    # egg's scheduler, with limits between iterations
    backoff: bool
    # how cycles of an e-graph are avoided
    cycle_filter: Literal["efficient", "vanilla", "none"]
    # cycle constraints in the integer program
    ilp_cycles: Literal["none", "real", "int"]
    # how much is tried. mcts: simulations for a decision (128); anneal: moves (4000); taso: graphs
    # (300); random: rollouts (64).
    budget: int
    # random steps of a simulation (10; random: 16)
    depth: int
    # the constant of the upper confidence bound
    exploration: float
    # graphs up to A times the best are kept
    alpha: float
    # parts of the search to leave out
    without: Sequence[Literal["widening", "firing", "normalising", "transpositions", "priors", "segments", "repeats", "restarts", "saturation", "tree", "thorough", "focus"]]
    # what earlier searches learned of rules
    priors: str | os.PathLike[str]
    # write what this search learned
    save_priors: str | os.PathLike[str]
    # weights of rules that guide the search, as JSON. A table, as `tg-paper train --policy gains`
    # and `motifs` write it; `tg-paper` also takes policies that are networks.
    policy: str | os.PathLike[str]
    # check the result against its source, exactly. Every step is checked against its rule, too.
    verify: bool
    # prices: calibrated, analytic, measured, file:TABLE. calibrated[:cpu|:cuda], the default: this
    # machine's price model. analytic: estimates; what is found is run beside its source.
    # analytic:PROFILE: of a device that need not be here: cpu, t4, a100, h200.
    # measured[:cpu|:cuda]: every operator is timed. file:TABLE: as --save-costs writes it.
    cost: str | os.PathLike[str]
    # database of measured costs. Default: in the user's cache folder.
    cost_db: str | os.PathLike[str]
    # time operators with operands in the cache or not. Default: as a network of this size finds
    # them.
    cost_cache: Literal["hot", "cold"]
    # refine by prices of what the device fuses. Of what is launched at once (cuda; analytic:t4,
    # a100, h200); auto: where costs are measured.
    groups: Literal["auto", "on", "off"]
    # graphs that are built and run whole. So many with measured costs, by default one at most; 0:
    # none, prices decide.
    finalists: int
    # write the prices used, as a table for file:TABLE
    save_costs: str | os.PathLike[str]
    # most bytes of weights, over those of the source
    max_weight_growth: float
    # seconds for everything. By default mcts has 10, or 1.2 for each of up to four searches where
    # prices are guesses (calibrated); others have 60 for exploration and 60 for extraction.
    time_limit: float
    # most e-nodes; default: 2000 for tree searches. 50000 otherwise, and for what mcts saturates
    # first.
    node_limit: int
    # most memory of the process, in MiB; default: 80%. Of the machine's memory. It counts what the
    # process holds while it searches, with the solver's, and what a model needs to run.
    memory_limit: int
    # cores to use; default: all
    threads: int
    # those of the search; default: --threads
    search_threads: int
    # of everything random
    seed: int

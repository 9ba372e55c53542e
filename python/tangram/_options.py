"""Options of a search, as `Model.optimize` takes them. Made of compiler/api/options.def by
`python -m tangram._option_types`; a test compares it with the table."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Literal, TypedDict


class SearchOptions(TypedDict, total=False):
    # data type. A search uses prices of this type. Weights are folded in f32.
    dtype: Literal["f32", "f16", "bf16"]
    # weight file; default: the model's, or random. A .safetensors file, or the tensors of an .onnx
    # file. They replace the weights in the model's own file.
    weights: str | os.PathLike[str]
    # cuda: compute f32 products in tf32, with 10 bits
    allow_tf32: bool
    # search strategy
    search: Literal["none", "saturate", "random", "mcts", "anneal", "taso", "greedy"]
    # extractor that chooses the best graph of an e-graph
    extract: Literal["greedy", "greedy-shared", "greedy-dag", "ilp", "lp", "best"]
    # rule files, rule sets or rules; default: all built in. A minus sign before a name leaves it
    # out.
    rules: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
    # rules that may be used, by their effect on numbers. lossy allows all of these, and casts that
    # truncate.
    numerics: Literal["exact", "reassociate", "all", "lossy"]
    # use rules from files without verifying them
    trust_rules: bool
    # file that records which rules were verified
    rule_cache: str | os.PathLike[str]
    # iterations of saturation
    iterations: int
    # first iterations in which multi-pattern rules run
    multi_iterations: int
    # use egg's scheduler; check limits between iterations
    backoff: bool
    # method that keeps cycles out of the e-graph
    cycle_filter: Literal["efficient", "vanilla", "none"]
    # cycle constraints of the integer program
    ilp_cycles: Literal["none", "real", "int"]
    # size of the search. mcts: simulations per decision (128); anneal: moves (4000); taso: graphs
    # (300); random: rollouts (64).
    budget: int
    # random steps per simulation (10; random: 16)
    depth: int
    # constant of the upper confidence bound
    exploration: float
    # keep graphs that cost up to A times the best
    alpha: float
    # parts of the search to leave out
    without: Sequence[Literal["firing", "priors", "segments", "repeats", "saturation", "tree", "thorough", "focus"]]
    # file of rule priors from earlier searches
    priors: str | os.PathLike[str]
    # write the priors that this search learned
    save_priors: str | os.PathLike[str]
    # rule weights that guide the search, as JSON. A table written by `tg-paper train --policy
    # gains` or `motifs`. `tg-paper` also accepts policies that are networks.
    policy: str | os.PathLike[str]
    # check the result exactly against its source. Every step is also checked against its rule.
    verify: bool
    # prices: calibrated, analytic, measured or file:TABLE. calibrated[:cpu|:cuda], the default:
    # this machine's price model. analytic: estimates; the result is then timed against its source.
    # analytic:PROFILE: estimates for a device that need not be present: cpu, t4, a100, h200.
    # measured[:cpu|:cuda]: every operator is timed. file:TABLE: a table written by --save-costs.
    cost: str | os.PathLike[str]
    # database of measured costs. Default: a file in the user's cache folder.
    cost_db: str | os.PathLike[str]
    # cache state of the operands of timed operators. Default: as in a run of a network of this
    # size.
    cost_cache: Literal["hot", "cold"]
    # refine by prices of groups that the device fuses. Prices each group of operators that one
    # launch runs (cuda; analytic:t4, a100, h200). auto: if costs are measured.
    groups: Literal["auto", "on", "off"]
    # number of candidate graphs to time in whole runs. N with measured costs, otherwise one at
    # most. 0: none, prices alone decide.
    finalists: int
    # write the prices used, as a table for file:TABLE
    save_costs: str | os.PathLike[str]
    # most bytes of weights, relative to the source
    max_weight_growth: float
    # seconds for the whole optimisation. By default mcts has 10, or 1.2 for each of up to four
    # searches if prices are estimates (calibrated); others have 60 for exploration and 60 for
    # extraction.
    time_limit: float
    # most e-nodes; default: 2000 for tree searches. 50000 otherwise, and for the e-graph that mcts
    # saturates first.
    node_limit: int
    # most memory in MiB; default: 80% of the machine's. Includes the memory of the process and its
    # solver during a search, and the memory that a model needs to run.
    memory_limit: int
    # cores to use; default: all
    threads: int
    # cores that the search uses; default: --threads
    search_threads: int
    # random seed
    seed: int

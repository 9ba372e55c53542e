// From an e-graph to the cheapest graph in it: the extraction problem of the e-graph, an extractor,
// and the graph of what was chosen.
//
// What is known at load costs nothing at run time, so it is settled first: in a class that can be
// computed from weights and constants alone only such nodes are candidates, and of them those of
// the smallest tree are taken (fewest operators, then fewest bytes). That is free only because
// their operands are chosen the same way, which holds by construction.
//
// Prices are microseconds from the cost model. To each, a tiny term is added that is no price: ties
// go to fewer operators at run time, then to fewer at load. It is left out of every figure that is
// reported.
#pragma once

#include "compiler/egraph/egraph.h"
#include "compiler/extract/cost/cost.h"
#include "compiler/extract/cost/kernel_match.h"
#include "compiler/extract/extractors.h"
#include "compiler/rules/rule_counts.h"
#include "lang/core/support/stop.h"

#include <deque>

namespace tg {

struct ExtractOptions {
  Extractor extractor = Extractor::Ilp;
  IlpOptions ilp = {};
  /// Most bytes of weights that run time needs, over those of the source graph or its largest
  /// tensor.
  double max_weight_growth = 4;
  /// Weigh what the device does in one kernel (CostModel::patterns) as nodes of their own.
  bool kernels = false;
  /// Of all that runs. Where it ends the work before there is an answer, that is the source.
  StopToken stop = {};
};

struct ExtractedGraph {
  Graph graph;
  /// Where kernels were chosen: the same with the operators that these stand for, one by one, as
  /// the e-graph has them. `graph` follows from it by fusing alone.
  std::optional<Graph> plain = {};
  double cost_us = 0;
  /// No graph of this e-graph that holds at most `bound_bytes` of weights and constants costs less,
  /// up to the terms that break ties. 0: nothing is known.
  double lower_bound_us = 0;
  double bound_bytes = kInfiniteCost;
  bool optimal = false;
  bool out_of_time = false;              // the clock ended it before a proof
  double weight_bytes = 0;               // that run time needs
  std::string algorithm = {}, note = {}; // of Extraction
  double seconds = 0;                    // pricing and building included
  size_t problem_classes = 0, problem_nodes = 0;
  std::vector<RuleUse> rules_used = {}; // by rule: applications that made a chosen node
};

/// The cheapest graph of the e-graph's roots; inputs and outputs are named and ordered as those of
/// `source`, which the e-graph was made from. Filtered nodes are not used. Requires clean().
/// Errors: `no_solution` names an output without a finite-cost form.
Result<ExtractedGraph> extract(const EGraph& egraph, const Graph& source, PriceCache& prices,
                               const ExtractOptions& options = {});

/// The operators that a run of a graph computes,
/// each as often as it does: what its price is the sum of.
struct GraphInstances {
  GraphInstances() = default;
  GraphInstances(GraphInstances&&) = default; // a copy's instances would refer to the original's
  GraphInstances& operator=(GraphInstances&&) = default;
  std::deque<llvm::SmallVector<TypeId, 5>> types; // that `instances` refer to
  std::vector<OpInstance> instances;
  std::vector<NodeId> nodes; // of each
};
GraphInstances instances_of(const Graph& graph);

/// Price of one run of a graph as it is: all operators that the outputs need but what is known at
/// load. Infinite if one has no price. Units: microseconds.
double price_graph(const Graph& graph, PriceCache& prices);

/// The e-graph as an extraction problem, and what its numbers stand for.
struct EGraphProblem {
  ExtractionProblem problem;        // costs with ties, in microseconds
  std::vector<ENodeId> node;        // by node of the problem, up to those of kernels
  std::vector<KernelMatch> kernels; // of the nodes after these
  std::vector<double> price;        // by node, without ties
  std::vector<ClassId> cls;         // by class of the problem, canonical

  /// The kernel that a node stands for; null where it is an e-node.
  const KernelMatch* kernel(NodeIx n) const {
    return n.index < node.size() ? nullptr : &kernels[n.index - node.size()];
  }
};
/// `kernels`: with nodes for what the cost model's device does in one kernel; of these `stop` may
/// leave some out. Where it ends more than that, nothing is returned.
std::optional<EGraphProblem> make_problem(const EGraph& egraph, PriceCache& prices,
                                          double max_weight_growth, bool kernels,
                                          const StopToken& stop);
EGraphProblem make_problem(const EGraph& egraph, PriceCache& prices, double max_weight_growth,
                           bool kernels = false);

/// The choice that is a graph which the e-graph holds, the source or another; nullopt if a node of
/// it is not there, or has been filtered.
std::optional<Choice> source_choice(const EGraph& egraph, const Graph& source,
                                    const EGraphProblem& problem);

/// What a choice stands for, with its price, its weights and its rules. Requires a sound choice.
ExtractedGraph graph_of_choice(const EGraph& egraph, const Graph& source,
                               const EGraphProblem& problem, const Choice& choice);

} // namespace tg

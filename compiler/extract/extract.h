// Extracts the cheapest graph from an e-graph: builds the extraction problem, runs an extractor,
// and builds the graph of the choice.
//
// Values that are computed at load are free at run time, so they are decided first. In a class that
// can be computed from weights and constants alone, only such nodes are candidates, and of these
// the one with the smallest tree is taken (fewest operators, then fewest bytes). The class is free
// at run time only because its operands are chosen in the same way, which holds by construction.
//
// Costs are microseconds from the cost model. Each gets a tiny additional term that breaks ties:
// fewer operators at run time win, then fewer at load. Reported figures leave these terms out.
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
  /// Limit on the bytes of weights that run time needs, as a multiple of the bytes of the source
  /// graph (at least of its largest tensor).
  double max_weight_growth = 4;
  /// Add a node for each kernel of the device that covers several operators (CostModel::patterns).
  bool kernels = false;
  /// Ends all phases. If it ends the work before there is an answer, the result is the
  /// source graph.
  StopToken stop = {};
};

struct ExtractedGraph {
  Graph graph;
  /// Set if kernels were chosen: the same graph with each kernel replaced by the operators that it
  /// covers, as the e-graph has them. `graph` follows from it by fusing alone.
  std::optional<Graph> plain = {};
  double cost_us = 0;
  /// No graph of this e-graph whose weights and constants take at most `bound_bytes` costs less, up
  /// to the terms that break ties. 0: no bound is known.
  double lower_bound_us = 0;
  double bound_bytes = kInfiniteCost;
  bool optimal = false;
  bool out_of_time = false;              // the time limit ended it before a proof
  double weight_bytes = 0;               // that run time needs
  std::string algorithm = {}, note = {}; // as in Extraction
  double seconds = 0;                    // including pricing and building
  size_t problem_classes = 0, problem_nodes = 0;
  std::vector<RuleUse> rules_used = {}; // for each rule, applications that made a chosen node
};

/// Returns the cheapest graph of the e-graph's roots. Inputs and outputs have the names and the
/// order of those of `source`, the graph from which the e-graph was made. Filtered nodes are not
/// used. Requires clean(). Errors: `no_solution` names an output without a form of finite cost.
Result<ExtractedGraph> extract(const EGraph& egraph, const Graph& source, PriceCache& prices,
                               const ExtractOptions& options = {});

/// The operators that a run of a graph computes, each as often as the run computes it. The price of
/// the graph is the sum of their prices.
struct GraphInstances {
  GraphInstances() = default;
  GraphInstances(GraphInstances&&) = default; // the instances of a copy would refer to the original
  GraphInstances& operator=(GraphInstances&&) = default;
  std::deque<llvm::SmallVector<TypeId, 5>> types; // referred to by `instances`
  std::vector<OpInstance> instances;
  std::vector<NodeId> nodes; // the node of each instance
};
GraphInstances instances_of(const Graph& graph);

/// Returns the price of one run of a graph as it is, in microseconds: the sum over all operators
/// that the outputs need, except those computed at load. Infinite if an operator has no price.
double price_graph(const Graph& graph, PriceCache& prices);

/// The e-graph as an extraction problem, and the meaning of its indices.
struct EGraphProblem {
  ExtractionProblem problem;        // costs in microseconds, with the terms that break ties
  std::vector<ENodeId> node;        // by node of the problem, before the nodes of kernels
  std::vector<KernelMatch> kernels; // of the remaining nodes
  std::vector<double> price;        // by node, without the terms that break ties
  std::vector<ClassId> cls;         // by class of the problem, canonical

  /// Returns the kernel of a node, or null if the node is an e-node.
  const KernelMatch* kernel(NodeIx n) const {
    return n.index < node.size() ? nullptr : &kernels[n.index - node.size()];
  }
};
/// Builds the extraction problem. `kernels` adds nodes for the multi-operator kernels of the cost
/// model's device. If `stop` ends the search for kernels, the remaining kernels are left out; if it
/// ends any other step, the result is nullopt.
std::optional<EGraphProblem> make_problem(const EGraph& egraph, PriceCache& prices,
                                          double max_weight_growth, bool kernels,
                                          const StopToken& stop);
EGraphProblem make_problem(const EGraph& egraph, PriceCache& prices, double max_weight_growth,
                           bool kernels = false);

/// Returns the choice that corresponds to a graph in the e-graph, such as the source; nullopt if
/// one of its nodes is not in the e-graph or was filtered.
std::optional<Choice> source_choice(const EGraph& egraph, const Graph& source,
                                    const EGraphProblem& problem);

/// Returns the graph of a choice, with its price, weights and rules. Requires a sound choice.
ExtractedGraph graph_of_choice(const EGraph& egraph, const Graph& source,
                               const EGraphProblem& problem, const Choice& choice);

} // namespace tg

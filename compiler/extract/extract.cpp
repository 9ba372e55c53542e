// Two passes over the classes that the roots reach: greedy decides the load part on a problem of
// its own; then the whole gets prices. Nodes of a class are taken oldest first, so that the
// source's own nodes win ties.
#include "compiler/extract/extract.h"

#include "compiler/extract/cost/fused.h"
#include "compiler/extract/greedy/greedy.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/MapVector.h>
#include <llvm/Support/FormatVariadic.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <map>

namespace tg {

namespace {

// Terms that break ties, in microseconds. Even a thousand of them are too small to measure.
constexpr double kRunOperatorTie = 1e-5;
constexpr double kLoadOperatorTie = 1e-6;
constexpr double kMostLoadOperators = 100; // a tree cost counts shared work many times
constexpr double kLoadByteTie = 1e-12;     // where an operator counts 1

using TypeList = llvm::SmallVector<TypeId, 5>;

void add_operand(OpInstance& instance, TypeList& types, TypeId type, bool load) {
  if (load && types.size() < 32) instance.weight_operands |= uint32_t{1} << types.size();
  types.push_back(type);
}

class ProblemBuilder {
public:
  ProblemBuilder(const EGraph& egraph, PriceCache& prices, Poll& poll)
      : egraph_(egraph), prices_(prices), poll_(poll), number_(egraph.class_bound()) {}

  /// Builds the problem; nullopt if stopped.
  std::optional<EGraphProblem> build(double max_weight_growth) {
    reach();
    if (!poll_.now()) choose_load_nodes();
    if (!poll_.now()) announce_prices();
    if (poll_.now()) return std::nullopt;
    for (uint32_t c = 0; c < out_.cls.size(); ++c) {
      out_.problem.add_class();
      if (is_load(c)) out_.problem.set_stored_bytes({c}, bytes(out_.cls[c]));
    }
    for (uint32_t c = 0; c < out_.cls.size() && !poll_.stopped(); ++c) add_nodes({c});
    if (poll_.now()) return std::nullopt;
    for (const EGraphRoot& root : egraph_.roots())
      out_.problem.add_root(number_[egraph_.find(root.id).index]);
    bound_bytes(max_weight_growth);
    out_.problem.seal();
    return std::move(out_);
  }

private:
  double bytes(ClassId cls) const {
    return static_cast<double>(egraph_.symbols().type(class_at(egraph_, cls).type).bytes());
  }
  bool is_load(uint32_t cls) const { return load_.tree_cost[cls] != kInfiniteCost; }
  ClassIx number(ClassId cls) const { return number_[egraph_.find(cls).index]; }

  llvm::SmallVector<ENodeId, 8> candidates(ClassId cls) const {
    llvm::SmallVector<ENodeId, 8> nodes;
    for (ENodeId node : egraph_.nodes(cls))
      if (egraph_.node(node).alive() && !egraph_.node(node).filtered()) nodes.push_back(node);
    llvm::sort(nodes, [](ENodeId a, ENodeId b) { return a.index < b.index; });
    return nodes;
  }

  /// Numbers the classes below the roots, breadth first.
  void reach() {
    auto take = [&](ClassId cls) {
      cls = egraph_.find(cls);
      if (number_[cls.index].valid()) return;
      number_[cls.index] = {static_cast<uint32_t>(out_.cls.size())};
      out_.cls.push_back(cls);
    };
    for (const EGraphRoot& root : egraph_.roots()) take(root.id);
    for (size_t i = 0; i < out_.cls.size() && !poll_.stopped(); ++i)
      for (ENodeId node : candidates(out_.cls[i])) {
        poll_.after(kStepsForNode);
        for (ClassId child : egraph_.children(node)) take(child);
      }
  }

  void choose_load_nodes() {
    ExtractionProblem problem;
    for (size_t c = 0; c < out_.cls.size(); ++c) problem.add_class();
    for (uint32_t c = 0; c < out_.cls.size(); ++c) {
      if (!class_at(egraph_, out_.cls[c]).weight_only()) continue;
      for (ENodeId node : candidates(out_.cls[c])) {
        if (!is_weight_only(egraph_, node)) continue;
        bool leaf = op_info(egraph_.node(node).op).has(Trait::Leaf);
        problem.add_node({c}, leaf ? 0 : 1 + kLoadByteTie * bytes(out_.cls[c]), children(node));
        load_nodes_.push_back(node);
      }
    }
    problem.seal();
    load_ = greedy_trees(problem, {}, [this] { return poll_.now(); });
  }

  llvm::SmallVector<ClassIx, 5> children(ENodeId node) const {
    llvm::SmallVector<ClassIx, 5> out;
    for (ClassId child : egraph_.children(node)) out.push_back(number(child));
    return out;
  }

  void add_nodes(ClassIx cls) {
    if (is_load(cls.index)) {
      ENodeId node = load_nodes_[load_.choice[cls].index];
      NodeIx added = out_.problem.add_node(cls, 0, children(node));
      out_.problem.set_load(added);
      out_.node.push_back(node);
      out_.price.push_back(0);
      return;
    }
    for (ENodeId node : candidates(out_.cls[cls.index])) {
      if (poll_.after(kStepsForNode)) return;
      double price = price_of(node);
      out_.problem.add_node(cls, price + tie_break(node), children(node));
      out_.node.push_back(node);
      out_.price.push_back(price);
    }
  }

  /// Notifies the cost model of the prices that will be needed.
  void announce_prices() {
    std::deque<TypeList> types;
    std::vector<OpInstance> instances;
    for (uint32_t c = 0; c < out_.cls.size(); ++c) {
      if (is_load(c)) continue;
      if (poll_.after(kStepsForNode)) return;
      for (ENodeId node : candidates(out_.cls[c]))
        if (!op_info(egraph_.node(node).op).has(Trait::Leaf))
          instances.push_back(instance_of(node, types.emplace_back()));
    }
    prices_.prepare(instances);
  }

  OpInstance instance_of(ENodeId id, TypeList& types) const {
    const ENode& node = egraph_.node(id);
    OpInstance instance{node.op, node.attrs, {}, class_at(egraph_, node.home).type, 0};
    for (ClassId child : egraph_.children(id))
      add_operand(instance, types, class_at(egraph_, child).type, is_load(number(child).index));
    instance.operands = types;
    return instance;
  }

  double price_of(ENodeId id) {
    if (op_info(egraph_.node(id).op).has(Trait::Leaf)) return 0;
    TypeList types;
    return prices_.price(instance_of(id, types));
  }

  double tie_break(ENodeId id) const {
    if (op_info(egraph_.node(id).op).has(Trait::Leaf)) return 0;
    double load = 0;
    for (ClassId child : egraph_.children(id))
      if (is_load(number(child).index)) load += load_.tree_cost[number(child).index];
    return kRunOperatorTie + kLoadOperatorTie * std::min(load, kMostLoadOperators);
  }

  /// Limits stored bytes to those of the source times the factor, if a choice could exceed that.
  void bound_bytes(double factor) {
    double source = source_bytes(), all = 0;
    for (uint32_t c = 0; c < out_.cls.size(); ++c) all += out_.problem.stored_bytes({c});
    if (all > factor * source) out_.problem.set_byte_limit(factor * source);
  }

  /// Returns the bytes of the source's weights, or of the load-time results that its runs need if
  /// these are larger: a source that was optimised before may have joined and padded weights, and
  /// must not be rejected. The result is at least the source's largest tensor, since a model
  /// without weights may store a constant instead of computing it.
  double source_bytes() const {
    double leaves = 0, stored = 0, largest = 0;
    llvm::DenseSet<uint32_t> seen;
    for (uint32_t n = 0; n < egraph_.node_bound(); ++n) {
      if (egraph_.node({n}).rule != kSourceRule) continue;
      OpKind op = egraph_.node({n}).op;
      largest = std::max(largest, bytes(egraph_.node({n}).home));
      if (op == OpKind::Weight || op == OpKind::Constant) leaves += bytes(egraph_.node({n}).home);
      if (is_weight_only(egraph_, {n})) continue;
      for (ClassId child : egraph_.children({n}))
        if (class_at(egraph_, child).weight_only() && seen.insert(egraph_.find(child).index).second)
          stored += bytes(child);
    }
    return std::max({leaves, stored, largest});
  }

  static constexpr uint64_t kStepsForNode = 20; // as counted by Poll

  const EGraph& egraph_;
  PriceCache& prices_;
  Poll& poll_;
  std::vector<ClassIx> number_; // by canonical class of the e-graph
  GreedyResult load_;           // by class of the problem; its nodes are those of load_nodes_
  std::vector<ENodeId> load_nodes_;
  EGraphProblem out_;
};

/// Returns the price of each match. `load` has the canonical classes that are computed at load.
std::vector<double> prices_of(const EGraph& egraph, llvm::ArrayRef<KernelMatch> matches,
                              const llvm::DenseSet<uint32_t>& load, PriceCache& prices) {
  std::deque<TypeList> types;
  std::vector<OpInstance> instances;
  instances.reserve(matches.size());
  for (const KernelMatch& match : matches) {
    OpInstance instance{
        match.op, match.attrs, {}, class_at(egraph, class_of(egraph, match.nodes[0])).type, 0};
    TypeList& list = types.emplace_back();
    for (size_t i = 0; i < match.operands.size(); ++i)
      add_operand(instance, list, operand_type(egraph, match, i),
                  load.contains(egraph.find(match.operands[i]).index));
    instance.operands = list;
    instances.push_back(instance);
  }
  prices.prepare(instances);
  std::vector<double> out;
  out.reserve(instances.size());
  for (const OpInstance& instance : instances) out.push_back(prices.price(instance));
  return out;
}

/// Adds a node for each kernel that covers several operators. At equal prices e-nodes win, since
/// rules account for them.
void add_kernels(const EGraph& egraph, PriceCache& prices, Poll& poll, EGraphProblem& problem) {
  constexpr double kKernelTie = 3 * kRunOperatorTie;
  llvm::DenseMap<uint32_t, NodeIx> number; // e-node to node of the problem
  llvm::DenseSet<uint32_t> load;           // canonical classes
  for (uint32_t n = 0; n < problem.node.size(); ++n) {
    number[problem.node[n].index] = {n};
    if (problem.problem.load({n})) load.insert(class_of(egraph, problem.node[n]).index);
  }
  std::vector<KernelMatch> matches = match_kernels(egraph, problem.cls, prices.patterns(), poll);
  llvm::erase_if(matches, [&](const KernelMatch& match) {
    return llvm::any_of(match.nodes, [&](ENodeId node) {
      auto at = number.find(node.index);
      return at == number.end() || problem.problem.load(at->second);
    });
  });
  std::vector<double> price = prices_of(egraph, matches, load, prices);
  std::vector<FusedPattern> patterns;
  patterns.reserve(matches.size());
  for (size_t i = 0; i < matches.size(); ++i) {
    FusedPattern pattern{{}, price[i] + kKernelTie};
    for (ENodeId node : matches[i].nodes) pattern.nodes.push_back(number[node.index]);
    if (!fault_of(problem.problem, pattern).empty()) continue;
    patterns.push_back(std::move(pattern));
    problem.price.push_back(price[i]);
    problem.kernels.push_back(std::move(matches[i]));
  }
  problem.problem = with_patterns(problem.problem, std::move(patterns)).problem;
}

/// Adds the chosen nodes to a graph with the source's inputs, operands first.
class Rebuilder {
public:
  Rebuilder(const EGraph& egraph, const Graph& source, const EGraphProblem& problem)
      : egraph_(egraph), source_(source), problem_(problem),
        graph_(egraph.shared_symbols(), source.name()) {
    for (uint32_t c = 0; c < problem.cls.size(); ++c) number_[problem.cls[c].index] = c;
  }

  /// With `plain`, a chosen kernel is built operator by operator.
  Graph run(const Choice& choice, bool plain = false) {
    for (NodeId input : source_.inputs()) graph_.add(OpKind::Input, source_.attrs(input), {});
    built_.resize(problem_.cls.size());
    for (ClassIx cls : check_choice(problem_.problem, choice).order) {
      const KernelMatch* kernel = problem_.kernel(choice[cls]);
      built_[cls.index] = !kernel ? build(problem_.node[choice[cls].index], Inner())
                          : plain ? build_apart(*kernel)
                                  : build(*kernel);
      assert(built_[cls.index].valid() && "the nodes of an e-graph are well typed");
    }
    auto roots = problem_.problem.roots();
    for (size_t i = 0; i < roots.size(); ++i)
      graph_.add_output(egraph_.roots()[i].name, built_[roots[i].index]);
    return std::move(graph_);
  }

private:
  using Inner = llvm::SmallDenseMap<uint32_t, NodeId, 4>; // by canonical class

  NodeId operand(ClassId cls, const Inner& inner) const {
    cls = egraph_.find(cls);
    auto own = inner.find(cls.index);
    return own != inner.end() ? own->second : built_[number_.lookup(cls.index)];
  }

  NodeId build(ENodeId node, const Inner& inner) {
    llvm::SmallVector<NodeId, 5> operands;
    for (ClassId child : egraph_.children(node)) operands.push_back(operand(child, inner));
    const ENode& row = egraph_.node(node);
    return graph_.add(row.op, egraph_.symbols().attrs(row.attrs), operands);
  }

  NodeId build(const KernelMatch& kernel) {
    llvm::SmallVector<NodeId, 5> operands;
    for (ClassId cls : kernel.operands) operands.push_back(operand(cls, Inner()));
    if (!kernel.bias_shape.empty()) {
      NodeId& bias = operands[static_cast<size_t>(bias_operand(kernel))];
      ValueId shape = egraph_.shared_symbols()->value(Value::of_ints(kernel.bias_shape));
      bias = graph_.add(OpKind::Reshape, {shape}, {bias});
    }
    return graph_.add(kernel.op, egraph_.symbols().attrs(kernel.attrs), operands);
  }

  /// Builds the nodes of a kernel from the head up. Its inner nodes are not shared with
  /// other users.
  NodeId build_apart(const KernelMatch& kernel) {
    Inner inner;
    NodeId last;
    for (ENodeId node : llvm::reverse(kernel.nodes))
      inner[class_of(egraph_, node).index] = last = build(node, inner);
    return last;
  }

  const EGraph& egraph_;
  const Graph& source_;
  const EGraphProblem& problem_;
  Graph graph_;
  llvm::DenseMap<uint32_t, uint32_t> number_; // class of the problem, by canonical class
  std::vector<NodeId> built_;
};

/// Returns the distinct pairs of rule and place of the match. An application counts once, however
/// many of its nodes were chosen. An application that made no node (`identity(x) => x`) counts if
/// it merged a chosen class with the class that it replaces.
std::vector<RuleUse> rules_used(const EGraph& egraph, const EGraphProblem& problem,
                                const Choice& choice) {
  llvm::DenseSet<std::pair<uint32_t, uint32_t>> seen;
  std::map<RuleId, size_t> counts;
  llvm::DenseMap<uint32_t, ENodeId> chosen_of; // by canonical class
  for (size_t cls = 0; cls < choice.node.size(); ++cls) {
    NodeIx chosen = choice.node[cls];
    if (!chosen.valid()) continue;
    const KernelMatch* kernel = problem.kernel(chosen);
    auto nodes = kernel ? llvm::makeArrayRef(kernel->nodes.begin(), kernel->nodes.end())
                        : llvm::makeArrayRef(problem.node[chosen.index]);
    chosen_of[problem.cls[cls].index] = nodes.front();
    for (ENodeId id : nodes)
      if (const ENode& node = egraph.node(id);
          node.rule != kSourceRule && seen.insert({node.rule, node.origin.index}).second)
        ++counts[node.rule];
  }
  for (const Union& merged : egraph.unions()) {
    auto [rule, origin] = merged.why;
    auto chosen = chosen_of.find(egraph.find(merged.kept).index);
    if (rule >= kCongruence || !origin.valid() || chosen == chosen_of.end()) continue;
    const ENode& kept = egraph.node(chosen->second);
    if (kept.home == egraph.node(origin).home || kept.rule != kSourceRule) continue;
    if (seen.insert({rule, origin.index}).second) ++counts[rule];
  }
  std::vector<RuleUse> uses;
  uses.reserve(counts.size());
  for (auto [rule, count] : counts) uses.push_back({rule, count});
  return uses;
}

/// Replaces the class number in an extractor's message by the name of the output.
Diagnostic name_output(const EGraph& egraph, const EGraphProblem& problem, Diagnostic fault) {
  GreedyResult greedy = greedy_trees(problem.problem);
  auto roots = problem.problem.roots();
  for (size_t i = 0; i < roots.size(); ++i)
    if (!greedy.choice[roots[i]].valid())
      return error(Code::no_solution, "the output `{0}` has no form with a finite cost",
                   egraph.roots()[i].name);
  return fault;
}

} // namespace

std::optional<EGraphProblem> make_problem(const EGraph& egraph, PriceCache& prices,
                                          double max_weight_growth, bool kernels,
                                          const StopToken& stop) {
  assert(egraph.clean() && "rebuild before extraction");
  auto asked = [&] { return stop.asked(); };
  Poll poll(asked);
  std::optional<EGraphProblem> problem =
      ProblemBuilder(egraph, prices, poll).build(max_weight_growth);
  if (!problem || !kernels || prices.patterns().empty()) return problem;
  // Choosing comes after matching and gets the other half of the time. The matches are priced and
  // then copied into a second problem, so both problems are in memory.
  constexpr double kMemoryToMatch = 0.25;
  StopToken share = stop.within(stop.seconds_left() / 2).with_memory(kMemoryToMatch);
  auto asked_of_share = [&] { return share.asked(); };
  Poll of_share(asked_of_share);
  add_kernels(egraph, prices, of_share, *problem);
  return problem;
}

EGraphProblem make_problem(const EGraph& egraph, PriceCache& prices, double max_weight_growth,
                           bool kernels) {
  return std::move(*make_problem(egraph, prices, max_weight_growth, kernels, StopToken()));
}

std::optional<Choice> source_choice(const EGraph& egraph, const Graph& source,
                                    const EGraphProblem& problem) {
  llvm::DenseMap<uint32_t, NodeIx> number; // e-node to node of the problem
  for (uint32_t n = 0; n < problem.node.size(); ++n) number[problem.node[n].index] = {n};
  Choice choice(problem.problem.class_count());
  // Classes that are computed at load have one node, whether it is the source's or a better one.
  for (uint32_t c = 0; c < problem.cls.size(); ++c) {
    auto nodes = problem.problem.nodes({c});
    if (nodes.size() == 1 && problem.problem.load(nodes.front())) choice.node[c] = nodes.front();
  }
  std::vector<bool> needed = source.reachable();
  std::vector<ClassId> cls(source.size());
  for (uint32_t i = 0; i < source.size(); ++i) {
    if (!needed[i]) continue;
    llvm::SmallVector<ClassId, 5> children;
    for (NodeId operand : source.operands({i})) children.push_back(cls[operand.index]);
    const Node& row = source.node({i});
    ENodeId node = egraph.lookup(row.op, row.attrs, children);
    if (!node.valid()) return std::nullopt;
    cls[i] = class_of(egraph, node);
    auto known = number.find(node.index);
    if (known == number.end()) continue; // another node was chosen at load, or filtered
    ClassIx at = problem.problem.class_of(known->second);
    if (!choice[at].valid()) choice.node[at.index] = known->second;
  }
  if (!check_choice(problem.problem, choice).ok()) return std::nullopt;
  trim(problem.problem, choice);
  return choice;
}

ExtractedGraph graph_of_choice(const EGraph& egraph, const Graph& source,
                               const EGraphProblem& problem, const Choice& choice) {
  ExtractedGraph out{Rebuilder(egraph, source, problem).run(choice)};
  if (llvm::any_of(choice.node, [&](NodeIx n) { return n.valid() && problem.kernel(n); }))
    out.plain = Rebuilder(egraph, source, problem).run(choice, true);
  for (NodeIx node : choice.node)
    if (node.valid()) out.cost_us += problem.price[node.index];
  out.weight_bytes = check_choice(problem.problem, choice).stored_bytes;
  out.problem_classes = problem.problem.class_count();
  out.problem_nodes = problem.problem.node_count();
  out.rules_used = rules_used(egraph, problem, choice);
  return out;
}

namespace {

/// Returns options whose stop callback and limits combine the caller's with the stop token's.
IlpOptions bounded(const IlpOptions& options, const StopToken& stop) {
  IlpOptions out = options;
  if (!stop.possible()) return out;
  out.time_limit_s = std::min(options.time_limit_s, stop.seconds_left());
  // The memory of the solver's process adds to that of this process.
  out.memory_limit_bytes = std::min(options.memory_limit_bytes, stop.bytes_left());
  out.stop = [follow = options.stop, stop](const ExtractionProgress& progress) {
    bool ended = follow && follow(progress);
    return ended || stop.asked();
  };
  return out;
}

/// Returns the source as the answer, for lack of time to choose.
ExtractedGraph unchanged(const Graph& source, PriceCache& prices) {
  ExtractedGraph out{source};
  out.cost_us = price_graph(source, prices);
  out.out_of_time = true;
  out.algorithm = "source";
  out.note = "extraction was stopped before it had a result: the source is returned";
  return out;
}

} // namespace

Result<ExtractedGraph> extract(const EGraph& egraph, const Graph& source, PriceCache& prices,
                               const ExtractOptions& options) {
  auto start = std::chrono::steady_clock::now();
  StopToken stop = options.stop.with_memory();
  std::optional<EGraphProblem> made =
      make_problem(egraph, prices, options.max_weight_growth, options.kernels, stop);
  if (!made) return unchanged(source, prices);
  EGraphProblem& problem = *made;
  IlpOptions ilp = bounded(options.ilp, stop);
  if (proves_optimum(options.extractor)) ilp.start = source_choice(egraph, source, problem);
  // In e-graphs of up to 2,000 nodes nearly every part is proved in milliseconds, while CBC's
  // process needs ten to start.
  constexpr size_t kSmall = 3'000;
  ilp.small_nodes = kSmall;
  Result<Extraction> found = run_extractor(problem.problem, options.extractor, ilp);
  if (!found && stop.asked()) return unchanged(source, prices);
  if (!found) return name_output(egraph, problem, std::move(found.error()));
  ExtractedGraph out = graph_of_choice(egraph, source, problem, found->choice);
  out.lower_bound_us = std::min(found->lower_bound, out.cost_us);
  out.bound_bytes = problem.problem.byte_limit();
  out.optimal = found->optimal;
  out.out_of_time = found->out_of_time;
  out.algorithm = found->algorithm;
  out.note = found->note;
  out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return out;
}

GraphInstances instances_of(const Graph& graph) {
  GraphInstances out;
  std::vector<bool> needed = graph.reachable();
  for (uint32_t i = 0; i < graph.size(); ++i) {
    const Node& node = graph.node({i});
    if (!needed[i] || node.weight_only || op_info(node.op).has(Trait::Leaf)) continue;
    OpInstance instance{node.op, node.attrs, {}, node.type, 0};
    TypeList& list = out.types.emplace_back();
    for (NodeId operand : graph.operands({i}))
      add_operand(instance, list, graph.node(operand).type, graph.node(operand).weight_only);
    instance.operands = list;
    out.instances.push_back(instance);
    out.nodes.push_back({i});
  }
  return out;
}

double price_graph(const Graph& graph, PriceCache& prices) {
  GraphInstances priced = instances_of(graph);
  prices.prepare(priced.instances);
  double total = 0;
  for (const OpInstance& instance : priced.instances) total += prices.price(instance);
  return total;
}

} // namespace tg

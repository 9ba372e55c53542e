// First whole leaves are set to zero, then halves, quarters, ... of what is left of each (delta
// debugging, Zeller and Hildebrandt 2002), as long as the difference shows and the budget lasts.
#include "compiler/equiv/minimise.h"

#include <algorithm>
#include <cmath>

namespace tg {

namespace {

/// A relative difference that rounding in float64 does not make. Whole networks round in many more
/// places than one rule does.
double tolerance(const Graph& graph) { return graph.op_count() > 50 ? 1e-7 : 1e-9; }

constexpr double kBudgetFlops = 1e10; // of all evaluations while making it small
constexpr double kMaxEvaluations = 2000;
constexpr double kLeastEvaluations = 20; // fewer make nothing small
constexpr size_t kShown = 24;            // elements of a counterexample

struct Difference {
  size_t output = 0;
  int64_t index = 0;
  double a = 0, b = 0;
};

/// A row-major position as an index along each axis.
Shape unravel(int64_t position, const TensorType& type) {
  Shape index(type.shape.size());
  for (size_t axis = index.size(); axis-- > 0; position /= type.shape[axis])
    index[axis] = position % type.shape[axis];
  return index;
}

class Minimiser {
public:
  explicit Minimiser(const Joined& joined) : joined_(joined) {
    for (size_t i = 0; i < joined.a.size(); ++i) {
      if (joined.a[i] == joined.b[i]) continue;
      wanted_.append({joined.a[i], joined.b[i]});
      outputs_.push_back(i);
    }
    std::vector<bool> needed = mark(wanted_);
    for (uint32_t i = 0; i < joined.graph.size(); ++i)
      if (needed[i] && is_variable({i})) leaves_.push_back({i});
    values_.resize(leaves_.size());
    double budget = kBudgetFlops / std::max(evaluation_flops(joined.graph), 1.0);
    if (budget >= kLeastEvaluations)
      budget_ = static_cast<size_t>(std::min(budget, kMaxEvaluations));
  }

  /// Fills the leaves; whether the sides differ then.
  bool start(Probe probe, uint64_t seed) {
    LeafSource source = probe_leaves(probe, seed);
    for (size_t i = 0; i < leaves_.size(); ++i) values_[i] = source(joined_.graph, leaves_[i]);
    return differs();
  }

  void minimise() {
    if (budget_ == 0) return;
    for (size_t i = 0; i < leaves_.size(); ++i) try_zero(i, 0, values_[i].size());
    for (size_t i = 0; i < leaves_.size(); ++i)
      for (size_t step = values_[i].size(); step > 1;) {
        step = (step + 1) / 2;
        for (size_t from = 0; from < values_[i].size(); from += step)
          try_zero(i, from, std::min(from + step, values_[i].size()));
      }
    for (size_t i = 0; i < leaves_.size(); ++i)
      for (size_t at = 0; at < values_[i].size(); ++at) try_round(i, at);
    differs(); // the values that are reported are those of what is left
  }

  Counterexample counterexample(Probe probe) const {
    Counterexample result;
    result.output = joined_.names[difference_.output];
    result.index = unravel(difference_.index, joined_.graph.type(joined_.a[difference_.output]));
    result.a = difference_.a;
    result.b = difference_.b;
    result.probe = probe_name(probe).str();
    result.complete = true;
    for (size_t i = 0; i < leaves_.size(); ++i)
      for (size_t at = 0; at < values_[i].size(); ++at) {
        if (values_[i][at] == 0) continue;
        result.complete &= result.elements.size() < kShown;
        if (!result.complete) return result;
        result.elements.push_back(
            {joined_.graph.attr(leaves_[i], 0).text,
             unravel(static_cast<int64_t>(at), joined_.graph.type(leaves_[i])), values_[i][at]});
      }
    return result;
  }

private:
  std::vector<bool> mark(llvm::ArrayRef<NodeId> from) const {
    std::vector<bool> needed(joined_.graph.size());
    for (NodeId id : from) needed[id.index] = true;
    for (uint32_t i = static_cast<uint32_t>(joined_.graph.size()); i-- > 0;)
      if (needed[i])
        for (NodeId operand : joined_.graph.operands({i})) needed[operand.index] = true;
    return needed;
  }

  bool is_variable(NodeId id) const {
    OpKind op = joined_.graph.node(id).op;
    return op == OpKind::Input || op == OpKind::Weight;
  }

  bool differs() {
    auto source = [&](const Graph&, NodeId id) {
      auto at = std::lower_bound(leaves_.begin(), leaves_.end(), id,
                                 [](NodeId x, NodeId y) { return x.index < y.index; });
      return values_[static_cast<size_t>(at - leaves_.begin())];
    };
    auto values = evaluate(joined_.graph, source, wanted_);
    assert(values && "every leaf has its values");
    for (size_t i = 0; i < outputs_.size(); ++i) {
      const NodeValues &a = (*values)[2 * i], &b = (*values)[2 * i + 1];
      std::optional<int64_t> at = first_difference(a, b, tolerance(joined_.graph));
      if (!at) continue;
      size_t index = static_cast<size_t>(*at);
      difference_ = {outputs_[i], *at, a[index], b[index]};
      return true;
    }
    return false;
  }

  /// Keeps the change if the sides still differ.
  template <class Change> void attempt(size_t leaf, Change change) {
    if (budget_ == 0) return;
    --budget_;
    NodeValues before = values_[leaf];
    change(values_[leaf]);
    if (!differs()) values_[leaf] = std::move(before);
  }

  void try_zero(size_t leaf, size_t from, size_t to) {
    auto begin = values_[leaf].begin() + static_cast<std::ptrdiff_t>(from);
    auto end = values_[leaf].begin() + static_cast<std::ptrdiff_t>(to);
    if (std::all_of(begin, end, [](double x) { return x == 0; })) return;
    attempt(leaf, [=](NodeValues& values) {
      std::fill(values.begin() + static_cast<std::ptrdiff_t>(from),
                values.begin() + static_cast<std::ptrdiff_t>(to), 0.0);
    });
  }

  void try_round(size_t leaf, size_t at) {
    double x = values_[leaf][at];
    if (x == std::round(x)) return;
    attempt(leaf, [=](NodeValues& values) { values[at] = x < 0 ? -1 : 1; });
  }

  const Joined& joined_;
  llvm::SmallVector<NodeId, 4> wanted_; // a, b, a, b, ...
  llvm::SmallVector<size_t, 4> outputs_;
  std::vector<NodeId> leaves_; // ascending
  std::vector<NodeValues> values_;
  Difference difference_;
  size_t budget_ = 0;
};

} // namespace

double evaluation_flops(const Graph& graph) {
  double total = 0;
  for (uint32_t i = 0; i < graph.size(); ++i) {
    llvm::SmallVector<TypeId, 4> operands;
    for (NodeId operand : graph.operands({i})) operands.push_back(graph.node(operand).type);
    const Node& node = graph.node({i});
    total += op_work(graph.symbols(), node.op, node.attrs, operands, node.type).flops;
    total += static_cast<double>(graph.type({i}).elements());
  }
  return total;
}

std::optional<Counterexample> find_counterexample(const Joined& joined,
                                                  const EquivalenceOptions& options) {
  // Small integers first: they make the counterexample that a person can follow.
  for (Probe probe : {Probe::Integers, Probe::Plain, Probe::Positive, Probe::Mixed}) {
    Minimiser minimiser(joined);
    if (!minimiser.start(probe, options.seed)) continue;
    if (options.minimise) minimiser.minimise();
    return minimiser.counterexample(probe);
  }
  return std::nullopt;
}

} // namespace tg

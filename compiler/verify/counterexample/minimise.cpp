// Minimises a counterexample. First whole leaves are set to zero, then halves, quarters, ... of
// each remainder (delta debugging, Zeller and Hildebrandt 2002). Then the remaining values are made
// small integers. A change is kept if the difference remains, within the budget.
#include "compiler/verify/counterexample/literals.h"
#include "compiler/verify/counterexample/narrow.h"

#include <algorithm>
#include <cmath>

namespace tg {

namespace {

constexpr double kMinimiseFlops = 1e10; // operations of all evaluations while minimising
constexpr double kEvaluations = 3;      // of an attempt, on average: most fail at the first
constexpr double kMaxAttempts = 2000;
constexpr double kLeastBisected = 2;      // smaller numbers are not bisected
constexpr size_t kLiteralEvaluations = 8; // for a counterexample by literals
constexpr double kLeastAttempts = 20;     // fewer attempts are useless
constexpr size_t kShown = 24;             // elements of a counterexample
constexpr size_t kWholeOutput = 16;       // elements of an output that is written completely

/// Converts a row-major position to an index along each axis.
Shape unravel(int64_t position, const TensorType& type) {
  Shape index(type.shape.size());
  for (size_t axis = index.size(); axis-- > 0; position /= type.shape[axis])
    index[axis] = position % type.shape[axis];
  return index;
}

class Minimiser {
public:
  Minimiser(const Trial& trial, LeafValues values, Trial::Difference difference)
      : trial_(trial), graph_(trial.joined().graph), values_(std::move(values)),
        difference_(difference) {
    // Each attempt takes several evaluations: of the models, and of the models with noise.
    double budget = kMinimiseFlops / kEvaluations / std::max(evaluation_flops(graph_), 1.0);
    if (budget >= kLeastAttempts) budget_ = static_cast<size_t>(std::min(budget, kMaxAttempts));
    for (DifferenceKind sight :
         {DifferenceKind::BeyondRounding, DifferenceKind::Any, DifferenceKind::Literals})
      if (seen_by(sight)) {
        sight_ = sight;
        break;
      }
    if (sight_ == DifferenceKind::Literals) budget_ /= kLiteralEvaluations;
  }

  void minimise() {
    if (budget_ == 0) return;
    for (size_t i = 0; i < values_.size(); ++i) try_zero(i, 0, values_[i].size());
    for (size_t i = 0; i < values_.size(); ++i)
      for (size_t step = values_[i].size(); step > 1;) {
        step = (step + 1) / 2;
        for (size_t from = 0; from < values_[i].size(); from += step)
          try_zero(i, from, std::min(from + step, values_[i].size()));
      }
    for (size_t i = 0; i < values_.size(); ++i)
      for (size_t at = 0; at < values_[i].size(); ++at) {
        try_round(i, at);
        try_small(i, at);
      }
  }

  Counterexample counterexample(std::string probe) const {
    Counterexample result;
    NodeId output = trial_.joined().a[difference_.output];
    result.output = trial_.joined().names[difference_.output];
    result.index = unravel(difference_.index, graph_.type(output));
    result.a = difference_.a;
    result.b = difference_.b;
    result.probe = std::move(probe);
    add_whole_output(result, graph_.type(output));
    result.complete = true;
    for (size_t i = 0; i < values_.size(); ++i)
      for (size_t at = 0; at < values_[i].size(); ++at) {
        if (values_[i][at] == 0) continue;
        result.complete &= result.elements.size() < kShown;
        if (!result.complete) return result;
        NodeId leaf = trial_.leaves()[i];
        result.elements.push_back({graph_.attr(leaf, 0).text,
                                   unravel(static_cast<int64_t>(at), graph_.type(leaf)),
                                   trial_.element(leaf, values_[i][at])});
      }
    return result;
  }

private:
  void add_whole_output(Counterexample& result, const TensorType& type) const {
    if (type.elements() < 2 || type.elements() > static_cast<int64_t>(kWholeOutput)) return;
    result.shape = type.shape;
    auto [a, b] = trial_.outputs(values_, difference_.output);
    for (size_t i = 0; i < a.size(); ++i) {
      result.whole_a.push_back(a.number(i));
      result.whole_b.push_back(b.number(i));
    }
  }

  /// How a difference shows: beyond rounding; possibly by rounding; or only by literals.
  enum class DifferenceKind : uint8_t { BeyondRounding, Any, Literals };

  std::optional<Trial::Difference> seen_by(DifferenceKind sight) const {
    switch (sight) {
    case DifferenceKind::BeyondRounding:
      return trial_.run_beyond_rounding(values_, Trial::Results::Any);
    case DifferenceKind::Any: return trial_.run(values_);
    case DifferenceKind::Literals: return run_by_literals(trial_, values_);
    }
    return std::nullopt;
  }

  /// Returns true if there is a difference at least as strong as the known one: rounding explains
  /// it only if it explained that one.
  bool differs() {
    std::optional<Trial::Difference> found = seen_by(sight_);
    if (!found) return false;
    difference_ = *found;
    return true;
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

  /// Rounds to the next integer away from zero, else to two decimals.
  void try_round(size_t leaf, size_t at) {
    double x = values_[leaf][at];
    if (x == std::round(x) || !std::isfinite(x)) return;
    double away = x < 0 ? std::floor(x) : std::ceil(x);
    attempt(leaf, [=](NodeValues& values) { values[at] = away; });
    if (values_[leaf][at] != x) return;
    double short_text = std::round(x * 100) / 100;
    if (short_text != x) attempt(leaf, [=](NodeValues& values) { values[at] = short_text; });
  }

  /// Sets `whole`, else the next integer away from zero: some sides differ only at odd numbers.
  void attempt_near(size_t leaf, size_t at, double whole) {
    const double before = values_[leaf][at], next = whole + std::copysign(1, whole);
    attempt(leaf, [=](NodeValues& values) { values[at] = whole; });
    if (values_[leaf][at] == before && std::abs(next) < std::abs(before))
      attempt(leaf, [=](NodeValues& values) { values[at] = next; });
  }

  /// Sets 1 or 2 with the same sign. Otherwise halves repeatedly, then bisects down to the smallest
  /// integer that still differs.
  void try_small(size_t leaf, size_t at) {
    for (double small : {1.0, 2.0}) {
      double x = values_[leaf][at];
      if (!std::isfinite(x) || std::abs(x) <= small) return;
      attempt(leaf, [=](NodeValues& values) { values[at] = std::copysign(small, x); });
    }
    for (double x = 0; x != values_[leaf][at];) {
      x = values_[leaf][at];
      double half = std::trunc(x / 2);
      if (std::abs(half) > 2) attempt_near(leaf, at, half);
    }
    double low = std::trunc(values_[leaf][at] / 2), high = values_[leaf][at];
    if (std::abs(low) < kLeastBisected) return;
    while (budget_ > 0) {
      const double middle = std::trunc(low + (high - low) / 2);
      if (middle == low || middle == high) return;
      attempt_near(leaf, at, middle);
      const double found = values_[leaf][at];
      (found == high ? low : high) = found == high ? middle : found;
    }
  }

  const Trial& trial_;
  const Graph& graph_;
  LeafValues values_;
  Trial::Difference difference_;
  DifferenceKind sight_ = DifferenceKind::BeyondRounding;
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

Counterexample counterexample_of(const Trial& trial, Attempt attempt, Trial::Difference difference,
                                 bool minimise) {
  Minimiser minimiser(trial, std::move(attempt.values), difference);
  if (minimise) minimiser.minimise();
  return minimiser.counterexample(std::move(attempt.name));
}

} // namespace tg

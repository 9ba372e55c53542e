#include "compiler/verify/counterexample/crossing.h"

#include "compiler/verify/counterexample/narrow.h"
#include "lang/core/const_math.h"
#include "lang/core/formula.h"
#include "lang/core/support/random.h"

#include <llvm/ADT/STLExtras.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace tg {

namespace {

constexpr double kCrossingFlops = 3e8;
constexpr size_t kSwitches = 64, kMoves = 96, kDoublings = 80, kHalvings = 60;

/// A change of leaf values: an addition to one element or to all elements of a leaf, or a scaling.
struct Move {
  size_t leaf = 0;
  std::optional<size_t> element;
  double step = 0;
  bool scales = false;

  LeafValues apply(LeafValues values) const {
    NodeValues& leaf_values = values[leaf];
    for (size_t i = 0; i < leaf_values.size(); ++i)
      if (!element || *element == i)
        leaf_values[i] = scales ? leaf_values[i] * (1 + step) : leaf_values[i] + step;
    return values;
  }
};

LeafValues between(const LeafValues& a, const LeafValues& b) {
  LeafValues middle = a;
  for (size_t i = 0; i < a.size(); ++i)
    for (size_t j = 0; j < a[i].size(); ++j) middle[i][j] = a[i][j] / 2 + b[i][j] / 2;
  return middle;
}

/// Extrapolates from a through b by the same distance.
LeafValues beyond(const LeafValues& a, const LeafValues& b) {
  LeafValues result = b;
  for (size_t i = 0; i < a.size(); ++i)
    for (size_t j = 0; j < a[i].size(); ++j) result[i][j] += b[i][j] - a[i][j];
  return result;
}

} // namespace

Crossing::Crossing(const Trial& trial, llvm::function_ref<bool()> stop)
    : trial_(trial), stop_(stop), graph_(trial.joined().graph), flops_(evaluation_flops(graph_)),
      budget_(kCrossingFlops) {
  std::vector<bool> alone = one_sided(trial.joined()), varies(alone.size());
  for (NodeId leaf : trial.leaves()) varies[leaf.index] = true;
  for (uint32_t i = 0; i < alone.size() && switches_.size() < kSwitches; ++i) {
    for (NodeId operand : graph_.operands({i})) varies[i] = varies[i] || varies[operand.index];
    if (alone[i] && varies[i]) add_switches({i});
  }
}

/// Adds the distance of x to the threshold, or x itself if there is none.
void Crossing::add(OpKind op, NodeId x, std::optional<double> threshold, bool exact) {
  if (threshold && !std::isfinite(*threshold)) return;
  if (threshold) {
    NodeId number = graph_.constant({*threshold}, {graph_.type(x).dtype, {}});
    x = graph_.add(OpKind::Sub, {}, {x, number});
  }
  if (x.valid()) switches_.push_back({op, x, exact});
}

// NOLINTNEXTLINE(readability-function-size): a flat switch, one row a kind of threshold.
void Crossing::add_switches(NodeId id) {
  OpKind op = graph_.node(id).op;
  llvm::ArrayRef<NodeId> operands = graph_.operands(id);
  NodeId x = operands.empty() ? id : operands[0];
  if (operands.empty() || graph_.type(x).is_none() || graph_.type(x).dtype == DType::Bool) return;
  switch (op) {
  case OpKind::Less:
  case OpKind::LessEqual:
  case OpKind::Greater:
  case OpKind::GreaterEqual:
  case OpKind::Maximum:
  case OpKind::Minimum:
  case OpKind::Equal:
  case OpKind::NotEqual: {
    bool exact = op == OpKind::Equal || op == OpKind::NotEqual;
    NodeId y = operands[1];
    if (x == y) return; // a test for NaN: its result is constant for numbers
    return add(op, graph_.add(OpKind::Sub, {}, {x, y}), std::nullopt, exact);
  }
  case OpKind::Relu:
  case OpKind::Abs:
  case OpKind::Sign: return add(op, x, std::nullopt);
  case OpKind::Relu6: return add(op, x, std::nullopt), add(op, x, 6);
  case OpKind::Clip: {
    for (size_t limit : {0, 1}) add(op, x, number_of(graph_.attr(id, limit))->as_real());
    return;
  }
  case OpKind::Cast:
    if (!is_float(graph_.type(x).dtype) || !is_integer(graph_.type(id).dtype)) return;
    return add(op, x, graph_.type(id).dtype == DType::I32 ? 0x1p31 : 0x1p63);
  default: return add_formula(id);
  }
}

/// Adds the switches of the operators in the formula.
void Crossing::add_formula(NodeId id) {
  const Formula* formula = formula_of(graph_.node(id).op);
  if (!formula) return;
  llvm::SmallVector<NodeId, 8> values;
  DType dtype = graph_.type(id).dtype;
  size_t operands = graph_.operands(id).size();
  for (size_t i = 0; i < formula->size(); ++i) {
    const FormulaStep& step = (*formula)[i];
    auto number = [&](double x) { return graph_.constant({x}, {dtype, {}}); };
    if (step.kind == FormulaStep::Kind::Argument) {
      values.push_back(i < operands ? graph_.operands(id)[i]
                                    : number(number_of(graph_.attr(id, i - operands))->as_real()));
    } else if (step.kind == FormulaStep::Kind::Literal) {
      values.push_back(number(step.literal));
    } else {
      llvm::SmallVector<NodeId, 3> args;
      for (uint8_t a = 0; a < step.arity; ++a) args.push_back(values[step.args[a]]);
      values.push_back(graph_.add(step.op, {}, args));
      if (!values.back().valid()) return;
      add_switches(values.back());
    }
  }
}

NodeValues Crossing::distances(const Switch& s, const LeafValues& values) {
  TypedRun run = evaluate_typed(graph_, trial_.typed_leaves(values), {s.distance}, Rounding::None);
  NodeValues result(run.wanted[0].size());
  for (size_t i = 0; i < result.size(); ++i) result[i] = run.wanted[0].at(i);
  return result;
}

void Crossing::note(Switch& s, llvm::ArrayRef<double> distances) {
  for (double x : distances) {
    s.below |= x < 0;
    s.at |= x == 0;
    s.above |= x > 0;
  }
}

bool Crossing::affordable() {
  if (stopped()) budget_ = 0;
  return (budget_ -= flops_) > 0;
}

void Crossing::see(const LeafValues& values) {
  for (Switch& s : switches_)
    if (!s.seen() && affordable()) note(s, distances(s, values));
}

/// Returns how far the farthest element on this side is beyond the threshold.
double Crossing::reach(const Switch& s, double side, const LeafValues& values) {
  double farthest = -std::numeric_limits<double>::infinity();
  for (double x : distances(s, values))
    if (!std::isnan(x)) farthest = std::max(farthest, side * x);
  return farthest;
}

bool Crossing::climb(Switch& s, double side, LeafValues at, uint64_t seed,
                     llvm::function_ref<bool(const LeafValues&)> visit) {
  RandomStream random(seed, "crossing");
  double best = reach(s, side, at);
  for (uint64_t i = 0; i < kMoves; ++i) {
    Move move;
    move.leaf = random.bits(4 * i) % at.size();
    if (random.bits(4 * i + 1) % 2) move.element = random.bits(4 * i + 2) % at[move.leaf].size();
    move.scales = random.bits(4 * i + 1) % 8 >= 6;
    move.step = std::ldexp(random.bits(4 * i + 3) % 2 ? 1 : -1, static_cast<int>(i % 8) - 4);
    for (size_t doubling = 0; doubling < kDoublings && affordable(); ++doubling, move.step *= 2) {
      LeafValues next = move.apply(at);
      double reached = reach(s, side, next);
      if (!(reached > best)) break;
      if (reached <= 0) {
        at = std::move(next), best = reached;
        continue;
      }
      note(s, distances(s, next));
      if (visit(next) || visit(beyond(at, next))) return true;
      for (size_t half = 0; half < kHalvings && affordable(); ++half) {
        LeafValues middle = between(at, next);
        note(s, distances(s, middle));
        (reach(s, side, middle) > 0 ? next : at) = std::move(middle);
        if (half % 4 == 0 && (visit(next) || visit(at))) return true;
      }
      return visit(next) || visit(at);
    }
    if (budget_ <= 0) return false;
  }
  return false;
}

void Crossing::search(const LeafValues& base, uint64_t seed,
                      llvm::function_ref<bool(const LeafValues&)> visit) {
  if (base.empty()) return;
  for (Switch& s : switches_)
    for (double side : {1.0, -1.0}) {
      bool seen = side > 0 ? s.above : s.below;
      if (stopped()) return;
      if (seen && (!s.exact || s.at)) continue;
      if (climb(s, side, base, seed, visit)) return;
    }
}

std::vector<std::string> Crossing::unreached() const {
  std::vector<std::string> names;
  for (const Switch& s : switches_) {
    std::string name = "`" + std::string(op_info(s.op).name) + "`";
    bool touched = s.at && !s.exact; // a range that ends at the threshold has no other side
    if (!s.seen() && !touched && !llvm::is_contained(names, name)) names.push_back(name);
  }
  return names;
}

} // namespace tg

// Random graphs of all operators, seven dtypes and ranks 0 to 5, with values for their leaves,
// and the expected results: floats in float64 with bounds for rounding, integers exactly.
//
// Bounds come from noise (typed.h): each operator is perturbed by 2^-40.
// Elements may differ by that effect, scaled to the unit roundoff of the dtype.
// At a discontinuity (a comparison of sums, for example), the effect of rounding has no bound.
// So operators with discontinuities only read values that every backend computes
// with the same bits: `exact`.
#pragma once

#include "compiler/verify/counterexample/typed.h"
#include "lang/core/support/round_number.h"
#include "tests/property/programs/random_operator.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace tg::test {

inline double unit_roundoff(DType dtype) {
  switch (dtype) {
  case DType::F16: return 0x1p-11;
  case DType::BF16: return 0x1p-8;
  case DType::F32: return 0x1p-24;
  case DType::F64: return 0x1p-53;
  default: return 0;
  }
}

/// Returns true if the result has discontinuities in float operands.
inline bool jumps(OpKind op, DType from, DType to) {
  switch (op) {
  case OpKind::Floor:
  case OpKind::Ceil:
  case OpKind::Round:
  case OpKind::Sign:
  case OpKind::Mod:
  case OpKind::Less:
  case OpKind::LessEqual:
  case OpKind::Greater:
  case OpKind::GreaterEqual:
  case OpKind::Equal:
  case OpKind::NotEqual:
  case OpKind::Argmax:
  case OpKind::TopK:
  case OpKind::NonMaxSuppression: return is_float(from);
  case OpKind::Cast: return is_float(from) && !is_float(to);
  default: return false;
  }
}

class TypedGraph {
public:
  explicit TypedGraph(uint64_t seed)
      : graph(std::make_shared<Symbols>(), "random"), random_(seed, "typed") {
    static const std::vector<const OpInfo*> ops = [] {
      std::vector<const OpInfo*> all;
      for (const OpInfo& op : all_ops())
        if (!op.has(Trait::Leaf | Trait::Sugar) && op.kind != OpKind::Extern) all.push_back(&op);
      return all;
    }();
    for (size_t count = 1 + below(6), i = 0; i < count; ++i)
      add(*ops[below(ops.size())], seed * 16 + i);
    if (pool_.empty()) note(leaf({DType::F32, {2, 3}}));
    add_outputs();
  }

  Graph graph;
  std::map<std::string, TypedValues> leaves;

  /// Returns the values of the leaves, in float64 or as exact integers.
  TypedLeaves source() const {
    return [this](const Graph& of, NodeId id) { return leaves.at(of.attr(id, 0).text); };
  }

private:
  static constexpr DType kDTypes[] = {DType::F32,  DType::F32, DType::F64, DType::F16,
                                      DType::BF16, DType::I32, DType::I64, DType::Bool};
  static constexpr int64_t kSizes[] = {1, 1, 2, 2, 3, 3, 4, 4, 5, 7, 8, 9, 15, 16, 17, 33};

  size_t below(size_t n) { return static_cast<size_t>(random_.bits(draws_++) % n); }

  void add(const OpInfo& op, uint64_t seed) {
    RandomOperator::Domain domain;
    domain.dtypes = kDTypes;
    domain.sizes = kSizes;
    domain.most_integer = 9;
    domain.tries = 3000;
    domain.most_elements = 600;
    domain.first = [this] {
      return pool_.empty() ? TensorType{} : graph.type(pool_[below(pool_.size())]);
    };
    RandomOperator random(
        seed,
        [&](Graph&, const TensorType& type) {
          return operand(type, jumps(op.kind, type.dtype, DType::I64));
        },
        domain);
    if (NodeId made = random.add(graph, op); made.valid()) note(made);
  }

  void note(NodeId id) {
    exact_.resize(graph.size(), true); // leaves
    const Node& node = graph.node(id);
    bool exact = !is_float(graph.type(id).dtype);
    bool cast = node.op == OpKind::Cast;
    bool moves = node.op == OpKind::Scatter && graph.attr(id, 1).text != "add" &&
                 graph.attr(id, 1).text != "mul";
    if (!rounds(node.op) || moves) {
      exact = true;
      for (NodeId x : graph.operands(id)) {
        bool narrows = cast && is_float(graph.type(x).dtype) &&
                       !holds_all(graph.type(id).dtype, graph.type(x).dtype);
        exact &= exact_[x.index] && !(narrows && is_float(graph.type(id).dtype));
      }
    }
    exact_[id.index] = exact;
    pool_.push_back(id);
  }

  NodeId operand(const TensorType& type, bool has_to_be_exact) {
    std::vector<NodeId> fit;
    for (NodeId id : pool_)
      if (graph.type(id) == type && (exact_[id.index] || !has_to_be_exact)) fit.push_back(id);
    return !fit.empty() && below(4) ? fit[below(fit.size())] : leaf(type);
  }

  NodeId leaf(const TensorType& type) {
    size_t kind = below(8);
    if (kind == 0) return literal(type);
    std::string name = (kind < 5 ? "x" : "w") + std::to_string(graph.size());
    leaves[name] = values(type, static_cast<size_t>(type.elements()));
    return kind < 5 ? graph.input(name, type) : graph.weight(name, type);
  }

  NodeId literal(const TensorType& type) {
    TypedValues given =
        values(type, below(2) && type.elements() < 64 ? static_cast<size_t>(type.elements()) : 1);
    if (is_float(type.dtype)) return graph.constant(given.reals, type);
    std::vector<int64_t> wholes;
    for (Integer x : given.wholes) wholes.push_back(x.value);
    return graph.whole_constant(wholes, type);
  }

  /// Few digits, which all float dtypes represent, with ties and zeros. Integers are mostly small,
  /// sometimes at an end of their range.
  TypedValues values(const TensorType& type, size_t count) {
    constexpr int64_t kEnds[] = {(1 << 24) + 1, INT32_MAX, INT32_MIN, -1};
    constexpr int64_t kWideEnds[] = {(int64_t{1} << 53) + 1, INT64_MAX, INT64_MIN,
                                     -(int64_t{1} << 62)};
    TypedValues result;
    for (size_t i = 0; i < count; ++i) {
      bool end = below(16) == 0, wide = type.dtype == DType::I64 && below(2);
      int64_t whole =
          end ? (wide ? kWideEnds : kEnds)[below(4)] : static_cast<int64_t>(below(12)) - 3;
      if (is_float(type.dtype))
        result.reals.push_back(end ? 0 : (static_cast<double>(below(97)) - 48) / 16);
      else
        result.wholes.push_back(type.dtype == DType::Bool ? Integer(static_cast<int64_t>(below(2)))
                                                          : Integer(whole));
    }
    return result;
  }

  /// Adds the last node and some others as outputs, and sometimes an input without elements.
  void add_outputs() {
    graph.add_output("y0", pool_.back());
    for (size_t i = 0; i + 1 < pool_.size(); ++i)
      if (below(3) == 0) graph.add_output("y" + std::to_string(graph.outputs().size()), pool_[i]);
    if (below(16) != 0) return;
    TensorType none{kDTypes[below(std::size(kDTypes))], {static_cast<int64_t>(below(3)), 0}};
    leaves["none"] = {};
    graph.add_output("y" + std::to_string(graph.outputs().size()), graph.input("none", none));
  }

  RandomStream random_;
  uint64_t draws_ = 0;
  std::vector<NodeId> pool_; // all added nodes
  std::vector<bool> exact_;  // by node
};

/// The expected results of a graph, and the allowed differences.
class Expected {
public:
  explicit Expected(const TypedGraph& of) : graph_(of.graph) {
    std::vector<NodeId> all;
    for (uint32_t i = 0; i < graph_.size(); ++i)
      if (!graph_.type({i}).is_none()) all.push_back({i});
    std::vector<bool> noisy(graph_.size(), true);
    values_ = by_node(all, evaluate_typed(graph_, of.source(), all, Rounding::None));
    stored_ = by_node(all, evaluate_typed(graph_, of.source(), all, Rounding::Stored));
    moved_.resize(graph_.size());
    for (NodeId id : all) moved_[id.index].resize(values_[id.index].size());
    for (uint32_t draw = 0; draw < 4; ++draw)
      see(all, by_node(all, evaluate_noisy(graph_, of.source(), all, {noisy, draw})));
    judge_nodes();
  }

  /// Returns true if bounds are known: no number left the range in which its dtype has full
  /// precision.
  bool bounded(NodeId id) const { return !wild_[id.index]; }

  /// Returns "element 3 is 1 and should be 2 (within 0.1)", or "" if the values agree.
  std::string fault(NodeId id, const TypedValues& got) const {
    const TypedValues& want = values_[id.index];
    DType dtype = graph_.type(id).dtype;
    double largest = 0; // sums are as accurate as their largest terms
    for (double x : want.reals)
      if (std::isfinite(x)) largest = std::max(largest, std::abs(x));
    for (size_t i = 0; i < want.size(); ++i) {
      if (!is_float(dtype)) {
        if (got.wholes[i] == want.wholes[i]) continue;
        return llvm::formatv("element {0} is {1} and should be {2}", i, got.wholes[i].value,
                             want.wholes[i].value);
      }
      double x = want.reals[i], moved = moved_[id.index][i], y = got.reals[i];
      double stored = stored_[id.index].reals[i]; // is an edge or a pole between them?
      bool edge = std::isfinite(stored) != std::isfinite(x) || std::isnan(stored) != std::isnan(x);
      if (edge || !std::isfinite(moved) || x == y || (std::isnan(x) && std::isnan(y))) continue;
      if (std::isinf(x) && std::isinf(y)) continue; // 1 / 0: kernels do not keep the sign of 0
      double u = roundoff_[id.index];
      double within = 64 * moved * (u / 0x1p-40) + 16 * std::abs(stored - x) +
                      u * (4 * std::abs(x) + largest) + (dtype == DType::F16 ? 0x1p-24 : 1e-37);
      if (std::abs(x - y) <= within) continue;
      auto text = [](double number) { return Value::of_float(number).text_form(); };
      return llvm::formatv("element {0} is {1} and should be {2} (within {3})", i, text(y), text(x),
                           text(within));
    }
    return "";
  }

private:
  std::vector<TypedValues> by_node(llvm::ArrayRef<NodeId> ids, TypedRun run) const {
    std::vector<TypedValues> result(graph_.size());
    for (size_t i = 0; i < ids.size(); ++i) result[ids[i].index] = std::move(run.wanted[i]);
    return result;
  }

  void see(llvm::ArrayRef<NodeId> ids, const std::vector<TypedValues>& noisy) {
    for (NodeId id : ids)
      for (size_t i = 0; i < values_[id.index].reals.size(); ++i) {
        if (values_[id.index].same(noisy[id.index], i)) continue;
        double by = std::abs(values_[id.index].reals[i] - noisy[id.index].reals[i]);
        double& moved = moved_[id.index][i];
        moved = std::isfinite(by) ? std::max(moved, by) : INFINITY;
      }
  }

  bool is_gelu(NodeId id) const {
    int act = op_info(graph_.node(id).op).attr_slot("act");
    return graph_.node(id).op == OpKind::Gelu ||
           (act >= 0 && graph_.attr(id, static_cast<size_t>(act)).text == "gelu");
  }

  /// Returns the factor by which a layer_norm enlarges the rounding of its means,
  /// or 0 for other operators.
  double centring(NodeId id) const {
    if (graph_.node(id).op != OpKind::LayerNorm) return 0;
    llvm::ArrayRef<NodeId> operands = graph_.operands(id);
    llvm::ArrayRef<double> x = values_[operands[0].index].reals;
    const auto width = static_cast<size_t>(graph_.type(operands[0]).shape.back());
    double most = 0, scale = 0;
    for (double w : values_[operands[1].index].reals) scale = std::max(scale, std::abs(w));
    for (; !x.empty() && width > 0; x = x.drop_front(width)) {
      double mean = 0, variance = graph_.attr(id, 0).real, largest = 0;
      for (double n : x.take_front(width)) mean += n / static_cast<double>(width);
      for (double n : x.take_front(width)) {
        variance += (n - mean) * (n - mean) / static_cast<double>(width);
        largest = std::max(largest, std::abs(n));
      }
      most = std::max(most, largest / std::sqrt(variance));
    }
    return most * scale;
  }

  /// Returns true if rounding decides whether a result is a number: operands on the edge
  /// of a domain, or a product that leaves the range of double only in some orders.
  bool at_edge(NodeId id) const {
    const OpKind op = graph_.node(id).op;
    bool inverse =
        op == OpKind::Acos || op == OpKind::Asin || op == OpKind::Acosh || op == OpKind::Atanh;
    if (!inverse && op != OpKind::ReduceProd) return false;
    NodeId operand = graph_.operands(id)[0];
    const std::vector<double>&x = values_[operand.index].reals, &y = values_[id.index].reals;
    if (!inverse) return !llvm::all_of(y, [](double n) { return std::isfinite(n); });
    double near = 64 * roundoff_[operand.index];
    return llvm::any_of(
        x, [&](double n) { return std::abs(std::abs(n) - 1) <= near && std::abs(n) != 1; });
  }

  /// Propagates roundoff and wildness from operands to results.
  void judge_nodes() {
    roundoff_.resize(graph_.size());
    wild_.resize(graph_.size());
    for (uint32_t i = 0; i < graph_.size(); ++i) {
      DType dtype = graph_.type({i}).dtype;
      roundoff_[i] = unit_roundoff(dtype);
      bool leaf = op_info(graph_.node({i}).op).has(Trait::Leaf);
      if (is_gelu({i})) roundoff_[i] *= 64; // 1 + erf(x) loses digits by cancellation
      for (NodeId x : graph_.operands({i})) {
        roundoff_[i] = std::max(roundoff_[i], roundoff_[x.index]);
        wild_[i] = wild_[i] || wild_[x.index];
      }
      wild_[i] = wild_[i] || at_edge({i}) || centring({i}) > 8;
      double most = dtype == DType::F16 ? 3e4 : dtype == DType::F64 ? 1e300 : 1e37;
      double least = dtype == DType::F16 ? 0x1p-13 : dtype == DType::F64 ? 1e-290 : 1e-36;
      if (is_gelu({i})) least = std::max(least, 1e-5); // the far negative side may be 0
      for (double x : values_[i].reals)
        if (!leaf && std::isfinite(x) && x != 0 && (std::abs(x) > most || std::abs(x) < least))
          wild_[i] = true;
    }
  }

  const Graph& graph_;
  std::vector<TypedValues> stored_;        // by node, each result rounded
  std::vector<TypedValues> values_;        // by node
  std::vector<std::vector<double>> moved_; // the effect of noise on floats
  std::vector<double> roundoff_;
  std::vector<bool> wild_;
};

} // namespace tg::test

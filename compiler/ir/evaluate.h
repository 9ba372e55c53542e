// Evaluates a graph in float64 (or another scalar type) without a runtime: node by node in the
// graph's order, by the single definition of the operators (lang/core/semantics/semantics.h). Meant
// for property tests of rules, constant folding and checks; real inputs belong to a backend.
#pragma once

#include "compiler/ir/graph.h"
#include "lang/core/semantics/semantics.h"

#include <algorithm>
#include <functional>
#include <vector>

namespace tg {

/// One pass over the wanted nodes, for any scalar type for which the semantics are instantiated
/// (lang/core/semantics/semantics.h). A node's values are dropped after the last use. A leaf's
/// values are recreated for each use, so that a network's weights are never in memory all at once.
template <class T> class Evaluation {
public:
  using Values = std::vector<T>;
  /// Returns the contents of an input or weight: as many values as its type has elements.
  using Leaves = std::function<Values(const Graph&, NodeId)>;
  /// Receives the values of every computed operator, once, operands first.
  using Observer = std::function<void(NodeId, llvm::ArrayRef<T>)>;

  Evaluation(const Graph& graph, llvm::ArrayRef<NodeId> wanted)
      : graph_(graph), wanted_(wanted.begin(), wanted.end()), values_(graph.size()),
        uses_(graph.size(), 0) {
    for (NodeId id : wanted) ++uses_[id.index];
    for (uint32_t i = static_cast<uint32_t>(graph.size()); i-- > 0;) {
      if (uses_[i] == 0) continue;
      for (NodeId operand : graph.operands({i})) ++uses_[operand.index];
    }
  }

  void observe(Observer observer) { observer_ = std::move(observer); }

  /// Sets a callback that is called before every operator; true ends the run, which then has no
  /// values. May be empty.
  void stop_when(std::function<bool()> stop) { stop_ = std::move(stop); }
  bool stopped() const { return stopped_; }

  /// Returns the peak memory of a run: live values, leaves and scratch of one operator.
  double peak_bytes() const {
    std::vector<uint32_t> uses = uses_;
    double held = 0, peak = 0;
    for (uint32_t i = 0; i < graph_.size(); ++i) {
      if (uses[i] == 0 || is_leaf({i})) continue;
      double leaves = 0;
      held += elements({i});
      for (NodeId operand : graph_.operands({i}))
        leaves += is_leaf(operand) ? elements(operand) : 0;
      peak = std::max(peak, held + leaves);
      for (NodeId operand : graph_.operands({i}))
        if (--uses[operand.index] == 0 && !is_leaf(operand)) held -= elements(operand);
    }
    for (NodeId id : wanted_) held += elements(id); // returned as copies
    return std::max(peak, held) * sizeof(T);
  }

  /// Returns the values of the wanted nodes, in order. Errors: `not_constant` names the first leaf
  /// for which `leaves` returns the wrong number of values.
  Result<std::vector<Values>> run(const Leaves& leaves) {
    for (uint32_t i = 0; i < graph_.size(); ++i)
      if (uses_[i] > 0 && !is_leaf({i})) {
        if (stop_ && (stopped_ = stop_())) return std::vector<Values>();
        TG_CHECK(compute({i}, leaves));
      }
    std::vector<Values> results;
    for (NodeId id : wanted_) {
      if (is_leaf(id)) {
        TG_TRY(Values values, leaf({id}, leaves));
        results.push_back(std::move(values));
      } else {
        results.push_back(values_[id.index]);
      }
    }
    return results;
  }

private:
  double elements(NodeId id) const {
    const TensorType& type = graph_.type(id);
    return type.is_none() ? 0 : static_cast<double>(type.elements());
  }
  bool is_leaf(NodeId id) const { return op_info(graph_.node(id).op).has(Trait::Leaf); }

  Result<Values> leaf(NodeId id, const Leaves& leaves) {
    size_t elements = static_cast<size_t>(graph_.type(id).elements());
    Values values;
    if (graph_.node(id).op == OpKind::Constant) {
      for (double real : graph_.attr(id, 0).reals)
        values.push_back(static_cast<T>(Math<WideOf<T>>::literal(real)));
      for (int64_t whole : graph_.attr(id, 0).ints) // integers that a double cannot represent
        values.push_back(static_cast<T>(Math<WideOf<T>>::integer(whole)));
      if (values.size() == 1) values.assign(elements, values[0]);
    } else {
      values = leaves(graph_, id);
    }
    if (values.size() != elements)
      return error(Code::not_constant, "the leaf {0} has {1} values where {2} are needed",
                   graph_.attr(id, 0).text_form(), values.size(), elements);
    return values;
  }

  Result<void> compute(NodeId id, const Leaves& leaves) {
    llvm::SmallVector<ConstView<T>, 4> operands;
    llvm::SmallVector<llvm::ArrayRef<int64_t>, 4> shapes;
    llvm::SmallVector<Values, 4> made; // for leaves; reused, so the vectors' memory does not move
    for (NodeId operand : graph_.operands(id)) {
      const TensorType& type = graph_.type(operand);
      shapes.push_back(type.shape);
      if (type.is_none()) {
        operands.push_back({nullptr, type.shape});
      } else if (is_leaf(operand)) {
        TG_TRY(Values values, leaf(operand, leaves));
        made.push_back(std::move(values));
        operands.push_back({made.back().data(), type.shape});
      } else {
        operands.push_back({values_[operand.index].data(), type.shape});
      }
    }
    llvm::SmallVector<const Value*, 4> attrs = graph_.attr_values(id);
    const TensorType& type = graph_.type(id);
    OpKind op = graph_.node(id).op;
    scratch_.resize(static_cast<size_t>(scratch_elements(op, attrs, shapes, type.shape)));
    Values& result = values_[id.index];
    result.resize(static_cast<size_t>(type.elements()));
    evaluate_op<T>(whole_form(op, type.dtype), attrs, operands, {result.data(), type.shape},
                   scratch_);
    finish(id, result);
    if (observer_) observer_(id, result);
    for (NodeId operand : graph_.operands(id))
      if (--uses_[operand.index] == 0) values_[operand.index] = Values(); // {} would keep memory
    return {};
  }

  /// True if the scalar type treats the operations specific to integers as uninterpreted functions.
  static constexpr bool kWholeFunctions = requires(WideOf<T> x) {
    Math<WideOf<T>>::whole_function(OpKind::Div, x);
  };

  /// Returns the operator evaluated in place of an integer operator. The minimum becomes a
  /// symmetric function, because it is not a mirrored maximum if -x wraps around. The quotient
  /// becomes a function of both operands, because it differs from the real quotient if factors wrap
  /// around or are 0.
  static OpKind whole_form(OpKind op, DType dtype) {
    if (!kWholeFunctions || !is_integer(dtype)) return op;
    if (op == OpKind::Div) return OpKind::Mod;
    if (op == OpKind::Minimum) return OpKind::Maximum;
    if (op == OpKind::ReduceMin) return OpKind::ReduceMax;
    bool rounds = op == OpKind::Floor || op == OpKind::Ceil || op == OpKind::Round;
    return rounds ? OpKind::Identity : op;
  }

  /// Applies the dtype-dependent part of an operator, which the definition leaves out.
  void finish(NodeId id, Values& result) {
    OpKind op = graph_.node(id).op;
    DType dtype = graph_.type(id).dtype;
    bool divides = op == OpKind::Div && is_integer(dtype);
    if constexpr (kWholeFunctions) {
      bool rounds = op == OpKind::Cast && is_float(dtype) &&
                    is_integer(graph_.type(graph_.operands(id)[0]).dtype);
      bool least = (op == OpKind::Minimum || op == OpKind::ReduceMin) && is_integer(dtype);
      OpKind function = least ? OpKind::Minimum : op;
      if (divides || rounds || least)
        for (T& x : result) x = static_cast<T>(Math<WideOf<T>>::whole_function(function, x));
    } else if (divides) {
      for (T& x : result)
        x = static_cast<T>(Math<WideOf<T>>::whole_quotient(static_cast<WideOf<T>>(x)));
    }
    if (op == OpKind::Extern)
      for (T& x : result)
        x = static_cast<T>(Math<WideOf<T>>::of_dtype(dtype, static_cast<WideOf<T>>(x)));
  }

  const Graph& graph_;
  llvm::SmallVector<NodeId, 4> wanted_;
  std::vector<Values> values_;
  std::vector<uint32_t> uses_; // remaining uses by needed nodes and by the caller
  std::vector<WideOf<T>> scratch_;
  Observer observer_;
  std::function<bool()> stop_;
  bool stopped_ = false;
};

/// The elements of one node in row-major order.
using NodeValues = std::vector<double>;
/// Returns the contents of an input or weight: as many values as its type has elements.
using LeafSource = std::function<NodeValues(const Graph&, NodeId)>;

/// Returns leaves that depend only on (seed, name or path, element), so that two graphs over the
/// same leaves see the same numbers. They are uniform in (-1, 1) with magnitude at least 2^-10, so
/// that quotients stay moderate; in (0, 1) if `positive` returns true for the name. Bools are 0 or
/// 1.
LeafSource random_leaves(uint64_t seed, std::function<bool(llvm::StringRef)> positive = {});

/// Returns the values of the outputs, in order. Errors: `not_constant` names the first leaf for
/// which `leaves` returns the wrong number of values.
Result<std::vector<NodeValues>> evaluate(const Graph& graph, const LeafSource& leaves);

/// Returns the values of the requested nodes, in that order.
Result<std::vector<NodeValues>> evaluate(const Graph& graph, const LeafSource& leaves,
                                         llvm::ArrayRef<NodeId> wanted);

/// Returns max |a - b| over max |b|, or infinity if sizes differ or a value is not finite. 0 if
/// both are zero.
double max_rel_diff(llvm::ArrayRef<double> a, llvm::ArrayRef<double> b);

} // namespace tg

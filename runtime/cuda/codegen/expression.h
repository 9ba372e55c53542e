// The computation of a kernel as an interned graph: numbers, loads, pointwise operators, choices,
// and results of reductions. Equal computations at equal indices are one expression,
// so a value that several members of a fused group read is loaded and computed once.
//
// Loads are guarded: elements outside a padded or concatenated piece are never read.
// A condition is an interned conjunction of ranges of indices (or of integers read from memory).
// Condition 0 is always true.
//
// Invariant: the arguments of an expression have smaller ids than the expression.
#pragma once

#include "lang/core/op.h"
#include "runtime/cuda/codegen/index.h"

#include <optional>

namespace tg::cuda {

using ExprId = uint32_t;
using ConditionId = uint32_t;
inline constexpr ConditionId kAlways = 0;

/// The type in which a value is computed: float for f32, f16 and bf16;
/// 64-bit integers for other dtypes.
enum class Scalar : uint8_t { Float, Integer };
inline Scalar scalar_of(DType dtype) { return is_float(dtype) ? Scalar::Float : Scalar::Integer; }

struct ConditionTerm {
  bool of_value = false; // value of an expression; otherwise an index
  uint32_t id = 0;
  int64_t low = 0, high = 0; // inclusive
  auto operator<=>(const ConditionTerm&) const = default;
};

struct Expr {
  enum class Kind : uint8_t {
    Number,  // number
    Index,   // index, as a value
    Load,    // parameter[index] if `condition` is true, else 0
    Apply,   // op(args), pointwise
    Choose,  // condition ? args[0] : args[1]
    Convert, // args[0] rounded to dtype
    Stage,   // the result of reduction `parameter`
  };
  Kind kind{};
  Scalar scalar{};
  OpKind op{};
  DType dtype = DType::None;
  uint32_t parameter = 0;
  IndexId index = 0;
  ConditionId condition = kAlways;
  double number = 0;
  llvm::SmallVector<ExprId, 3> args = {};
  uint64_t variables = 0; // bit v: depends on loop variable v
};

class ExprPool {
public:
  explicit ExprPool(IndexPool& indices) : indices_(&indices), conditions_(1) {
    condition_index_[{}] = kAlways;
  }

  ExprId number(Scalar scalar, double value);
  /// Returns the expression of a numeric attribute of an operator.
  ExprId number(Scalar scalar, const Value& attr);
  ExprId index(IndexId index);
  ExprId load(uint32_t parameter, DType dtype, IndexId index, ConditionId condition);
  ExprId apply(OpKind op, Scalar result, llvm::ArrayRef<ExprId> args);
  ExprId apply(OpKind op, llvm::ArrayRef<ExprId> args) {
    return apply(op, exprs_[args[0]].scalar, args);
  }
  ExprId choose(ConditionId condition, ExprId yes, ExprId no);
  ExprId convert(DType to, ExprId value);
  ExprId stage(uint32_t number, Scalar scalar, uint64_t variables);

  /// Returns `condition` and the index (or value) within low .. high.
  /// Ranges that are always true are omitted.
  ConditionId also(ConditionId condition, IndexId index, int64_t low, int64_t high);
  ConditionId also_value(ConditionId condition, ExprId value, int64_t low, int64_t high);

  size_t size() const { return exprs_.size(); }
  const Expr& operator[](ExprId id) const { return exprs_[id]; }
  llvm::ArrayRef<ConditionTerm> terms(ConditionId id) const { return conditions_[id]; }
  uint64_t variables_of(ConditionId id) const;

private:
  ExprId intern(Expr expr);
  ConditionId intern(std::vector<ConditionTerm> terms);

  using Key = std::tuple<Expr::Kind, Scalar, OpKind, DType, uint32_t, IndexId, ConditionId,
                         uint64_t, std::vector<ExprId>>;
  IndexPool* indices_;
  std::vector<Expr> exprs_;
  std::map<Key, ExprId> index_;
  std::vector<std::vector<ConditionTerm>> conditions_;
  std::map<std::vector<ConditionTerm>, ConditionId> condition_index_;
};

} // namespace tg::cuda

// Direct statements of a rule's conditions about one variable, which an attempt at an instance
// follows if it can.
#pragma once

#include "compiler/rules/attempt/draws.h"
#include "compiler/rules/instances/instance.h"

namespace tg {

class RuleHints {
public:
  /// The bindings of the instance so far determine the values of the conditions.
  RuleHints(Symbols& symbols, const Rule& rule, RuleInstance& instance);

  std::optional<bool> weight(uint32_t v) const { return classes_[v].weight; }
  std::optional<bool> none(uint32_t v) const { return classes_[v].none; }
  std::optional<bool> constant(uint32_t v) const { return classes_[v].constant; }
  /// Returns the size, or the least size, of a term along an axis; `otherwise` if no
  /// condition gives it.
  int64_t dim(const Term& term, int64_t axis, int64_t otherwise) const;
  int64_t least_dim(const Term& term, int64_t axis, int64_t otherwise) const;
  /// Returns a shape for an unbound class variable without a wanted shape.
  Shape shape(uint32_t variable, int64_t least_rank, InstanceDraws& draws) const;

  /// Returns the value that a value variable equals, if known.
  std::optional<Value> value(uint32_t variable) const;
  /// Returns true if it equals a value that is not known yet.
  bool waits(uint32_t variable) const;
  /// If the variable equals a type, returns the class variable with the dtype of that type.
  std::optional<uint32_t> typed_like(uint32_t variable) const;
  /// Returns a guessed list with the entries that conditions give.
  Value with_entries(uint32_t variable, Value guess) const;

private:
  struct Hints {
    llvm::SmallVector<ExprIndex, 1> equals;                        // of a value variable
    llvm::SmallVector<std::pair<ExprIndex, ExprIndex>, 4> entries; // of a list: position, number
    llvm::SmallVector<ExprIndex, 1> ranks, shapes;
    llvm::SmallVector<std::pair<ExprIndex, ExprIndex>, 2> dims, least_dims; // axis, size
    std::optional<bool> weight, none, constant;
  };

  void read(ExprIndex at, bool truth);
  void equality(ExprIndex side, ExprIndex other);
  std::optional<Value> value_of(ExprIndex at) const;
  std::optional<int64_t> int_of(ExprIndex at) const;
  int64_t size_of(const Term& term, decltype(Hints::dims) Hints::*hints, int64_t axis,
                  int64_t otherwise) const;
  /// Returns the shape of a bound variable, possibly except for one axis.
  std::optional<Shape> bound_shape(InstanceDraws& draws) const;

  Symbols& symbols_;
  const Rule& rule_;
  RuleInstance& in_;
  std::vector<Hints> classes_, values_;
};

} // namespace tg

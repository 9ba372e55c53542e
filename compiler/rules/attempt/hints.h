// What the conditions of a rule say outright about one variable; an attempt at an instance follows
// it where it can.
#pragma once

#include "compiler/rules/attempt/draws.h"
#include "compiler/rules/instances/instance.h"

namespace tg {

class RuleHints {
public:
  /// What the instance has so far decides the values of the conditions.
  RuleHints(Symbols& symbols, const Rule& rule, RuleInstance& instance);

  std::optional<bool> weight(uint32_t v) const { return classes_[v].weight; }
  std::optional<bool> none(uint32_t v) const { return classes_[v].none; }
  std::optional<bool> constant(uint32_t v) const { return classes_[v].constant; }
  /// A size of a term along an axis, or the least that it is; `otherwise` if nothing is said.
  int64_t dim(const Term& term, int64_t axis, int64_t otherwise) const;
  int64_t least_dim(const Term& term, int64_t axis, int64_t otherwise) const;
  /// A shape for an unbound class variable that nobody asked for another.
  Shape shape(uint32_t variable, int64_t least_rank, InstanceDraws& draws) const;

  /// What a value variable equals, if that is known.
  std::optional<Value> value(uint32_t variable) const;
  /// Whether it equals something that is not known yet.
  bool waits(uint32_t variable) const;
  /// The class variable whose dtype the type has that it equals.
  std::optional<uint32_t> typed_like(uint32_t variable) const;
  /// A list that was guessed for it, with the entries that conditions give.
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
  /// The shape of a variable that is bound already, perhaps but for one axis.
  std::optional<Shape> bound_shape(InstanceDraws& draws) const;

  Symbols& symbols_;
  const Rule& rule_;
  RuleInstance& in_;
  std::vector<Hints> classes_, values_;
};

} // namespace tg
